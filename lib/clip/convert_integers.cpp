#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "clip/convert.hpp"
#include "clip/convert_loops.hpp"
#include "clip/tile.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

/// x * scale + bias.
template <class T>
constexpr Wide wide_scaled(T x, SignedInteger scale, SignedInteger bias) noexcept {
  const Wide from = Wide::of(Int128{x});
  const UInt128 product = from.magnitude * scale.magnitude;
  const bool negative = from.negative != scale.negative;
  if (negative == bias.negative) return Wide::of(negative, product + bias.magnitude);
  return product >= bias.magnitude ? Wide::of(negative, product - bias.magnitude)
                                   : Wide::of(bias.negative, bias.magnitude - product);
}

/// An element of To, and whether it is a NaN, because a dtype without infinity does not have the number.
template <class To>
struct Stored {
  To element;
  bool is_beyond;
};

template <class To>
Stored<To> stored_element(DType to, ElementBits element) noexcept {
  const bool is_finite = has_kernels(to) || std::isfinite(widened(to, element));
  return {from_bits<To>(element), !is_finite && !traits(to).has_infinity};
}

/// The integer as it is stored. Saturation makes what is below the range the lowest element.
template <class To>
Stored<To> stored_integer(const Operation& operation, const Wide& x) noexcept {
  const Cast& cast = *operation.cast;
  const WideBounds& range = cast.wide;
  if (cast.saturates && x < range.lowest)
    return stored_element<To>(operation.to, lowest_finite(operation.to));
  const Wide y = cast.saturates ? std::min(x, range.highest) : x;
  if (has_kernels(operation.to)) return {stored<To>(y, bits_of(cast.zero_point)), false};
  return stored_element<To>(operation.to, stored_narrowed(operation.to, y).first);
}

/// The bounds of the element at `i`. Where lo exceeds hi, both are the one that the element becomes.
template <class From>
std::pair<WideBound, WideBound> bounds_at(const WideBounds& bounds, const Operation& operation,
                                          const Operands& operands, std::size_t i) noexcept {
  const auto bound = [&](Slot wide, const WideBound& number, bool varies, Slot slot, ElementBits bits) {
    if (operands[wide].data != nullptr || !varies) return PerElement(operands[wide], number)[i];
    const Wide x = Wide::of(Int128{PerElement(operands[slot], from_bits<From>(bits))[i]});
    return WideBound{x, x};
  };
  WideBound lo = bound(Slot::wide_lo, bounds.lo, bounds.lo_varies, Slot::lo, operation.lo);
  WideBound hi = bound(Slot::wide_hi, bounds.hi, bounds.hi_varies, Slot::hi, operation.hi);
  if (lo.ceil > hi.ceil || lo.floor > hi.floor) (bounds.min_wins ? hi : lo) = bounds.min_wins ? lo : hi;
  return {lo, hi};
}

/// Counts what becomes of g, also if a fraction of the bound is cut off and makes it g again.
void count_element(const Operation& operation, const Wide& g, bool is_below, bool is_above, bool is_replaced,
                   ElementCounts& counts) noexcept {
  const Cast& cast = *operation.cast;
  const WideBounds& range = cast.wide;
  const bool is_too_low = !is_below && !is_above && g < range.lowest;
  const bool is_too_high = !is_below && !is_above && g > range.highest;
  const bool may_be_infinite = traits(operation.to).has_infinity && !cast.saturates;
  counts.raised += is_below || (cast.saturates && is_too_low) ? 1 : 0;
  counts.lowered += is_above || (cast.saturates && is_too_high) ? 1 : 0;
  counts.replaced += is_replaced ? 1 : 0;
  counts.became_infinite += may_be_infinite && (is_too_low || is_too_high) ? 1 : 0;
}

/// What the integer exceeds the double by that it became; 0 for far greater numbers. 2^128 wraps to 0.
double rest_of(const Wide& x, double head) noexcept {
  const double of_head = std::fabs(head);
  if (!(of_head <= 0x1p128)) return 0;
  const UInt128 near = of_head < 0x1p128 ? static_cast<UInt128>(of_head) : 0;
  const auto magnitude = static_cast<Int128>(x.magnitude - near);
  return static_cast<double>(x.negative ? -magnitude : magnitude);
}

/// That of a bound, unless it is a fraction.
double rest_of(const WideBound& bound, double head) noexcept {
  return bound.ceil == bound.floor ? rest_of(bound.ceil, head) : 0;
}

template <class To>
Stored<To> stored_bound(const Operation& operation, const WideBound& bound) noexcept {
  return bound.result ? stored_element<To>(operation.to, *bound.result)
                      : stored_integer<To>(operation, bound.ceil);
}

