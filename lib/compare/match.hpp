#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "compare/comparison.hpp"
#include "element/element.hpp"
#include "element/logical_type.hpp"
#include "element/small_floats.hpp"

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
    return std::isnan(difference) ? std::nullopt : std::optional<Difference>(to_bits(difference));
  }
}

/// The distance in representable values, those of `widened` if it is given; 0 between -0 and 0. Nothing
/// unless both are finite.
template <class T>
[[nodiscard]] inline std::optional<std::uint64_t> ulps_between(T a, T e,
                                                               std::optional<DType> widened = {}) noexcept {
  if (!std::isfinite(as_double(a)) || !std::isfinite(as_double(e))) return std::nullopt;
  if constexpr (std::is_same_v<T, float>)
    if (widened) {
      const Narrowing narrow(*widened);
      const std::int64_t steps = element_key(*widened, narrow(a)) - element_key(*widened, narrow(e));
      const bool passes_two_zeros = std::signbit(a) != std::signbit(e) && narrow(-0.0F) != narrow(0.0F);
      return static_cast<std::uint64_t>(std::abs(steps)) - (passes_two_zeros ? 1 : 0);
    }
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
[[nodiscard]] inline bool matches(T a, T e, const ComparisonRule& rule) {
  if (rule.bits) return to_bits(a) == to_bits(e);
  if constexpr (std::is_integral_v<T>) {
    const std::uint64_t difference = distance(a, e);
    return difference <= rule.tolerance.whole() || rule.tolerance.allows(difference, magnitude(e));
  } else {
    const double x = as_double(a);
    const double y = as_double(e);
    if (x == y) return true;
    if (std::isnan(x) || std::isnan(y)) return rule.nan_equal && std::isnan(x) && std::isnan(y);
    if (std::isinf(x) || std::isinf(y)) return false;
    if (is_within(x, y, rule.tolerance.absolute(), rule.tolerance.relative())) return true;
    return rule.ulps && *ulps_between(a, e, rule.widened) <= *rule.ulps;
  }
}

/// The smallest A, or slightly more, with which |a - e| <= A + R * |e|, where `share` is R * |e|.
[[nodiscard]] inline Difference absolute_for_floats(double difference, double share) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(difference)) return to_bits(kInfinity);
  double absolute = std::max(difference - share, 0.0);
  while (difference > absolute + share) absolute = std::nextafter(absolute, kInfinity);
  return to_bits(absolute);
}

/// The smallest A, or slightly more, with which two elements that do not match would; infinity if there is
/// none.
template <class T>
[[nodiscard]] inline Difference absolute_for(T a, T e, const Tolerance& tolerance) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return std::uint64_t{distance(a, e)} - tolerance.whole_share(magnitude(e));
  } else {
    return absolute_for_floats(std::fabs(as_double(a) - as_double(e)),
                               tolerance.relative() * std::fabs(as_double(e)));
  }
}

/// datetime64 and timedelta64.
struct Date {
  std::int64_t ticks;
};
struct Duration {
  std::int64_t ticks;
};

template <class T>
concept TimeType = std::same_as<T, Date> || std::same_as<T, Duration>;

template <class T>
struct Complex {
  T real;
  T imaginary;
};

template <TimeType T>
[[nodiscard]] inline bool is_nat(T x) noexcept {
  return x.ticks == kNaT;
}

template <TimeType T>
[[nodiscard]] inline std::optional<Difference> difference_of(T a, T e) noexcept {
  return is_nat(a) || is_nat(e) ? std::nullopt : std::optional<Difference>(distance(a.ticks, e.ticks));
}

template <TimeType T>
[[nodiscard]] inline bool matches(T a, T e, const ComparisonRule& rule) {
  if (rule.bits) return a.ticks == e.ticks;
  if (is_nat(a) || is_nat(e)) return rule.nan_equal && is_nat(a) && is_nat(e);
  if constexpr (std::same_as<T, Date>)
    return distance(a.ticks, e.ticks) <= rule.tolerance.whole();
  else
    return matches(a.ticks, e.ticks, rule);
}

