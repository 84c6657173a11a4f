#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "element/dtype.hpp"

/// float16 and bfloat16 to float and back. Widening is exact. Narrowing rounds to nearest even; a NaN keeps
/// its sign and the upper bits of its payload and becomes quiet, as by the F16C instructions.
///
/// Bits is std::int32_t or a vector of it, Float is float or a vector of equal length. A half's bits are the
/// lower 16 of 32; the upper ones are 0.
namespace clipper {

template <HalfType T, class Float, class Bits>
[[gnu::always_inline]] inline Float widen_bits(const Bits& half) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return __builtin_bit_cast(Float, half << 16);
  } else {
    const Bits magnitude = half & 0x7fff;
    // Moves fraction and exponent to their places in a float. The product corrects the exponent bias, exactly
    // even for subnormals.
    const Float finite = __builtin_bit_cast(Float, magnitude << 13) * 0x1p112F;
    const Bits special = magnitude << 13 | 0x7f800000;
    const Bits bits = magnitude < Float16::kInfinity ? __builtin_bit_cast(Bits, finite) : special;
    return __builtin_bit_cast(Float, bits | (half ^ magnitude) << 16);
  }
}

template <class Bits, class Float>
[[gnu::always_inline]] inline Bits narrow_to_float16(const Float& x) noexcept {
  const Bits bits = __builtin_bit_cast(Bits, x);
  const Bits magnitude = bits & 0x7fffffff;
  // Subnormal result: adding 0.5 moves the last fraction bit of the float to that of a float16 subnormal, so
  // the addition rounds.
  const Bits subnormal = __builtin_bit_cast(Bits, __builtin_bit_cast(Float, magnitude) + 0.5F) - 0x3f000000;
  const Bits normal = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  const Bits infinity = Bits{} + Float16::kInfinity;
  const Bits quiet = ((magnitude >> 13) & 0x3ff) | 0x7e00;
  Bits half = magnitude < 0x38800000 ? subnormal : normal;  // 2^-14, the smallest normal
  half = magnitude < 0x47800000 ? half : infinity;          // 2^16
  half = magnitude > 0x7f800000 ? quiet : half;
  return half | ((bits >> 16) & 0x8000);
}

template <class Bits, class Float>
[[gnu::always_inline]] inline Bits narrow_to_bfloat16(const Float& x) noexcept {
  const Bits bits = __builtin_bit_cast(Bits, x);
  const auto is_number = x == x;  // NOLINT(misc-redundant-expression): false for NaN, also in vectors
  // Rounding a NaN could carry into its sign.
  const Bits rounded = is_number ? bits + 0x7fff + ((bits >> 16) & 1) : bits | 0x400000;
  return (rounded >> 16) & 0xffff;
}

template <HalfType T, class Bits, class Float>
[[gnu::always_inline]] inline Bits narrow_bits(const Float& x) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>)
    return narrow_to_bfloat16<Bits>(x);
  else
    return narrow_to_float16<Bits>(x);
}

template <HalfType T>
[[nodiscard]] inline float widen(T x) noexcept {
  return widen_bits<T, float>(std::int32_t{x.bits});
}

/// The value itself if it is a float, otherwise the one of its two neighbours whose last bit is set. A float
/// rounded to odd is a tie between two 16-bit floats only if the value is, so rounding it again equals
/// rounding the value once.
[[gnu::always_inline]] inline float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  const std::uint32_t is_inexact = back != value && value == value ? 1 : 0;  // NOLINT: NaN stays as it is
  const std::uint32_t is_beyond = __builtin_fabs(back) > __builtin_fabs(value) ? 1 : 0;
  return __builtin_bit_cast(float, (bits - is_beyond) | is_inexact);
}

/// An element as float64: exact except for 64-bit integers.
template <class T>
[[nodiscard]] inline double as_double(T x) noexcept {
  if constexpr (HalfType<T>)
    return static_cast<double>(widen(x));
  else
    return static_cast<double>(x);
}