/// One element after the other. To: std::uint8_t for a dtype without kernels.
template <class From, class To>
Converted convert_all(const Operation& operation, const Operands& operands, const std::byte* in,
                      std::byte* out, std::size_t count, double* rests) noexcept {
  const auto all_scale = SignedInteger::of(operation.scale);
  const auto all_bias = SignedInteger::of(operation.bias);
  const PerElement scale(operands[Slot::scale], all_scale);
  const PerElement bias(operands[Slot::bias], all_bias);
  const Cast& cast = *operation.cast;
  constexpr static ElementBits kNone = 0;
  const PerElement below(operands[Slot::below], cast.below ? *cast.below : kNone);
  const PerElement above(operands[Slot::above], cast.above ? *cast.above : kNone);
  const WideBounds& range = cast.wide;
  Converted converted;
  ElementCounts& counts = converted.counts;
  WideBound lo = range.lo;
  WideBound hi = range.hi;
  for (std::size_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, in + i * sizeof(x), sizeof(x));
    const Wide g = wide_scaled(x, scale[i], bias[i]);
    if (range.lo_varies || range.hi_varies) std::tie(lo, hi) = bounds_at<From>(range, operation, operands, i);
    const bool is_below = g < lo.ceil;
    const bool is_above = !is_below && g > hi.floor;
    std::optional<ElementBits> replacement;
    if (is_below && cast.below) replacement = below[i];
    if (is_above && cast.above) replacement = above[i];
    count_element(operation, g, is_below, is_above, replacement.has_value(), counts);
    auto [result, is_beyond] = replacement ? Stored<To>{from_bits<To>(*replacement), false}
                               : is_below  ? stored_bound<To>(operation, lo)
                               : is_above  ? stored_bound<To>(operation, hi)
                                           : stored_integer<To>(operation, g);
    if (is_beyond && !converted.first_beyond) converted.first_beyond = i;
    if constexpr (sizeof(From) == sizeof(To))
      counts.changed |= operation.from != operation.to || to_bits(result) != to_bits(x);
    else
      counts.changed = true;
    if (out != nullptr) std::memcpy(out + i * sizeof(result), &result, sizeof(result));
    if constexpr (std::is_same_v<To, double>)
      if (rests != nullptr)
        rests[i] = replacement ? 0
                   : is_below  ? rest_of(lo, result)
                   : is_above  ? rest_of(hi, result)
                               : rest_of(g, result);
  }
  return converted;
}

}  // namespace

Converted convert_integers(const Operation& operation, const Operands& operands, const std::byte* in,
                           std::byte* out, std::size_t count, double* rests) noexcept {
  const DType to = has_kernels(operation.to) ? operation.to : DType::uint8;
  return with_type(to, [&]<class To>() {
    return operation.from == DType::int64
               ? convert_all<std::int64_t, To>(operation, operands, in, out, count, rests)
               : convert_all<std::uint64_t, To>(operation, operands, in, out, count, rests);
  });
}

namespace {

constexpr std::size_t kClippedBlock = 4096;  // bytes, which fit the first-level cache beside their results

/// The clip of the cast, of elements of `from`: with the bounds, and with the range of `to`.
template <class From, class Working>
std::optional<Operation> clip_of(const Operation& operation) noexcept {
  using Limits = std::numeric_limits<From>;
  auto lo = std::max(from_bits<Working>(operation.lo), static_cast<Working>(Limits::lowest()));
  auto hi = std::min(from_bits<Working>(operation.hi), static_cast<Working>(Limits::max()));
  if (operation.cast->saturates) {
    lo = std::max(lo, from_bits<Working>(operation.cast->lowest));
    hi = std::min(hi, from_bits<Working>(operation.cast->highest));
  }
  if (lo > hi) return std::nullopt;
  return clip_operation(operation.from, to_bits(static_cast<From>(lo)), to_bits(static_cast<From>(hi)));
}

std::optional<Operation> native_clip(const Operation& operation) noexcept {
  const Cast& cast = *operation.cast;
  if (is_floating(operation.from) || is_floating(operation.dtype) || !has_kernels(operation.to) ||
      operation.from == operation.to || operation.arithmetic != Arithmetic::none || operation.normalization ||
      operation.has_nat || cast.replaces() || cast.zero_point.magnitude != 0)
    return std::nullopt;
  return with_type(operation.from, [&]<class From>() {
    return with_working_type(operation.dtype, [&]<class Working>() -> std::optional<Operation> {
      if constexpr (std::is_integral_v<From> && std::is_integral_v<Working> && kLoads<From, Working>)
        return clip_of<From, Working>(operation);
      return std::nullopt;
    });
  });
}

}  // namespace

bool is_native(const Operation& operation) noexcept {
  return operation.cast && native_clip(operation).has_value();
}

std::optional<Converted> convert_native(const Operation& operation, const std::byte* in, std::byte* out,
                                        std::size_t count, Counting counting, SimdLevel level) noexcept {
  const std::optional<Operation> clipping = native_clip(operation);
  if (!clipping) return std::nullopt;
  const std::size_t in_size = traits(operation.from).size;
  const std::size_t out_size = traits(operation.to).size;
  const bool overlaps = overlap(in, count * in_size, out, count * out_size);
  const bool has_block = counting == Counting::on || overlaps;
  const std::size_t length = has_block ? kClippedBlock / in_size : std::max<std::size_t>(count, 1);
  alignas(64) std::array<std::byte, kClippedBlock> block;
  Converted result;
  for (std::size_t done = 0; done < count; done += length) {
    const std::size_t of_block = std::min(length, count - done);
    const std::byte* elements = in + done * in_size;
    if (counting == Counting::on) {
      result.counts += clip_and_count(*clipping, elements, block.data(), of_block, level);
      elements = block.data();
    } else if (overlaps) {
      elements = static_cast<std::byte*>(std::memcpy(block.data(), elements, of_block * in_size));
    }
    if (out == nullptr) continue;
    with_type(operation.from, [&]<class From>() {
      if constexpr (std::is_integral_v<From>)
        static_cast<void>(clip_and_store(level, operation.to, elements, out + done * out_size,
                                         from_bits<From>(clipping->lo), from_bits<From>(clipping->hi),
                                         of_block));
    });
  }
  result.counts.changed = count != 0;
  return result;
}

}  // namespace clipper
