#include "clip/clip.hpp"

#include <algorithm>

#include "clip/byte_table.hpp"
#include "clip/clip_edges.hpp"
#include "clip/input_range.hpp"
#include "clip/kernel.hpp"
#include "clip/parameters.hpp"
#include "clip/scale_integers.hpp"
#include "element/byte_order.hpp"
#include "element/comparable.hpp"

namespace clipper {
namespace {

template <Byteswap kSwap, class T>
std::optional<std::size_t> find_nan_in(const T* elements, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 4096;  // elements
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const T* const block = elements + begin;
    const std::size_t length = std::min(kBlock, count - begin);
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) any |= is_nan(byteswap_if<kSwap>(block[i]));
    if (any)
      return begin +
             static_cast<std::size_t>(
                 std::find_if(block, block + length, [](T x) { return is_nan(byteswap_if<kSwap>(x)); }) -
                 block);
  }
  return std::nullopt;
}

bool are_exchanged(const Operation& bounds) noexcept {
  return with_type(bounds.dtype, [&]<class T>() {
    return comparable(from_bits<T>(bounds.lo)) > comparable(from_bits<T>(bounds.hi));
  });
}

/// scale_integers() of each of the elements of 8 bits.
ByteTable table_of(const Operation& operation, SimdLevel level) noexcept {
  ByteTable table;
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::byte>(i);
  scale_integers(operation, NoVectors{}, table.data(), table.data(), table.size(), level);
  return table;
}

}  // namespace

void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept {
  if (may_have_edges(operation))
    clip_edges(operation, nullptr, in, out, count, level, Counting::off);
  else if (!scales_integers(operation))
    clip_with<Counting::off>(operation, NoVectors{}, in, out, count, level);
  else if (traits(operation.dtype).size == 1)
    look_up(table_of(operation, level), in, out, count, byte_lookups(level).back());
  else
    scale_integers(operation, NoVectors{}, in, out, count, level);
}

ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, SimdLevel level) noexcept {
  if (may_have_edges(operation)) return clip_edges(operation, nullptr, in, out, count, level, Counting::on);
  const bool exchanged = are_exchanged(operation);
  const bool scales = scales_integers(operation);
  if (!exchanged && !scales) return clip_and_replace_nan(operation, NoVectors{}, in, out, count, level);
  // These cases are too rare for kernels of their own: each block is clipped twice, the first time to count.
  // With lo > hi elements move to hi, as if both bounds were hi; the sign that a zero takes from hi is no
  // move.
  Operation counted = operation;
  if (exchanged) counted.lo = operation.hi;
  counted.nan.reset();
  std::optional<InputRange> range;
  if (scales) counted = range.emplace(counted).operation();
  return for_each_block<Input::read_again>(
      operation, in, out, count,
      [&](std::size_t /*done*/, const std::byte* from, std::byte* to, std::size_t length) {
        const ElementCounts counts = clip_with<Counting::on>(counted, NoVectors{}, from, to, length, level);
        clip(operation, from, to, length, level);
        return range ? range->counts(counts, length) : counts;
      });
}

std::optional<std::size_t> find_nan(DType dtype, ByteOrder order, const std::byte* elements,
                                    std::size_t count) noexcept {
  return with_type(dtype, [=]<class T>() -> std::optional<std::size_t> {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    const T* const typed = reinterpret_cast<const T*>(elements);
    return order == kNativeOrder ? find_nan_in<Byteswap::no>(typed, count)
                                 : find_nan_in<Byteswap::yes>(typed, count);
  });
}

}  // namespace clipper
