#pragma once

#include <cstdlib>
#include <optional>

#include "clip/reference_clip.hpp"
#include "compare/comparison.hpp"

/// The oracle for comparisons: one pair at a time, floats split into their fields, integers in 128 bits,
/// tolerances read by libc.
namespace clipper::reference {

/// A number as typed: digits * 10^exponent.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;

  [[nodiscard]] std::string text() const { return std::to_string(digits) + "e" + std::to_string(exponent); }
  [[nodiscard]] Number number() const { return *parse_number(text()); }
  [[nodiscard]] double nearest() const { return std::strtod(text().c_str(), nullptr); }
};

/// For integers the exponents must be from -12 to 0, and the relative digits below 2^32.
struct Rule {
  Decimal absolute = {};
  Decimal relative = {};
  std::optional<std::uint64_t> ulps = std::nullopt;
  bool nan_equal = true;
  bool bits = false;

  [[nodiscard]] ComparisonRule rule(std::size_t listed = 5) const {
    return {bits, nan_equal, Tolerance(absolute.number(), relative.number()), ulps, listed};
  }
};

/// The position of a float in the order of all finite floats; both zeros are at 0.
inline Int128 place(DType dtype, ElementBits bits) {
  const auto magnitude = static_cast<Int128>(bits & ~sign_bit(dtype));
  return (bits & sign_bit(dtype)) != 0 ? -magnitude : magnitude;
}

inline Int128 distance_of(Int128 a, Int128 e) {
  return a < e ? e - a : a - e;
}

inline Int128 power_of_ten(int exponent) {
  return exponent == 0 ? 1 : 10 * power_of_ten(exponent - 1);
}

inline bool integers_match(const Rule& rule, Int128 a, Int128 e) {
  const Int128 scale = power_of_ten(-rule.relative.exponent);
  const Int128 beyond =
      distance_of(a, e) * scale - static_cast<Int128>(rule.relative.digits) * distance_of(e, 0);
  const Int128 absolute = static_cast<Int128>(rule.absolute.digits) * scale;
  return beyond <= 0 || (beyond <= absolute && beyond * power_of_ten(-rule.absolute.exponent) <= absolute);
}

inline bool matches(DType dtype, const Rule& rule, ElementBits a, ElementBits e) {
  if (rule.bits) return a == e;
  if (!is_floating(dtype)) return integers_match(rule, integer(dtype, a), integer(dtype, e));
  const double x = value(dtype, a);
  const double y = value(dtype, e);
  if (is_nan(dtype, a) || is_nan(dtype, e)) return rule.nan_equal && is_nan(dtype, a) && is_nan(dtype, e);
  if (x == y || std::isinf(x) || std::isinf(y)) return x == y;
  if (rule.ulps && distance_of(place(dtype, a), place(dtype, e)) <= static_cast<Int128>(*rule.ulps))
    return true;
  const double absolute = rule.absolute.nearest();
  const double relative = rule.relative.nearest();
  if (std::isfinite(x - y)) return std::fabs(x - y) <= absolute + relative * std::fabs(y);
  return std::fabs(x / 4 - y / 4) <= absolute / 4 + relative * (std::fabs(y) / 4);
}

/// |a - e|, for floats as float64; nothing for NaN.
inline std::optional<Difference> oracle_difference(DType dtype, ElementBits a, ElementBits e) {
  if (!is_floating(dtype)) return static_cast<Difference>(distance_of(integer(dtype, a), integer(dtype, e)));
  const double x = value(dtype, a);
  const double y = value(dtype, e);
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x == y ? 0 : to_bits(std::fabs(x - y));
}

/// The distance of a mismatch in representable values; 0 for integers.
inline std::uint64_t ulps_of(DType dtype, ElementBits a, ElementBits e) {
  if (!is_floating(dtype)) return 0;
  if (!std::isfinite(value(dtype, a)) || !std::isfinite(value(dtype, e))) return ElementComparison::kNoUlps;
  return static_cast<std::uint64_t>(distance_of(place(dtype, a), place(dtype, e)));
}

struct Pairs {
  DType dtype;
  std::vector<ElementBits> actual;
  std::vector<ElementBits> expected;

  [[nodiscard]] Pairs part(std::size_t begin, std::size_t end) const {
    const auto cut = [&](const std::vector<ElementBits>& all) {
      return std::vector(all.begin() + static_cast<std::ptrdiff_t>(begin),
                         all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    return {dtype, cut(actual), cut(expected)};
  }
};

/// Copies what depends on rounding.
inline void copy_rounded(const ElementComparison& found, ElementComparison& expected) {
  expected.absolute = found.absolute;
  expected.relative = found.relative;
  expected.largest_relative = found.largest_relative;
}

/// The expected comparison except what copy_rounded() copies.
inline ElementComparison compare(const Pairs& pairs, const Rule& rule, std::size_t listed = 5) {
  ElementComparison result;
  result.dtype = pairs.dtype;
  result.listed = listed;
  result.compared = pairs.actual.size();
  for (std::size_t i = 0; i < pairs.actual.size(); ++i) {
    const ElementBits a = pairs.actual[i];
    const ElementBits e = pairs.expected[i];
    if (!matches(pairs.dtype, rule, a, e)) {
      ++result.mismatches;
      if (result.first.size() < listed) result.first.push_back({i, a, e});
      result.ulps = std::max(result.ulps, ulps_of(pairs.dtype, a, e));
      if (!oracle_difference(pairs.dtype, a, e) && result.nan++ == 0) result.nan_at = i;
    }
    const Difference difference = oracle_difference(pairs.dtype, a, e).value_or(0);
    if (difference > result.largest) {
      result.largest = difference;
      result.largest_at = i;
    }
  }
  return result;
}

}  // namespace clipper::reference

namespace clipper {

/// clipper's comparison of the pairs.
inline ElementComparison compare(const reference::Pairs& pairs, const ComparisonRule& rule,
                                 std::uint64_t position = 0, SimdLevel level = simd_levels().back()) {
  std::vector<std::byte> actual = reference::in_memory(pairs.dtype, pairs.actual);
  std::vector<std::byte> expected = reference::in_memory(pairs.dtype, pairs.expected);
  return compare({pairs.dtype, actual.data(), expected.data(), pairs.actual.size(), position}, rule, level);
}

}  // namespace clipper
