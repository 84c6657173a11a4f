// Compares the bytes of a block first. If they differ, a vectorized pass tests whether all pairs are surely
// within the tolerance. Only if they are not, the block is compared pair by pair.

#include "compare/comparison.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "compare/match.hpp"
#include "element/byte_order.hpp"

namespace clipper {
namespace {

constexpr std::size_t kBlock = 1024;

template <class T>
void reverse_bytes(T* elements, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) elements[i] = byteswap_if<Byteswap::yes>(elements[i]);
}

/// What the vectorized pass finds out about a block.
struct Survey {
  bool all_within;  ///< true: all pairs match; false: unknown, and `largest` is meaningless
  Difference largest;
};

/// Independent lanes that collect everything above zero or NaN. No order of additions or choice between two
/// values must be kept, so the loop vectorizes.
struct FloatLanes {
  static constexpr std::size_t kCount = 8;

  std::array<double, kCount> largest{};
  std::array<double, kCount> excess{};   ///< of the differences over the tolerance
  std::array<double, kCount> special{};  ///< NaN if a difference was infinite or NaN
};

template <class T>
[[gnu::always_inline]] inline void survey_pair(T a, T e, const Tolerance& tolerance, FloatLanes& lanes,
                                               std::size_t lane) noexcept {
  const double y = as_double(e);
  const double difference = std::fabs(as_double(a) - y);
  const double excess = difference - (tolerance.absolute() + tolerance.relative() * std::fabs(y));
  lanes.largest[lane] = difference > lanes.largest[lane] ? difference : lanes.largest[lane];
  lanes.excess[lane] = excess > lanes.excess[lane] ? excess : lanes.excess[lane];
  lanes.special[lane] += difference * 0;
}

template <class T>
Survey survey(const T* a, const T* e, std::size_t count, const Tolerance& tolerance) noexcept {
  if constexpr (std::is_integral_v<T>) {
    UnsignedOfSize<sizeof(T)> largest = 0;
    for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, distance(a[i], e[i]));
    return {largest <= tolerance.whole(), largest};
  } else {
    const Tolerance local = tolerance;
    FloatLanes lanes;
    std::size_t i = 0;
    for (; i + FloatLanes::kCount <= count; i += FloatLanes::kCount)
      for (std::size_t lane = 0; lane < FloatLanes::kCount; ++lane)
        survey_pair(a[i + lane], e[i + lane], local, lanes, lane);
    for (; i < count; ++i) survey_pair(a[i], e[i], local, lanes, 0);
    bool all_within = true;
    for (std::size_t lane = 0; lane < FloatLanes::kCount; ++lane)
      all_within = all_within && lanes.excess[lane] == 0 && lanes.special[lane] == 0;
    return {all_within, std::bit_cast<Difference>(*std::ranges::max_element(lanes.largest))};
  }
}

void note_largest(ElementComparison& result, Difference difference, std::uint64_t position) noexcept {
  if (difference <= result.largest) return;
  result.largest = difference;
  result.largest_at = position;
}

template <class T>
void add_mismatch(T a, T e, std::uint64_t position, const ComparisonRule& rule, ElementComparison& result) {
  ++result.mismatches;
  if (result.first.size() < result.listed) result.first.push_back({position, to_bits(a), to_bits(e)});
  result.absolute = std::max(result.absolute, absolute_for(a, e, rule.tolerance));
  if constexpr (!std::is_integral_v<T>)
    result.ulps = std::max(result.ulps, ulps_between(a, e).value_or(ElementComparison::kNoUlps));
}

template <class T>
void compare_each(const T* a, const T* e, std::size_t count, std::uint64_t position,
                  const ComparisonRule& rule, ElementComparison& result) {
  for (std::size_t i = 0; i < count; ++i) {
    note_largest(result, difference_of(a[i], e[i]).value_or(0), position + i);
    if (!matches(a[i], e[i], rule)) add_mismatch(a[i], e[i], position + i, rule, result);
  }
}

/// A block of elements in this machine's byte order.
template <class T>
void compare_block(const T* a, const T* e, std::size_t count, std::uint64_t position,
                   const ComparisonRule& rule, ElementComparison& result) {
  const Survey all = rule.bits ? Survey{} : survey(a, e, count, rule.tolerance);
  if (!all.all_within) {
    compare_each(a, e, count, position, rule, result);
    return;
  }
  for (std::size_t i = 0; i < count && all.largest > result.largest; ++i)
    note_largest(result, *difference_of(a[i], e[i]), position + i);
}

template <class T>
ElementComparison compare_as(const ElementPairs& pairs, const ComparisonRule& rule) {
  T* const a = reinterpret_cast<T*>(pairs.actual);
  T* const e = reinterpret_cast<T*>(pairs.expected);
  const bool same_order = pairs.actual_order == pairs.expected_order;
  const bool equal_bytes_match = same_order && (rule.bits || rule.nan_equal || std::is_integral_v<T>);
  ElementComparison result;
  result.dtype = pairs.dtype;
  result.listed = rule.listed;
  result.compared = pairs.count;
  for (std::size_t i = 0; i < pairs.count; i += kBlock) {
    const std::size_t count = std::min(kBlock, pairs.count - i);
    if (equal_bytes_match && std::memcmp(a + i, e + i, count * sizeof(T)) == 0) continue;
    if (pairs.actual_order != kNativeOrder) reverse_bytes(a + i, count);
    if (pairs.expected_order != kNativeOrder) reverse_bytes(e + i, count);
    compare_block(a + i, e + i, count, pairs.position + i, rule, result);
  }
  return result;
}

}  // namespace

ElementComparison& ElementComparison::operator+=(const ElementComparison& other) {
  compared += other.compared;
  mismatches += other.mismatches;
  if (other.largest > largest || (other.largest == largest && other.largest_at < largest_at)) {
    largest = other.largest;
    largest_at = other.largest_at;
  }
  absolute = std::max(absolute, other.absolute);
  ulps = std::max(ulps, other.ulps);
  std::vector<Mismatch> merged;
  std::ranges::merge(first, other.first, std::back_inserter(merged), {}, &Mismatch::position,
                     &Mismatch::position);
  if (merged.size() > listed) merged.resize(listed);
  first = std::move(merged);
  return *this;
}

ComparisonRule for_dtype(ComparisonRule rule, DType dtype) {
  if (!rule.preset) return rule;
  const PresetTolerance preset = preset_tolerance(*rule.preset, dtype);
  rule.tolerance = {parse_number(preset.absolute).value(), parse_number(preset.relative).value()};
  return rule;
}

ElementComparison compare(const ElementPairs& pairs, const ComparisonRule& rule) {
  return with_type(pairs.dtype, [&]<class T>() { return compare_as<T>(pairs, rule); });
}

std::optional<Difference> difference_of(DType dtype, ElementBits actual, ElementBits expected) {
  return with_type(dtype,
                   [=]<class T>() { return difference_of(from_bits<T>(actual), from_bits<T>(expected)); });
}

std::optional<std::uint64_t> ulps_between(DType dtype, ElementBits actual, ElementBits expected) {
  return with_type(dtype, [=]<class T>() -> std::optional<std::uint64_t> {
    if constexpr (std::is_integral_v<T>)
      return std::nullopt;
    else
      return ulps_between(from_bits<T>(actual), from_bits<T>(expected));
  });
}

}  // namespace clipper
