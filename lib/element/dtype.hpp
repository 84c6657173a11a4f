#pragma once

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

/// The element types of tensors, and numbers of any precision.
#pragma GCC visibility push(default)
namespace clipper {

/// A float of 16 bits, as its bits in this machine's byte order: the sign, then the exponent, whose highest
/// value means infinity or NaN, then the fraction. Storage only: arithmetic happens in float.
template <int kExponent, int kFraction>
requires(kExponent + kFraction == 15) struct SmallFloat {
  static constexpr int kFractionBits = kFraction;
  static constexpr std::uint16_t kInfinity = ((1 << kExponent) - 1) << kFraction;
  static constexpr std::uint16_t kHighestFinite = kInfinity - 1;
  std::uint16_t bits;
  [[nodiscard]] constexpr bool is_nan() const noexcept { return (bits & 0x7fff) > kInfinity; }
  friend bool operator==(SmallFloat, SmallFloat) = default;
};

using Float16 = SmallFloat<5, 10>;  ///< IEEE 754 binary16
using BFloat16 = SmallFloat<8, 7>;  ///< bfloat16, the upper half of a float32

template <class T>
concept HalfType = std::same_as<T, Float16> || std::same_as<T, BFloat16>;

/// The element types of a tensor, in the order of kDTypes: those of the kernels first, see kKernelDTypes.
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
  float8_e4m3fn,
  float8_e5m2,
  float8_e4m3fnuz,
  float8_e5m2fnuz,
  float8_e4m3b11fnuz,
  float8_e8m0fnu,
};

enum class NumberKind : std::uint8_t { signed_integer, unsigned_integer, floating };

/// How a number with a fraction becomes an integer: to the nearest one, where ties become even or the one
/// farther from zero, or to the next one toward zero, down or up.
enum class Round : std::uint8_t { half_even, half_away, trunc, floor, ceil };

/// The names of Round, in the order of the enumerators.
inline constexpr std::array<std::string_view, 5> kRoundWords{"half-even", "half-away", "trunc", "floor",
                                                             "ceil"};

/// What a float element becomes that equals a bound, but is the zero of the other sign.
enum class ZeroTie : std::uint8_t {
  element,  ///< it stays
  upper,    ///< TOSA: max, if it equals max
  ordered,  ///< StableHLO: the bound, if the element is beyond it in an order in which -0 is less than +0
};

/// The byte order of elements in memory or in a file.
enum class ByteOrder : std::uint8_t { little, big };

/// The byte order of this machine.
inline constexpr ByteOrder kNativeOrder =
    std::endian::native == std::endian::little ? ByteOrder::little : ByteOrder::big;

/// A dtype and, if somebody asks for one, the byte order of its elements.
struct OrderedDType {
  DType dtype;
  std::optional<ByteOrder> order;  ///< empty for elements of one byte

  constexpr OrderedDType(DType of, std::optional<ByteOrder> in = {}) noexcept  // NOLINT(*-explicit-*)
      : dtype(of), order(in) {}
  constexpr operator DType() const noexcept { return dtype; }  // NOLINT(*-explicit-*)
};

/// The properties of a dtype: a row of kDTypes.
struct DTypeTraits {
  DType dtype;
  std::string_view name;   ///< as numpy and ml_dtypes print it
  std::string_view descr;  ///< in .npy headers, after the character for the byte order: "f4"
  NumberKind kind;
  std::size_t size;   ///< bytes of an element
  DType carrier;      ///< of the arithmetic of scale and bias, unless that is exact in integers
  int exponent_bits;  ///< of a float; otherwise 0
  int fraction_bits;  ///< of a float, without the leading 1 that is not stored; otherwise 0
  bool has_infinity;  ///< after the highest finite element, in the order of the bits

  /// Whether a tensor in an archive, or one found by --recursive, is clipped only if it is named.
  bool only_if_named = false;
};