template <TimeType T>
[[nodiscard]] inline Difference absolute_for(T a, T e, const Tolerance& tolerance) noexcept {
  if (is_nat(a) || is_nat(e)) return ElementComparison::kNoTicks;
  return std::same_as<T, Date> ? distance(a.ticks, e.ticks) : absolute_for(a.ticks, e.ticks, tolerance);
}

/// The length of a vector. hypot() of double would need glibc 2.35; the wheels need 2.34.
[[nodiscard]] inline double length_of(double x, double y) noexcept {
  return static_cast<double>(std::hypot(static_cast<long double>(x), static_cast<long double>(y)));
}

template <class T>
[[nodiscard]] inline double modulus(Complex<T> x) noexcept {
  return length_of(as_double(x.real), as_double(x.imaginary));
}

template <class T>
[[nodiscard]] inline double modulus_of_difference(Complex<T> a, Complex<T> e, double scale = 1) noexcept {
  return length_of(as_double(a.real) * scale - as_double(e.real) * scale,
                   as_double(a.imaginary) * scale - as_double(e.imaginary) * scale);
}

template <class T>
[[nodiscard]] inline bool is_equal(Complex<T> a, Complex<T> e) noexcept {
  return a.real == e.real && a.imaginary == e.imaginary;
}

template <class T>
[[nodiscard]] inline bool is_nan(Complex<T> x) noexcept {
  return std::isnan(x.real) || std::isnan(x.imaginary);
}

template <class T>
[[nodiscard]] inline bool is_finite(Complex<T> x) noexcept {
  return std::isfinite(x.real) && std::isfinite(x.imaginary);
}

/// The modulus of a - e.
template <class T>
[[nodiscard]] inline std::optional<Difference> difference_of(Complex<T> a, Complex<T> e) noexcept {
  if (is_equal(a, e)) return 0;
  if (is_nan(a) || is_nan(e)) return std::nullopt;
  const double difference = modulus_of_difference(a, e);
  return std::isnan(difference) ? std::nullopt : std::optional<Difference>(to_bits(difference));
}

template <class T>
[[nodiscard]] inline std::optional<std::uint64_t> ulps_between(
    Complex<T> a, Complex<T> e, std::optional<DType> /*widened*/ = {}) noexcept {
  if (!is_finite(a) || !is_finite(e)) return std::nullopt;
  return std::max(*ulps_between(a.real, e.real), *ulps_between(a.imaginary, e.imaginary));
}

template <class T>
[[nodiscard]] inline bool matches(Complex<T> a, Complex<T> e, const ComparisonRule& rule) {
  if (rule.bits) return to_bits(a.real) == to_bits(e.real) && to_bits(a.imaginary) == to_bits(e.imaginary);
  if (is_equal(a, e)) return true;
  if (is_nan(a) || is_nan(e)) return rule.nan_equal && is_nan(a) && is_nan(e);
  if (!is_finite(a) || !is_finite(e)) return false;
  constexpr double kScale = 0.25;  // nothing overflows
  const Tolerance& tolerance = rule.tolerance;
  const double difference = modulus_of_difference(a, e);
  const double size = modulus(e);
  const bool is_within =
      difference <= std::numeric_limits<double>::max() && size <= std::numeric_limits<double>::max()
          ? difference <= tolerance.absolute() + tolerance.relative() * size
          : modulus_of_difference(a, e, kScale) <=
                tolerance.absolute() * kScale +
                    tolerance.relative() *
                        length_of(as_double(e.real) * kScale, as_double(e.imaginary) * kScale);
  return is_within || (rule.ulps && *ulps_between(a, e) <= *rule.ulps);
}

template <class T>
[[nodiscard]] inline Difference absolute_for(Complex<T> a, Complex<T> e,
                                             const Tolerance& tolerance) noexcept {
  return absolute_for_floats(modulus_of_difference(a, e), tolerance.relative() * modulus(e));
}

