#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <limits>
#include <map>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "element/small_floats.hpp"

/// The naive oracle of lib/clip: one element at a time, by other methods than the kernels. Floats are split
/// into their fields and compared as doubles, which hold all of them exactly; a half is rounded by a search
/// among all halves. An element that is kept stays an integer of its bits, so no register can quiet a
/// signalling NaN. Compile with -ffp-contract=off.
namespace clipper::reference {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

inline unsigned bit_count(DType dtype) {
  return static_cast<unsigned>(8 * traits(dtype).size);
}

inline ElementBits all_ones(DType dtype) {
  return ~ElementBits{0} >> (64 - bit_count(dtype));
}

/// The fields of a floating dtype.
inline unsigned fraction_bits(DType dtype) {
  return static_cast<unsigned>(traits(dtype).fraction_bits);
}

/// 0 if elements have no sign.
inline ElementBits sign_bit(DType dtype) {
  return !has_kernels(dtype) ? float8_of(dtype).sign() : ElementBits{1} << (bit_count(dtype) - 1);
}

/// The bits of +infinity: the exponent field. In a dtype without infinity, the highest number.
inline ElementBits infinity(DType dtype) {
  if (!has_kernels(dtype))
    return float8_of(dtype).has_infinity() ? float8_of(dtype).beyond : float8_of(dtype).highest;
  return (sign_bit(dtype) - 1) >> fraction_bits(dtype) << fraction_bits(dtype);
}

inline bool is_nan(DType dtype, ElementBits bits) {
  if (!has_kernels(dtype)) return std::isnan(widened(dtype, bits));
  return is_floating(dtype) && (bits & ~sign_bit(dtype)) > infinity(dtype);
}

/// The value of a pattern without sign bit. For infinity, the value that would follow the largest finite one.
inline double magnitude(DType dtype, ElementBits bits) {
  const int width = static_cast<int>(fraction_bits(dtype));
  const int bias = static_cast<int>(infinity(dtype) >> width) / 2;
  const int exponent = static_cast<int>(bits >> width);
  const ElementBits implicit_one = ElementBits{1} << width;
  const ElementBits fraction = bits & (implicit_one - 1);
  if (exponent == 0) return std::ldexp(static_cast<double>(fraction), 1 - bias - width);
  return std::ldexp(static_cast<double>(fraction | implicit_one), exponent - bias - width);
}

/// The exact value of a floating element; NaN loses its payload. float8_test compares widened() with
/// ml_dtypes.
inline double value(DType dtype, ElementBits bits) {
  if (is_nan(dtype, bits)) return std::numeric_limits<double>::quiet_NaN();
  if (!has_kernels(dtype)) return widened(dtype, bits);
  const ElementBits unsigned_bits = bits & ~sign_bit(dtype);
  const double size = unsigned_bits == infinity(dtype) ? std::numeric_limits<double>::infinity()
                                                       : magnitude(dtype, unsigned_bits);
  return (bits & sign_bit(dtype)) != 0 ? -size : size;
}

/// A float16, bfloat16 or float32 element as a float; NaN keeps its payload.
inline float as_float(DType dtype, ElementBits bits) {
  if (!is_nan(dtype, bits)) return static_cast<float>(value(dtype, bits));
  const ElementBits sign = (bits & sign_bit(dtype)) != 0 ? sign_bit(DType::float32) : 0;
  const ElementBits fraction = bits & ~sign_bit(dtype) & ~infinity(dtype);
  return from_bits<float>(sign | infinity(DType::float32) | fraction << (23 - fraction_bits(dtype)));
}

/// All values from 0 to the one that would follow the largest, in the order of their patterns.
inline std::vector<double> magnitudes(DType dtype) {
  std::vector<double> result;
  for (ElementBits bits = 0; bits <= infinity(dtype); ++bits) result.push_back(magnitude(dtype, bits));
  return result;
}

/// The element of 16 bits nearest to a float, ties to even. NaN becomes quiet and keeps its sign and
/// the upper bits of its payload.
inline ElementBits nearest_half(DType dtype, float number) {
  static std::map<DType, std::vector<double>> known;
  std::vector<double>& values = known[dtype];
  if (values.empty()) values = magnitudes(dtype);

  const ElementBits bits = to_bits(number);
  const ElementBits sign = (bits & sign_bit(DType::float32)) != 0 ? sign_bit(dtype) : 0;
  if (is_nan(DType::float32, bits)) {
    const ElementBits payload = (bits & ((1u << 23) - 1)) >> (23 - fraction_bits(dtype));
    return sign | infinity(dtype) | ElementBits{1} << (fraction_bits(dtype) - 1) | payload;
  }
  const double size = std::fabs(static_cast<double>(number));
  const auto above = std::upper_bound(values.begin(), values.end(), size);
  if (above == values.end()) return sign | infinity(dtype);
  const auto upper = static_cast<ElementBits>(above - values.begin());
  const ElementBits lower = upper - 1;
  const double middle = (values[lower] + values[upper]) / 2;
  if (size == middle) return sign | (lower % 2 == 0 ? lower : upper);
  return sign | (size < middle ? lower : upper);
}

/// Clips g, given as a number and as an element.
inline ElementBits clip_floating(const Operation& op, double g, ElementBits g_bits) {
  if (std::isnan(g)) return op.nan.value_or(g_bits);
  const double lo = value(op.dtype, op.lo);
  const double hi = value(op.dtype, op.hi);
  if (g < lo) return lo > hi ? op.hi : op.lo;
  return g > hi ? op.hi : g_bits;
}

/// The element in an order in which -0 is less than +0.
inline std::pair<double, bool> total_order(DType dtype, ElementBits bits) {
  return {value(dtype, bits), (bits & sign_bit(dtype)) == 0};
}

inline bool is_zero(DType dtype, ElementBits bits) {
  return value(dtype, bits) == 0;
}

/// Whether a bound is NaN and therefore every element that is not.
inline bool is_poisoned(const Operation& op) {
  return op.poisons && (is_nan(op.dtype, op.lo) || is_nan(op.dtype, op.hi));
}

/// StableHLO's minimum(maximum(x, lo), hi), where -0 is less than +0.
inline ElementBits clip_ordered(const Operation& op, ElementBits x) {
  const ElementBits raised = total_order(op.dtype, x) < total_order(op.dtype, op.lo) ? op.lo : x;
  return total_order(op.dtype, op.hi) < total_order(op.dtype, raised) ? op.hi : raised;
}

/// TOSA's apply_min(apply_max(x, lo), hi): the lower one gives x, the upper one hi, if both are equal.
inline ElementBits clip_upper(const Operation& op, ElementBits x) {
  const ElementBits raised = value(op.dtype, x) >= value(op.dtype, op.lo) ? x : op.lo;
  return value(op.dtype, raised) < value(op.dtype, op.hi) ? raised : op.hi;
}

/// A NaN or what replaces it, of which only a zero may still change.
inline ElementBits clip_nan(const Operation& op, ElementBits x) {
  const ElementBits y = op.nan.value_or(x);
  if (!is_zero(op.dtype, y)) return y;
  if (op.zero_tie == ZeroTie::upper && is_zero(op.dtype, op.hi)) return op.hi;
  if (op.zero_tie == ZeroTie::ordered && op.hi == sign_bit(op.dtype)) return op.hi;
  return op.zero_tie == ZeroTie::ordered && op.lo == 0 ? op.lo : y;
}

/// The rules of Operation::zero_tie and Operation::poisons.
inline ElementBits clip_by_system(const Operation& op, ElementBits x) {
  if (is_nan(op.dtype, x)) return clip_nan(op, x);
  if (is_poisoned(op)) return is_nan(op.dtype, op.lo) ? op.lo : op.hi;
  if (op.zero_tie == ZeroTie::ordered) return clip_ordered(op, x);
  if (op.zero_tie == ZeroTie::upper) return clip_upper(op, x);
  return clip_floating(op, value(op.dtype, x), x);
}

/// g in the precision of the operation.
inline double scaled_floating(const Operation& op, ElementBits element) {
  if (op.arithmetic == Arithmetic::none) return value(op.dtype, element);
  if (op.arithmetic == Arithmetic::float32) {
    const float product = as_float(op.dtype, element) * static_cast<float>(op.scale.head);
    return static_cast<double>(product + static_cast<float>(op.bias.head));
  }
  const double product = from_bits<double>(element) * op.scale.head;
  return product + op.bias.head;
}

inline ElementBits clip_floating(const Operation& op, ElementBits element) {
  if (op.arithmetic != Arithmetic::none && is_nan(op.dtype, element))
    return op.nan.value_or(element | ElementBits{1} << (fraction_bits(op.dtype) - 1));  // made quiet
  if (op.arithmetic == Arithmetic::float32) {
    const float product = as_float(op.dtype, element) * static_cast<float>(op.scale.head);
    const float g = product + static_cast<float>(op.bias.head);
    const ElementBits g_bits = op.dtype == DType::float32 ? to_bits(g) : nearest_half(op.dtype, g);
    return clip_floating(op, static_cast<double>(g), g_bits);
  }
  if (op.arithmetic == Arithmetic::float64) {
    const double product = from_bits<double>(element) * op.scale.head;
    const double g = product + op.bias.head;
    return clip_floating(op, g, to_bits(g));
  }
  if (op.zero_tie != ZeroTie::element || op.poisons) return clip_by_system(op, element);
  return clip_floating(op, value(op.dtype, element), element);
}

inline Int128 integer(DType dtype, ElementBits bits) {
  const bool is_signed = traits(dtype).kind == NumberKind::signed_integer;
  const bool negative = is_signed && (bits & sign_bit(dtype)) != 0;
  return negative ? Int128{bits} - (Int128{1} << bit_count(dtype)) : Int128{bits};
}

/// Larger than every element and every bound, and exact as a double.
inline constexpr Int128 kFar = Int128{1} << 100;

inline Int128 saturated(double whole_number) {
  const auto far = static_cast<double>(kFar);
  return static_cast<Int128>(std::clamp(whole_number, -far, far));
}

/// x * scale + bias, saturated. In sign and magnitude, because the largest magnitude, (2^64 - 1) * (2^64 - 1)
/// + (2^64 - 1), fits an unsigned integer of 128 bits, but no signed one.
inline Int128 exact_sum(Int128 x, SignedInteger scale, SignedInteger bias) {
  const UInt128 product = static_cast<UInt128>(x < 0 ? -x : x) * scale.magnitude;
  const bool negative = (x < 0) != scale.negative;
  const UInt128 far = static_cast<UInt128>(kFar);
  if (negative == bias.negative) {
    const auto size = static_cast<Int128>(std::min(product + bias.magnitude, far));
    return negative ? -size : size;
  }
  const bool product_wins = product > bias.magnitude;
  const UInt128 size = product_wins ? product - bias.magnitude : bias.magnitude - product;
  const auto saturated_size = static_cast<Int128>(std::min(size, far));
  return (product_wins ? negative : bias.negative) ? -saturated_size : saturated_size;
}

/// The g of an integer: between these neighbouring integers, or equal to both.
struct Between {
  Int128 floor;
  Int128 ceil;
};

inline Between scaled_integer(const Operation& op, ElementBits element) {
  const Int128 x = integer(op.dtype, element);
  if (op.arithmetic == Arithmetic::float64) {
    const double product = static_cast<double>(x) * op.scale.head;
    const double g = product + op.bias.head;
    return {saturated(std::floor(g)), saturated(std::ceil(g))};
  }
  const Int128 g = op.arithmetic == Arithmetic::integer
                       ? exact_sum(x, SignedInteger::of(op.scale), SignedInteger::of(op.bias))
                       : x;
  return {g, g};
}

inline ElementBits clip_integer(const Operation& op, ElementBits element) {
  const Between g = scaled_integer(op, element);
  const Int128 lo = integer(op.dtype, op.lo);
  const Int128 hi = integer(op.dtype, op.hi);
  if (g.floor < lo) return lo > hi ? op.hi : op.lo;
  if (g.ceil > hi) return op.hi;
  return static_cast<ElementBits>(g.floor < 0 ? g.ceil : g.floor) & all_ones(op.dtype);
}

/// The result for one element.
inline ElementBits clip(const Operation& op, ElementBits element) {
  return is_floating(op.dtype) ? clip_floating(op, element) : clip_integer(op, element);
}

inline std::vector<ElementBits> clip(const Operation& op, std::span<const ElementBits> elements) {
  std::vector<ElementBits> result;
  result.reserve(elements.size());
  for (const ElementBits element : elements) result.push_back(clip(op, element));
  return result;
}

inline void count_floating(const Operation& op, ElementBits element, ElementCounts& counts) {
  const double g = scaled_floating(op, element);
  const double hi = value(op.dtype, op.hi);
  counts.nan += std::isnan(g) ? 1 : 0;
  if (is_poisoned(op)) return;
  counts.raised += g < std::min(value(op.dtype, op.lo), hi) ? 1 : 0;  // lo > hi gives hi
  counts.lowered += g > hi ? 1 : 0;
}

inline void count_integer(const Operation& op, ElementBits element, ElementCounts& counts) {
  const Between g = scaled_integer(op, element);
  const Int128 hi = integer(op.dtype, op.hi);
  counts.raised += g.floor < std::min(integer(op.dtype, op.lo), hi) ? 1 : 0;
  counts.lowered += g.ceil > hi ? 1 : 0;
}

/// The counts of an operation on `elements` with the result `result`.
inline ElementCounts count(const Operation& op, std::span<const ElementBits> elements,
                           std::span<const ElementBits> result) {
  ElementCounts counts;
  for (const ElementBits element : elements)
    is_floating(op.dtype) ? count_floating(op, element, counts) : count_integer(op, element, counts);
  counts.changed = !std::equal(elements.begin(), elements.end(), result.begin(), result.end());
  return counts;
}

/// One element in memory.
inline void store(DType dtype, ByteOrder order, ElementBits bits, std::byte* to) {
  const std::size_t size = traits(dtype).size;
  for (std::size_t i = 0; i < size; ++i)
    to[order == ByteOrder::little ? i : size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
}

/// Elements as bytes of a file.
inline std::vector<std::byte> in_file(DType dtype, ByteOrder order,
                                      const std::vector<ElementBits>& elements) {
  const std::size_t size = traits(dtype).size;
  std::vector<std::byte> bytes(elements.size() * size + 1);  // not null, even without elements
  for (std::size_t i = 0; i < elements.size(); ++i) store(dtype, order, elements[i], bytes.data() + i * size);
  return bytes;
}

inline std::vector<std::byte> in_memory(DType dtype, const std::vector<ElementBits>& elements) {
  return in_file(dtype, kNativeOrder, elements);
}

inline ElementBits load(DType dtype, ByteOrder order, const std::byte* from) {
  const std::size_t size = traits(dtype).size;
  ElementBits bits = 0;
  for (std::size_t i = 0; i < size; ++i)
    bits |= std::to_integer<ElementBits>(from[order == ByteOrder::little ? i : size - 1 - i]) << (8 * i);
  return bits;
}

/// The bits of an element with all digits: "0x7c01".
inline std::string text(DType dtype, ElementBits bits) {
  std::ostringstream out;
  out << "0x" << std::hex << std::setfill('0') << std::setw(static_cast<int>(2 * traits(dtype).size)) << bits;
  return out.str();
}

inline std::string text(const ElementCounts& counts) {
  std::ostringstream out;
  out << counts.raised << " raised, " << counts.lowered << " lowered, " << counts.nan << " NaN, "
      << (counts.changed ? "changed" : "not changed");
  return out.str();
}

inline std::ostream& operator<<(std::ostream& out, SignedInteger number) {
  return out << (number.negative ? "-" : "") << number.magnitude;
}

/// An operation as one line of text.
inline std::string text(const Operation& op) {
  std::ostringstream out;
  out << traits(op.dtype).name << " lo " << text(op.dtype, op.lo) << " hi " << text(op.dtype, op.hi);
  if (op.nan) out << " nan " << text(op.dtype, *op.nan);
  out << (op.zero_tie == ZeroTie::element ? ""
          : op.zero_tie == ZeroTie::upper ? " upper"
                                          : " ordered")
      << (op.poisons ? " poisons" : "");
  switch (op.arithmetic) {
    case Arithmetic::none: break;
    case Arithmetic::float32: [[fallthrough]];
    case Arithmetic::float64: out << std::hexfloat << " * " << op.scale.head << " + " << op.bias.head; break;
    case Arithmetic::integer:
      out << " * " << SignedInteger::of(op.scale) << " + " << SignedInteger::of(op.bias);
      break;
  }
  return out.str();
}

}  // namespace clipper::reference