/// Every dtype, in the order of the enumerators.
inline constexpr std::array<DTypeTraits, 18> kDTypes{{
    {DType::int8, "int8", "i1", NumberKind::signed_integer, 1, DType::float64, 0, 0, false},
    {DType::int16, "int16", "i2", NumberKind::signed_integer, 2, DType::float64, 0, 0, false},
    {DType::int32, "int32", "i4", NumberKind::signed_integer, 4, DType::float64, 0, 0, false},
    {DType::int64, "int64", "i8", NumberKind::signed_integer, 8, DType::float64, 0, 0, false},
    {DType::uint8, "uint8", "u1", NumberKind::unsigned_integer, 1, DType::float64, 0, 0, false},
    {DType::uint16, "uint16", "u2", NumberKind::unsigned_integer, 2, DType::float64, 0, 0, false},
    {DType::uint32, "uint32", "u4", NumberKind::unsigned_integer, 4, DType::float64, 0, 0, false},
    {DType::uint64, "uint64", "u8", NumberKind::unsigned_integer, 8, DType::float64, 0, 0, false},
    {DType::float16, "float16", "f2", NumberKind::floating, 2, DType::float32, 5, 10, true},
    {DType::float32, "float32", "f4", NumberKind::floating, 4, DType::float32, 8, 23, true},
    {DType::float64, "float64", "f8", NumberKind::floating, 8, DType::float64, 11, 52, true},
    {DType::bfloat16, "bfloat16", "V2", NumberKind::floating, 2, DType::float32, 8, 7, true},
    {DType::float8_e4m3fn, "float8_e4m3fn", "V1", NumberKind::floating, 1, DType::float32, 4, 3, false, true},
    {DType::float8_e5m2, "float8_e5m2", "f1", NumberKind::floating, 1, DType::float32, 5, 2, true, true},
    {DType::float8_e4m3fnuz, "float8_e4m3fnuz", "V1", NumberKind::floating, 1, DType::float32, 4, 3, false,
     true},
    {DType::float8_e5m2fnuz, "float8_e5m2fnuz", "V1", NumberKind::floating, 1, DType::float32, 5, 2, false,
     true},
    {DType::float8_e4m3b11fnuz, "float8_e4m3b11fnuz", "V1", NumberKind::floating, 1, DType::float32, 4, 3,
     false, true},
    {DType::float8_e8m0fnu, "float8_e8m0fnu", "V1", NumberKind::floating, 1, DType::float32, 8, 0, false,
     true},
}};

/// What others call a dtype: a row of kDTypeCodes.
struct DTypeCodes {
  std::string_view words;  ///< in lower case; also with a prefix such as "torch."
  std::string_view onnx;   ///< the name and the number in TensorProto.DataType
  std::int32_t onnx_code = 0;
  int dlpack = 0;  ///< DLDataTypeCode of dtypes that numpy lacks
};

/// In the order of kDTypes.
inline constexpr std::array<DTypeCodes, kDTypes.size()> kDTypeCodes{{
    {"i1 torch.char np.byte numpy.byte", "int8", 3},
    {"i2 i16 short", "int16", 5},
    {"i4 i32 intc torch.int", "int32", 6},
    {"i64 longlong torch.long", "int64", 7},
    {"u1 ubyte torch.byte", "uint8", 2},
    {"u2 u16 ushort", "uint16", 4},
    {"u4 u32 uintc", "uint32", 12},
    {"u64 ulonglong", "uint64", 13},
    {"f2 f16 fp16 half", "float16", 10},
    {"f4 f32 fp32 single torch.float tensorproto.float onnx.tensorproto.float", "float", 1},
    {"f64 fp64 double", "double", 11},
    {"bf16", "bfloat16", 16, 4},
    {"f8_e4m3 fp8_e4m3 float8e4m3fn", "float8e4m3fn", 17, 10},
    {"f8_e5m2 fp8_e5m2 float8e5m2", "float8e5m2", 19, 12},
    {"f8_e4m3fnuz float8e4m3fnuz", "float8e4m3fnuz", 18, 11},
    {"f8_e5m2fnuz float8e5m2fnuz", "float8e5m2fnuz", 20, 13},
    {"", "", 0, 9},
    {"f8_e8m0 float8e8m0", "float8e8m0", 24, 14},
}};

/// The dtypes that kernels work on, and that with_type() takes. Elements of the others, floats of one byte,
/// are widened to float32 first: see small_floats.hpp.
inline constexpr std::span kKernelDTypes = std::span(kDTypes).first<12>();

[[nodiscard]] constexpr bool has_kernels(DType dtype) {
  return static_cast<std::size_t>(dtype) < kKernelDTypes.size();
}

/// The dtype's row of kDTypes.
[[nodiscard]] constexpr const DTypeTraits& traits(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)];
}

[[nodiscard]] constexpr const DTypeCodes& codes_of(DType dtype) {
  return kDTypeCodes[static_cast<std::size_t>(dtype)];
}

/// Whether numpy lacks the dtype, and ml_dtypes adds it.
[[nodiscard]] constexpr bool is_foreign(DType dtype) {
  return traits(dtype).descr[0] == 'V' || traits(dtype).only_if_named;
}