template <HalfType T>
[[nodiscard]] inline T narrow_half(float x) noexcept {
  return {static_cast<std::uint16_t>(narrow_bits<T, std::int32_t>(x))};
}

// The floats of 8 bits that ml_dtypes has: one description for all, float8 to float and back.

/// The sign, unless there is none, then the exponent and the fraction. Elements without the bits of the
/// exponent are subnormal, except in the format without fraction, whose elements are powers of two.
struct Float8 {
  DType dtype;
  int fraction_bits;
  int bias;              ///< of the exponent
  std::uint8_t highest;  ///< the highest finite element
  std::uint8_t beyond;   ///< what numbers beyond it become: infinity, otherwise a NaN
  std::uint8_t nan;      ///< the quiet NaN, positive if NaNs have a sign

  /// Elements without sign have neither a zero nor a negative number.
  [[nodiscard]] constexpr bool has_sign() const noexcept { return fraction_bits != 0; }

  /// Without it, the bits of -0 are the only NaN, which has no sign.
  [[nodiscard]] constexpr bool has_minus_zero() const noexcept { return has_sign() && nan != 0x80; }

  [[nodiscard]] constexpr bool has_infinity() const noexcept { return beyond != nan; }

  [[nodiscard]] constexpr std::uint8_t sign() const noexcept { return has_sign() ? 0x80 : 0; }

  [[nodiscard]] constexpr bool is_nan(std::uint8_t element) const noexcept {
    if (!has_sign() || nan == sign()) return element == nan;
    return (element & 0x7f) > (has_infinity() ? beyond : highest);
  }
};

/// OCP 8-bit floating point; the fnuz formats of GPUs of AMD (e4m3, e5m2) and IBM (e4m3b11); OCP MX scales.
inline constexpr std::array<Float8, kDTypes.size() - kKernelDTypes.size()> kFloat8{{
    {DType::float8_e4m3fn, 3, 7, 0x7e, 0x7f, 0x7f},
    {DType::float8_e5m2, 2, 15, 0x7b, 0x7c, 0x7e},
    {DType::float8_e4m3fnuz, 3, 8, 0x7f, 0x80, 0x80},
    {DType::float8_e5m2fnuz, 2, 16, 0x7f, 0x80, 0x80},
    {DType::float8_e4m3b11fnuz, 3, 11, 0x7f, 0x80, 0x80},
    {DType::float8_e8m0fnu, 0, 127, 0xfe, 0xff, 0xff},
}};

[[nodiscard]] constexpr std::size_t float8_index(DType dtype) noexcept {
  return static_cast<std::size_t>(dtype) - kKernelDTypes.size();
}

[[nodiscard]] constexpr const Float8& float8_of(DType dtype) noexcept {
  return kFloat8[float8_index(dtype)];
}

static_assert(
    [] {
      for (std::size_t i = 0; i < kFloat8.size(); ++i) {
        const Float8& row = kFloat8[i];
        if (float8_index(row.dtype) != i || row.fraction_bits != traits(row.dtype).fraction_bits ||
            row.has_infinity() != traits(row.dtype).has_infinity)
          return false;
      }
      return true;
    }(),
    "kFloat8 has one row for each DType without kernels, in the order of kDTypes, and says the same");