// The overloads of match.hpp for two numbers that no dtype holds both: int64 and uint64, or one of them and
// float64. All verdicts are exact.

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
[[nodiscard]] inline std::optional<std::uint64_t> ulps_between(
    A a, E e, std::optional<DType> /*widened*/ = {}) noexcept {
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

// The loop over pairs one by one.

inline void note_largest(ElementComparison& result, Difference difference, std::uint64_t position) noexcept {
  if (difference <= result.largest) return;
  result.largest = difference;
  result.largest_at = position;
}

template <class A, class E>
Mismatch mismatch_of(A a, E e, std::uint64_t position) noexcept {
  return {position, to_bits(a), to_bits(e)};
}
template <class T>
Mismatch mismatch_of(Complex<T> a, Complex<T> e, std::uint64_t position) noexcept {
  return {position, to_bits(a.real), to_bits(e.real), to_bits(a.imaginary), to_bits(e.imaginary)};
}

/// The smallest R, or slightly more, with which difference <= A + R * size; infinity if there is none.
/// Integers match by exact arithmetic, in which a product that was rounded up may be too small.
[[nodiscard]] inline double relative_for(double difference, double size, double absolute,
                                         bool is_exact) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(difference) || !std::isfinite(size) || size == 0) return kInfinity;
  double relative = std::max((difference - absolute) / size, 0.0);
  while (difference > absolute + relative * size ||
         (is_exact && std::fma(relative, size, absolute - difference) < 0))
    relative = std::nextafter(relative, kInfinity);
  const bool is_rounded = is_exact && std::max(difference, size) > 0x1p53;  // integers of 64 bits
  return is_rounded ? relative * (1 + 0x1p-50) : relative;
}

/// |e| as float64.
template <class T>
[[nodiscard]] inline double size_of(T e) noexcept {
  if constexpr (std::is_integral_v<T>)
    return static_cast<double>(magnitude(e));
  else
    return std::fabs(as_double(e));
}
template <TimeType T>
[[nodiscard]] inline double size_of(T e) noexcept {
  return size_of(e.ticks);
}
template <class T>
[[nodiscard]] inline double size_of(Complex<T> e) noexcept {
  return modulus(e);
}

template <class A, class E>
void note_relative(A a, E e, std::uint64_t position, const Tolerance& tolerance, ElementComparison& result) {
  constexpr bool kIsExact = TimeType<A> || (std::integral<A> && std::integral<E>);
  const std::optional<Difference> difference = difference_of(a, e);
  if (!difference && result.nan++ == 0) result.nan_at = position;
  if (!difference || std::same_as<A, Date>) {
    result.relative = std::numeric_limits<double>::infinity();
    return;
  }
  const double distance = kIsExact ? static_cast<double>(*difference) : float_difference(*difference);
  const double size = size_of(e);
  constexpr double kMore = 1 + 0x1p-48;  // more than rounding can lack: few mismatches are calculated exactly
  constexpr double kTiny = 0x1p-960;     // rounding can lack more below, where products are subnormal
  if (!std::isfinite(size) || (distance > 0 && distance < kTiny) ||
      !(distance * kMore <= tolerance.absolute() + result.relative * size))
    result.relative = std::max(result.relative, relative_for(distance, size, tolerance.absolute(), kIsExact));
  if (distance >= result.largest_relative * size)
    result.largest_relative = std::max(result.largest_relative, distance / size);  // 0 / 0 is no maximum
}

template <class A, class E>
void add_mismatch(A a, E e, std::uint64_t position, const ComparisonRule& rule, ElementComparison& result) {
  ++result.mismatches;
  if (result.first.size() < result.listed) result.first.push_back(mismatch_of(a, e, position));
  result.absolute = std::max(result.absolute, absolute_for(a, e, rule.tolerance));
  note_relative(a, e, position, rule.tolerance, result);
  if constexpr (!std::integral<A> ? !TimeType<A> : !std::integral<E>)
    result.ulps =
        std::max(result.ulps, ulps_between(a, e, rule.widened).value_or(ElementComparison::kNoUlps));
}

template <class A, class E>
void compare_each(const A* a, const E* e, std::size_t count, std::uint64_t position,
                  const ComparisonRule& rule, ElementComparison& result) {
  for (std::size_t i = 0; i < count; ++i) {
    note_largest(result, difference_of(a[i], e[i]).value_or(0), position + i);
    if (!matches(a[i], e[i], rule)) add_mismatch(a[i], e[i], position + i, rule, result);
  }
}

}  // namespace clipper
