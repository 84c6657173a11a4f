#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "compare/comparison.hpp"
#include "element/element_key.hpp"
#include "element/half.hpp"

/// The only code that decides whether an element matches another.
namespace clipper {

/// |a - e| of integers.
template <class T>
[[nodiscard]] constexpr UnsignedOfSize<sizeof(T)> distance(T a, T e) noexcept {
  using Unsigned = UnsignedOfSize<sizeof(T)>;
  const auto up = static_cast<Unsigned>(static_cast<Unsigned>(a) - static_cast<Unsigned>(e));
  return a < e ? static_cast<Unsigned>(Unsigned{0} - up) : up;
}

template <class T>
[[nodiscard]] constexpr std::uint64_t magnitude(T x) noexcept {
  return distance(x, T{0});
}

/// |a - e|; nothing if one of the two is NaN. Equal infinities differ by 0.
template <class T>
[[nodiscard]] inline std::optional<Difference> difference_of(T a, T e) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return distance(a, e);
  } else {
    const double x = as_double(a);
    const double y = as_double(e);
    if (x == y) return 0;
    const double difference = std::fabs(x - y);
    return std::isnan(difference) ? std::nullopt : std::optional(std::bit_cast<Difference>(difference));
  }
}

/// The distance in representable values; 0 between -0 and 0. Nothing unless both are finite.
template <class T>
[[nodiscard]] inline std::optional<std::uint64_t> ulps_between(T a, T e) noexcept {
  if (!std::isfinite(as_double(a)) || !std::isfinite(as_double(e))) return std::nullopt;
  const Key<T> x = key_of(a);
  const Key<T> y = key_of(e);
  // -0 and 0 have different keys.
  return std::uint64_t{distance(x, y)} - ((x < 0) != (y < 0) ? 1 : 0);
}

/// |a - e| <= A + R * |e| for finite a and e. If a - e overflows, everything is halved.
[[nodiscard]] inline bool is_within(double a, double e, double absolute, double relative) noexcept {
  const double difference = std::fabs(a - e);
  if (difference <= std::numeric_limits<double>::max())
    return difference <= absolute + relative * std::fabs(e);
  return std::fabs(a / 2 - e / 2) <= absolute / 2 + relative * std::fabs(e / 2);
}

template <class T>
[[nodiscard]] inline bool matches(T a, T e, const ComparisonRule& rule) noexcept {
  if (rule.bits) return to_bits(a) == to_bits(e);
  if constexpr (std::is_integral_v<T>) {
    const std::uint64_t difference = distance(a, e);
    return difference <= rule.tolerance.whole() ||
           difference - rule.tolerance.whole() <= rule.tolerance.whole_share(magnitude(e));
  } else {
    const double x = as_double(a);
    const double y = as_double(e);
    if (x == y) return true;
    if (std::isnan(x) || std::isnan(y)) return rule.nan_equal && std::isnan(x) && std::isnan(y);
    if (std::isinf(x) || std::isinf(y)) return false;
    if (is_within(x, y, rule.tolerance.absolute(), rule.tolerance.relative())) return true;
    return rule.ulps && *ulps_between(a, e) <= *rule.ulps;
  }
}

/// The smallest A, or slightly more, with which two elements that do not match would; infinity if there is
/// none.
template <class T>
[[nodiscard]] inline Difference absolute_for(T a, T e, const Tolerance& tolerance) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return std::uint64_t{distance(a, e)} - tolerance.whole_share(magnitude(e));
  } else {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double difference = std::fabs(as_double(a) - as_double(e));
    if (!std::isfinite(difference)) return std::bit_cast<Difference>(kInfinity);
    const double share = tolerance.relative() * std::fabs(as_double(e));
    double absolute = std::max(difference - share, 0.0);
    while (difference > absolute + share) absolute = std::nextafter(absolute, kInfinity);
    return std::bit_cast<Difference>(absolute);
  }
}

}  // namespace clipper