/// The bits of the element as a float32: exact. A NaN keeps its sign and its payload.
[[nodiscard]] constexpr std::uint32_t widened_bits(const Float8& format, std::uint8_t element) noexcept {
  constexpr int kBias = 127;
  constexpr int kFractionBits = 23;
  const auto upper = [&](std::uint32_t fraction) {
    return fraction << (kFractionBits - format.fraction_bits);
  };
  const std::uint32_t sign = std::uint32_t{element} & format.sign();
  const std::uint32_t magnitude = element ^ sign;
  const std::uint32_t fraction = magnitude & ((1U << format.fraction_bits) - 1);
  if (format.is_nan(element))
    return (format.has_minus_zero() ? sign << 24 : 0) | 0x7f800000 |
           (format.has_infinity() ? upper(fraction) : 0x400000);
  if (format.has_infinity() && magnitude == format.beyond) return sign << 24 | 0x7f800000;
  const std::uint32_t exponent = magnitude >> format.fraction_bits;
  if (exponent == 0 && !format.has_sign()) return 0x400000;  // 2^-127, a subnormal float32
  if (exponent == 0) {
    const auto unit = static_cast<std::uint32_t>(kBias + 1 - format.bias - format.fraction_bits);
    const float value = static_cast<float>(fraction) * std::bit_cast<float>(unit << kFractionBits);
    return sign << 24 | std::bit_cast<std::uint32_t>(value);
  }
  return sign << 24 | (exponent + static_cast<std::uint32_t>(kBias - format.bias)) << kFractionBits |
         upper(fraction);
}

/// Every element of a format as the bits of a float32, which keep the bits of signalling NaNs.
using WidenedFloat8 = std::array<std::uint32_t, 256>;

[[nodiscard]] constexpr WidenedFloat8 widened_elements(const Float8& format) noexcept {
  WidenedFloat8 bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = widened_bits(format, static_cast<std::uint8_t>(i));
  return bits;
}

inline constexpr auto kWidenedFloat8 = [] {
  std::array<WidenedFloat8, kFloat8.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = widened_elements(kFloat8[i]);
  return all;
}();

/// An element of a dtype without kernels as a float.
[[nodiscard]] inline float widened(DType dtype, ElementBits element) noexcept {
  return std::bit_cast<float>(kWidenedFloat8[float8_index(dtype)][element & 0xff]);
}

/// Widens `count` elements.
inline void widen(DType dtype, const std::byte* elements, float* floats, std::size_t count) noexcept {
  const WidenedFloat8& bits = kWidenedFloat8[float8_index(dtype)];
  for (std::size_t i = 0; i < count; ++i)
    floats[i] = std::bit_cast<float>(bits[std::to_integer<std::size_t>(elements[i])]);
}

/// Makes floats elements of a dtype without kernels, rounded to nearest even, once. What has no sign, or no
/// -0, becomes what it has. Numbers beyond the finite elements become infinite or, in a format without
/// infinity, NaN: so do numbers up to 0 in a format without sign. A NaN keeps its sign, and as many bits of
/// its payload as there are.
class Narrowing {
 public:
  explicit constexpr Narrowing(DType dtype) noexcept : Narrowing(float8_of(dtype)) {}

  [[nodiscard, gnu::always_inline]] std::uint8_t operator()(float x) const noexcept {
    const auto bits = std::bit_cast<std::int32_t>(x);
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    const std::int32_t magnitude = is_nan ? 0 : bits & 0x7fffffff;
    // The addition rounds to a multiple of the smallest subnormal, which is the last bit of the sum.
    const float sum = std::bit_cast<float>(magnitude) + magic_;
    const std::int32_t subnormal = std::bit_cast<std::int32_t>(sum) - std::bit_cast<std::int32_t>(magic_);
    const std::int32_t normal =
        (magnitude - rebias_ + half_ + (((magnitude >> shift_) & odd_) | (1 - odd_))) >> shift_;
    std::int32_t result = magnitude < smallest_normal_ ? subnormal : normal;
    result = result > highest_ ? beyond_ : result;
    result = is_nan ? nan_ | ((bits >> shift_) & payload_) : result;
    const std::int32_t signed_result = result | ((bits >> 24) & sign_);
    result = result == 0 && !has_minus_zero_ ? result : signed_result;
    const bool is_below = sign_ == 0 && bits <= 0;  // -0, 0, negative numbers
    return static_cast<std::uint8_t>(is_below ? beyond_ : result);
  }

