#pragma once

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

/// The element types of tensors, and numbers of any precision.
namespace clipper {

/// IEEE 754 binary16, by its bits in this machine's byte order: storage only, arithmetic happens in float.
struct Float16 {
  std::uint16_t bits;
  static constexpr int kFractionBits = 10;
  static constexpr std::uint16_t kInfinity = 0x7c00;
  friend bool operator==(Float16, Float16) = default;
};

/// bfloat16 (the upper half of a float32), by its bits: storage only, arithmetic happens in float.
struct BFloat16 {
  std::uint16_t bits;
  static constexpr int kFractionBits = 7;
  static constexpr std::uint16_t kInfinity = 0x7f80;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// A float of 16 bits.
template <class T>
concept HalfType = std::same_as<T, Float16> || std::same_as<T, BFloat16>;

/// The element types of a tensor. The order is that of kDTypes.
enum class DType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
};

/// What the elements of a dtype are.
enum class NumberKind : std::uint8_t { signed_integer, unsigned_integer, floating };

/// Of elements in memory or in a file.
enum class ByteOrder : std::uint8_t { little, big };

/// This machine's.
inline constexpr ByteOrder kNativeOrder =
    std::endian::native == std::endian::little ? ByteOrder::little : ByteOrder::big;

/// What is known of a dtype; one row each in kDTypes.
struct DTypeTraits {
  DType dtype;
  std::string_view name;   ///< as numpy and ml_dtypes print it
  std::string_view descr;  ///< the descriptor of an .npy header, without its byte order: "f4"
  NumberKind kind;
  std::size_t size;  ///< bytes of an element
};

/// Every dtype, in the order of the enumerators.
inline constexpr std::array<DTypeTraits, 12> kDTypes{{
    {DType::int8, "int8", "i1", NumberKind::signed_integer, 1},
    {DType::int16, "int16", "i2", NumberKind::signed_integer, 2},
    {DType::int32, "int32", "i4", NumberKind::signed_integer, 4},
    {DType::int64, "int64", "i8", NumberKind::signed_integer, 8},
    {DType::uint8, "uint8", "u1", NumberKind::unsigned_integer, 1},
    {DType::uint16, "uint16", "u2", NumberKind::unsigned_integer, 2},
    {DType::uint32, "uint32", "u4", NumberKind::unsigned_integer, 4},
    {DType::uint64, "uint64", "u8", NumberKind::unsigned_integer, 8},
    {DType::float16, "float16", "f2", NumberKind::floating, 2},
    {DType::float32, "float32", "f4", NumberKind::floating, 4},
    {DType::float64, "float64", "f8", NumberKind::floating, 8},
    {DType::bfloat16, "bfloat16", "V2", NumberKind::floating, 2},
}};

/// The dtype's row of kDTypes, which is never destroyed.
[[nodiscard]] constexpr const DTypeTraits& traits(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)];
}

/// Whether elements may be NaN or infinite, and have fractions.
[[nodiscard]] constexpr bool is_floating(DType dtype) {
  return traits(dtype).kind == NumberKind::floating;
}

/// The dtype called `name` ("float32"), or nothing.
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name) noexcept;

/// A number of any size and precision: (-1)^negative * 0.DIGITS * 10^exponent, infinite, or not a number. It
/// is made of an integer, of a floating point number or by parse_number(), and owns its digits.
struct Number {
  enum class Kind : std::uint8_t { finite, infinite, nan };

  Kind kind = Kind::finite;
  bool negative = false;      ///< also of zero: "-0"
  std::string digits{};       ///< decimal, neither leading nor trailing zeros; empty for zero
  std::int64_t exponent = 0;  ///< 0 for zero

  /// Zero.
  Number() = default;

  // NOLINTBEGIN(google-explicit-constructor): nothing is lost by the conversion.

  /// The value, exactly: no rounding, whatever the type. `0.1` is the double nearest to 0.1; what is to be
  /// exactly 0.1 comes from parse_number("0.1"). Of float and double also infinities and NaN.
  template <std::integral T>
  requires(!std::same_as<T, bool>) Number(T value) : Number(value < 0, magnitude_of(value)) {}
  template <std::floating_point T>
  requires(sizeof(T) <= sizeof(double)) Number(T value) : Number(of_double(value)) {}
  // NOLINTEND(google-explicit-constructor)

 private:
  Number(bool is_negative, std::uint64_t magnitude);
  [[nodiscard]] static Number of_double(double value);

  template <class T>
  [[nodiscard]] static constexpr std::uint64_t magnitude_of(T value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? 0 - bits : bits;
  }
};

/// The number that the whole of `text` spells, or nothing: decimal ("-12", ".5", "1e-3", "5."), hexadecimal
/// floating point ("0x1.8p3"), "inf", "infinity" or "nan" in any case, each with an optional sign. No white
/// space, no locale, no limit of length.
[[nodiscard]] std::optional<Number> parse_number(std::string_view text);

/// Which of two numbers is the larger one; -0 equals 0. Unordered if one is NaN.
[[nodiscard]] std::partial_ordering operator<=>(const Number& a, const Number& b);
[[nodiscard]] bool operator==(const Number& a, const Number& b);

/// The result of `f.template operator()<T>()`, where T is the C++ type of the dtype's elements: a dtype that
/// is known at run time chooses a template.
template <class F>
constexpr decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::int8: return f.template operator()<std::int8_t>();
    case DType::int16: return f.template operator()<std::int16_t>();
    case DType::int32: return f.template operator()<std::int32_t>();
    case DType::int64: return f.template operator()<std::int64_t>();
    case DType::uint8: return f.template operator()<std::uint8_t>();
    case DType::uint16: return f.template operator()<std::uint16_t>();
    case DType::uint32: return f.template operator()<std::uint32_t>();
    case DType::uint64: return f.template operator()<std::uint64_t>();
    case DType::float16: return f.template operator()<Float16>();
    case DType::float32: return f.template operator()<float>();
    case DType::float64: return f.template operator()<double>();
    case DType::bfloat16: return f.template operator()<BFloat16>();
  }
  __builtin_unreachable();
}

/// The bits of one element of any dtype, zero-extended; the value, not its bytes in memory: the same on
/// every architecture.
using ElementBits = std::uint64_t;

/// The unsigned integer of so many bytes: 1, 2, 4 or 8.
template <std::size_t Size>
using UnsignedOfSize =
    std::conditional_t<Size == 1, std::uint8_t,
                       std::conditional_t<Size == 2, std::uint16_t,
                                          std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

/// The bits of an element; from_bits<T>() makes it the same element again, NaN payloads included.
template <class T>
[[nodiscard]] constexpr ElementBits to_bits(T value) noexcept {
  return std::bit_cast<UnsignedOfSize<sizeof(T)>>(value);
}

/// T is the C++ type of the element's dtype, as with_type() has it; bits beyond its size are dropped.
template <class T>
[[nodiscard]] constexpr T from_bits(ElementBits bits) noexcept {
  return std::bit_cast<T>(static_cast<UnsignedOfSize<sizeof(T)>>(bits));
}

}  // namespace clipper
