#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

#include "compare/comparison.hpp"
#include "element/element_key.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"
#include "element/meaning.hpp"

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

/// The distance in representable values, those of `float8` if it is given; 0 between -0 and 0. Nothing unless
/// both are finite.
template <class T>
[[nodiscard]] inline std::optional<std::uint64_t> ulps_between(T a, T e,
                                                               const Float8* float8 = nullptr) noexcept {
  if (!std::isfinite(as_double(a)) || !std::isfinite(as_double(e))) return std::nullopt;
  if constexpr (std::is_same_v<T, float>)
    if (float8 != nullptr) {
      const NarrowFloat8 narrow(*float8);
      const int steps = key_of(*float8, narrow(a)) - key_of(*float8, narrow(e));
      const bool passes_two_zeros = float8->has_minus_zero() && std::signbit(a) != std::signbit(e);
      return static_cast<std::uint64_t>(std::abs(steps) - (passes_two_zeros ? 1 : 0));
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
    return rule.ulps && *ulps_between(a, e, rule.float8) <= *rule.ulps;
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
[[nodiscard]] inline std::optional<std::uint64_t> ulps_between(Complex<T> a, Complex<T> e,
                                                               const Float8* /*float8*/ = nullptr) noexcept {
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

}  // namespace clipper
