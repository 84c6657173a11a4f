#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

#include "compare/match.hpp"

/// The overloads of match.hpp for two numbers that no dtype holds both: int64 and uint64, or one of them and
/// float64. All verdicts are exact.
namespace clipper {

template <class A, class E>
concept MixedPair = !std::same_as<A, E> && (std::integral<A> || std::integral<E>);

template <class A, class E>
concept MixedIntegers = MixedPair<A, E> && std::integral<A> && std::integral<E>;

/// |x - y| as float64.
struct RoundedDistance {
  double nearest;
  double above;  ///< not less than |x - y|
};

/// y must be finite.
[[nodiscard]] inline RoundedDistance rounded_distance(Int128 x, double y) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::fabs(y) >= 0x1p120)  // x, below 2^64, is less than half the distance to the next float64
    return {std::fabs(y), std::nextafter(std::fabs(y), kInfinity)};
  const double whole = std::trunc(y);
  const Int128 difference = x - static_cast<Int128>(whole);
  const double rest = whole - y;
  const Int128 integer = difference < 0 ? -difference : difference;
  const double fraction = difference > 0 ? rest : difference < 0 ? -rest : std::fabs(rest);
  // integer + fraction: below 2^53 the integer is exact; beyond, only the sign of the fraction matters.
  const auto high = static_cast<double>(integer);
  const auto low = static_cast<double>(integer - static_cast<Int128>(high));
  const double added = low == 0 || fraction == 0 ? low + fraction : low + std::copysign(0.5, fraction);
  const double nearest = high + added;
  return {nearest, nearest - high < added ? std::nextafter(nearest, kInfinity) : nearest};
}

template <class A, class E>
requires MixedPair<A, E>
[[nodiscard]] inline RoundedDistance rounded_distance(A a, E e) noexcept {
  if constexpr (std::integral<A>)
    return rounded_distance(Int128{a}, e);
  else
    return rounded_distance(Int128{e}, a);
}

/// The value of a finite number.
template <class T>
[[nodiscard]] inline ExactElement exact_element(T x) noexcept {
  if constexpr (std::integral<T>) {
    return {x < 0, magnitude(x), 0};
  } else {
    int exponent = 0;
    constexpr int kBits = std::numeric_limits<double>::digits;
    const double fraction = std::frexp(std::fabs(x), &exponent);
    return {std::signbit(x), static_cast<std::uint64_t>(std::ldexp(fraction, kBits)), exponent - kBits};
  }
}

/// Whether both are finite. Integers are.
template <class A, class E>
requires MixedPair<A, E>
[[nodiscard]] inline bool are_finite(A a, E e) noexcept {
  return std::isfinite(as_double(a)) && std::isfinite(as_double(e));
}

template <class A, class E>
requires MixedPair<A, E>
[[nodiscard]] inline std::optional<Difference> difference_of(A a, E e) noexcept {
  if constexpr (MixedIntegers<A, E>) {
    return static_cast<Difference>(std::max(Int128{a}, Int128{e}) - std::min(Int128{a}, Int128{e}));
  } else {
    if (are_finite(a, e)) return to_bits(rounded_distance(a, e).nearest);
    const double difference = std::fabs(as_double(a) - as_double(e));
    return std::isnan(difference) ? std::nullopt : std::optional<Difference>(to_bits(difference));
  }
}

/// The distance in values of float64, as which an integer between two of them is the one that is farther from
/// the other number: only equal numbers have the distance 0. Nothing for two integers.
template <class A, class E>
requires MixedPair<A, E>
[[nodiscard]] inline std::optional<std::uint64_t> ulps_between(A a, E e,
                                                               const Float8* /*float8*/ = nullptr) noexcept {
  if (MixedIntegers<A, E> || !are_finite(a, e)) return std::nullopt;
  const std::optional<std::uint64_t> ulps = ulps_between(as_double(a), as_double(e));
  return ulps == 0U && *difference_of(a, e) != 0 ? 1 : ulps;
}

template <class A, class E>
requires MixedPair<A, E>
[[nodiscard]] inline bool matches(A a, E e, const ComparisonRule& rule) {
  if constexpr (MixedIntegers<A, E>) {
    return rule.tolerance.allows(*difference_of(a, e), magnitude(e));
  } else {
    if (!are_finite(a, e)) return false;
    const double difference = rounded_distance(a, e).nearest;
    return difference == 0 || rule.tolerance.allows(exact_element(a), exact_element(e), difference) ||
           (rule.ulps && *ulps_between(a, e) <= *rule.ulps);
  }
}

template <class A, class E>
requires MixedPair<A, E>
[[nodiscard]] inline Difference absolute_for(A a, E e, const Tolerance& tolerance) noexcept {
  if constexpr (MixedIntegers<A, E>) {
    return *difference_of(a, e) - tolerance.whole_share(magnitude(e));
  } else {
    if (!are_finite(a, e)) return to_bits(std::numeric_limits<double>::infinity());
    const RoundedDistance distance = rounded_distance(a, e);
    if (tolerance.relative() == 0) return to_bits(distance.above);
    const double share = tolerance.relative() * std::fabs(as_double(e));
    return to_bits(std::max(distance.nearest - share, 0.0) + 0x1p-49 * (distance.nearest + share));
  }
}

}  // namespace clipper