/// Whether the dtype has fractions and NaN.
[[nodiscard]] constexpr bool is_floating(DType dtype) {
  return traits(dtype).kind == NumberKind::floating;
}

/// Whether float64 lacks some of the dtype's integers.
[[nodiscard]] constexpr bool is_long_integer(DType dtype) {
  return dtype == DType::int64 || dtype == DType::uint64;
}

/// Floats without a fraction are powers of two.
[[nodiscard]] constexpr bool has_zero(DType dtype) {
  return !is_floating(dtype) || traits(dtype).fraction_bits != 0;
}

/// The dtype called `name` ("float32"), or nothing.
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name) noexcept;

/// "float32", or with a byte order ">f4".
[[nodiscard]] std::string text_of(const OrderedDType& dtype);

/// What a word means that somebody types for a dtype.
struct DTypeWord {
  std::optional<OrderedDType> dtype{};
  std::string_view objection{};  ///< why it names none: "is int64 in numpy and int8 elsewhere"
};

/// The dtype of a name of clipper, numpy, torch, safetensors or ONNX: "float32", "<f4", "torch.half", "BF16",
/// "FLOAT16". Nothing for unknown words, and only an objection for a word that names different dtypes in
/// different programs or a byte order other than that of numpy's usual files.
[[nodiscard]] DTypeWord dtype_word(std::string_view word);

/// A number of any size and precision: (-1)^negative * 0.DIGITS * 10^exponent, an infinity or NaN. Convert an
/// integer, float or double to it, or call parse_number(). Owns its digits.
struct Number {
  enum class Kind : std::uint8_t { finite, infinite, nan };

  Kind kind = Kind::finite;
  bool negative = false;      ///< true also for -0
  std::string digits{};       ///< decimal, without leading and trailing zeros; empty for zero
  std::int64_t exponent = 0;  ///< 0 for zero

  /// Zero.
  Number() = default;

  // NOLINTBEGIN(google-explicit-constructor): the conversion is exact.

  /// The exact value, also of infinities and NaN. The double `0.1` is not exactly 0.1; parse_number("0.1")
  /// is.
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

/// The number that `text` spells, or nothing if `text` is not a number: decimal ("-12", ".5", "1e-3", "5."),
/// hexadecimal floating point ("0x1.8p3"), or "inf", "infinity", "nan" in upper or lower case, each with an
/// optional sign. White space is not allowed, the locale does not matter, and the length is not limited.
[[nodiscard]] std::optional<Number> parse_number(std::string_view text);

/// The order of the values; -0 equals 0. NaN is unordered.
[[nodiscard]] std::partial_ordering operator<=>(const Number& a, const Number& b);
[[nodiscard]] bool operator==(const Number& a, const Number& b);

/// Returns `f.template operator()<T>()`, where T is the C++ type of the dtype's elements. The dtype must be
/// one of kKernelDTypes.
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
    default: break;
  }
  __builtin_unreachable();
}

/// The bits of one element of any dtype, zero-extended. An integer value, so it does not depend on the
/// machine's byte order.
using ElementBits = std::uint64_t;

/// The unsigned integer of `Size` bytes: 1, 2, 4 or 8.
template <std::size_t Size>
using UnsignedOfSize =
    std::conditional_t<Size == 1, std::uint8_t,
                       std::conditional_t<Size == 2, std::uint16_t,
                                          std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

/// Returns `f.template operator()<Size>()` for a size in bytes of elements.
template <class F>
decltype(auto) with_size(std::size_t size, F&& f) {
  switch (size) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 4: return f.template operator()<4>();
    default: return f.template operator()<8>();
  }
}

/// The bits of an element, NaN payloads included; from_bits<T>() is the inverse.
template <class T>
[[nodiscard]] constexpr ElementBits to_bits(T value) noexcept {
  return std::bit_cast<UnsignedOfSize<sizeof(T)>>(value);
}

/// The element with these bits. T is the C++ type of the element's dtype; bits beyond its size are dropped.
template <class T>
[[nodiscard]] constexpr T from_bits(ElementBits bits) noexcept {
  return std::bit_cast<T>(static_cast<UnsignedOfSize<sizeof(T)>>(bits));
}

/// A number as an element of a dtype: from_bits<double>(scalar.bits) is its value if the dtype is float64.
struct Scalar {
  DType dtype = DType::float32;
  ElementBits bits = 0;

  friend bool operator==(const Scalar&, const Scalar&) = default;
};

}  // namespace clipper
#pragma GCC visibility pop
