#include "clip/convert_integers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "clip/parameters.hpp"
#include "clip/scaled_integer.hpp"
#include "clip/working_dtype.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

/// The result of integer arithmetic as it is stored, and whether a dtype without infinity does not have it.
/// `is_low`: saturation makes it the lowest element.
template <class To>
std::pair<To, bool> stored_integer(const Conversion& conversion, Wide y, bool is_low) noexcept {
  if (!is_float8(conversion.to)) return {stored<To>(y, bits_of(conversion.zero_point)), false};
  const auto [element, is_finite] = stored_float8(conversion.to, y);
  return {from_bits<To>(is_low ? lowest_finite(conversion.to) : element),
          !is_finite && !traits(conversion.to).has_infinity};
}

/// One element after the other. To: std::uint8_t for float8.
template <class From, class To>
Converted convert_all(const Conversion& conversion, const Operation& operation,
                      const ParameterVectors* vectors, const std::byte* in, std::byte* out,
                      std::size_t count) noexcept {
  const Conversion::WideBounds& bounds = conversion.wide;
  const bool swaps = conversion.order != kNativeOrder;
  const auto bound = [](const std::byte* varying, std::size_t i, const Wide& number) {
    return varying == nullptr ? number : Wide::of(Int128{reinterpret_cast<const From*>(varying)[i]});
  };
  const auto factor = [](const std::byte* varying, std::size_t i, Operation::Integer number) {
    return varying == nullptr ? number : reinterpret_cast<const Operation::Integer*>(varying)[i];
  };
  const ParameterVectors given = vectors == nullptr ? ParameterVectors{} : *vectors;
  Converted converted;
  ElementCounts& counts = converted.counts;
  for (std::size_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, in + i * sizeof(x), sizeof(x));
    const From native = swaps ? byteswap_if<Byteswap::yes>(x) : x;
    const Wide g = wide_scaled(native, factor(given.scale, i, operation.integer_scale),
                               factor(given.bias, i, operation.integer_bias));
    const Wide lo = bound(bounds.lo_varies ? given.lo : nullptr, i, bounds.lo);
    const Wide hi = bound(bounds.hi_varies ? given.hi : nullptr, i, bounds.hi);
    const Wide above_lo = std::max(g, conversion.saturates ? std::max(lo, bounds.lowest) : lo);
    const Wide y = std::min(above_lo, conversion.saturates ? std::min(hi, bounds.highest) : hi);
    counts.raised += y > g ? 1 : 0;
    counts.lowered += y < g ? 1 : 0;
    const bool is_below = conversion.below && g < lo;
    const bool is_above = conversion.above && g > hi;
    const bool is_low = conversion.saturates && std::max(g, lo) < bounds.lowest;
    auto [result, is_beyond] = stored_integer<To>(conversion, y, is_low);
    if (is_beyond && !is_below && !is_above && !converted.first_beyond) converted.first_beyond = i;
    if (is_below) result = from_bits<To>(*conversion.below);
    if (is_above) result = from_bits<To>(*conversion.above);
    counts.replaced += is_below || is_above ? 1 : 0;
    if (swaps) result = byteswap_if<Byteswap::yes>(result);
    if constexpr (sizeof(From) == sizeof(To))
      counts.changed |= conversion.from != conversion.to || to_bits(result) != to_bits(x);
    else
      counts.changed = true;
    if (out != nullptr) std::memcpy(out + i * sizeof(result), &result, sizeof(result));
  }
  return converted;
}

}  // namespace

Converted convert_integers(const Conversion& conversion, const Operation& operation,
                           const ParameterVectors* vectors, const std::byte* in, std::byte* out,
                           std::size_t count) noexcept {
  const DType to = is_float8(conversion.to) ? DType::uint8 : conversion.to;
  return with_type(to, [&]<class To>() {
    return conversion.from == DType::int64
               ? convert_all<std::int64_t, To>(conversion, operation, vectors, in, out, count)
               : convert_all<std::uint64_t, To>(conversion, operation, vectors, in, out, count);
  });
}

}  // namespace clipper