 private:
  explicit constexpr Narrowing(const Float8& format) noexcept
      : shift_(23 - format.fraction_bits),
        half_((1 << (22 - format.fraction_bits)) - 1),
        odd_(format.has_sign() ? 1 : 0),
        rebias_((127 - format.bias) << 23),
        smallest_normal_(format.has_sign() ? (128 - format.bias) << 23 : 0x600000),
        magic_(std::bit_cast<float>(format.has_sign() ? (151 - format.bias - format.fraction_bits) << 23
                                                      : 127 << 23)),
        highest_(format.highest),
        beyond_(format.beyond),
        nan_(format.nan),
        payload_(format.has_infinity() ? (1 << format.fraction_bits) - 1 : 0),
        sign_(format.sign()),
        has_minus_zero_(format.has_minus_zero()) {}

  std::int32_t shift_;  ///< from the fraction of a float to that of the format
  std::int32_t half_;   ///< of the unit of the last place, minus 1, which an odd last bit adds
  std::int32_t
      odd_;  ///< where the last bit is; 0 without fraction: the leading 1, which is not stored, is odd
  std::int32_t rebias_;
  std::int32_t smallest_normal_;  ///< as a float; without subnormals, from there on the result is not 0
  float magic_;
  std::int32_t highest_;
  std::int32_t beyond_;
  std::int32_t nan_;
  std::int32_t payload_;
  std::int32_t sign_;
  bool has_minus_zero_;
};

// Keys: elements as signed integers of the same width, in the order of the values. -0 comes directly before
// +0, NaNs with sign bit before -inf, other NaNs after inf. Every key is the key of one element.

template <class T>
using Key = std::make_signed_t<UnsignedOfSize<sizeof(T)>>;

template <class T>
[[nodiscard]] constexpr Key<T> key_of(T x) noexcept {
  const auto bits = static_cast<Key<T>>(to_bits(x));
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
    return bits;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<Key<T>>(bits ^ std::numeric_limits<Key<T>>::lowest());
  else
    return static_cast<Key<T>>(bits ^ ((bits >> (8 * sizeof(T) - 1)) & std::numeric_limits<Key<T>>::max()));
}

template <class T>
[[nodiscard]] constexpr T element_of(Key<T> key) noexcept {
  // key_of() is its own inverse on the bits.
  return from_bits<T>(static_cast<ElementBits>(key_of(from_bits<T>(static_cast<ElementBits>(key)))));
}

/// The keys from lowest_finite_key() to highest_finite_key() are those of the finite elements.
template <class T>
[[nodiscard]] constexpr Key<T> highest_finite_key() noexcept {
  if constexpr (HalfType<T>)
    return static_cast<Key<T>>(T::kHighestFinite);
  else
    return key_of(std::numeric_limits<T>::max());
}

template <class T>
[[nodiscard]] constexpr Key<T> lowest_finite_key() noexcept {
  return static_cast<Key<T>>(~highest_finite_key<T>());
}

/// Float8 elements have keys of 8 bits by the same rule, but if there is no -0 then no key either.
[[nodiscard]] constexpr std::int8_t key_of(const Float8& format, std::uint8_t element) noexcept {
  if (!format.has_sign()) return static_cast<std::int8_t>(element ^ 0x80);
  if (element < 0x80) return static_cast<std::int8_t>(element);
  if (format.has_minus_zero()) return static_cast<std::int8_t>(element ^ 0x7f);
  return static_cast<std::int8_t>(0x80 - element - (element == 0x80 ? 0x80 : 0));
}

// Comparisons of elements of any dtype, also of halves, whose types have no operators.

template <class T>
requires std::is_arithmetic_v<T> || HalfType<T>
[[gnu::always_inline]] inline bool is_nan(T x) noexcept {
  if constexpr (HalfType<T>)
    return x.is_nan();
  else
    return std::is_floating_point_v<T> && x != x;  // NOLINT(misc-redundant-expression): also for integers
}

/// The value of the element in a type with `<` and `<=`, which are false for NaN: float for halves.
template <class T>
[[gnu::always_inline]] inline auto comparable(T x) noexcept {
  if constexpr (HalfType<T>)
    return widen(x);
  else
    return x;
}

}  // namespace clipper
