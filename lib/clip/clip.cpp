#include "clip/clip.hpp"

#include <algorithm>

#include "clip/clip_edges.hpp"
#include "clip/input_range.hpp"
#include "clip/kernel.hpp"
#include "clip/parameters.hpp"
#include "clip/scale_float32.hpp"
#include "clip/scale_integers.hpp"
#include "element/comparable.hpp"
#include "element/meaning.hpp"

namespace clipper {
namespace {

template <class T>
std::optional<std::size_t> find_nan_in(const T* elements, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 4096;  // elements
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const T* const block = elements + begin;
    const std::size_t length = std::min(kBlock, count - begin);
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) any |= is_nan(block[i]);
    if (any)
      return begin + static_cast<std::size_t>(
                         std::find_if(block, block + length, [](T x) { return is_nan(x); }) - block);
  }
  return std::nullopt;
}

bool are_exchanged(const Operation& bounds) noexcept {
  return with_type(bounds.dtype, [&]<class T>() {
    return comparable(from_bits<T>(bounds.lo)) > comparable(from_bits<T>(bounds.hi));
  });
}

/// Clips dates or durations: as integers, and then NaT again as a NaN.
ElementCounts clip_ticks(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
                         SimdLevel level) noexcept {
  Operation integers = operation;
  integers.has_nat = false;
  integers.nan.reset();
  const auto replacement = from_bits<std::int64_t>(operation.nan.value_or(to_bits(kNaT)));
  return for_each_block<Input::read_again>(
      operation, in, out, count,
      [&](std::size_t /*done*/, const std::byte* from, std::byte* to, std::size_t length) {
        ElementCounts counts = clip_and_count(integers, from, to, length, level);
        const auto* const elements = reinterpret_cast<const std::int64_t*>(from);
        auto* const results = reinterpret_cast<std::int64_t*>(to);
        for (std::size_t i = 0; i < length; ++i) {
          const bool is_nat = elements[i] == kNaT;
          counts.nan += is_nat ? 1 : 0;
          counts.raised -= is_nat && results[i] != kNaT ? 1 : 0;
          results[i] = is_nat ? replacement : results[i];
        }
        return counts;
      });
}

}  // namespace

void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept {
  if (operation.has_nat)
    clip_ticks(operation, in, out, count, level);
  else if (may_have_edges(operation))
    clip_edges(operation, nullptr, in, out, count, level, Counting::off);
  else if (!scales_integers(operation))
    clip_with<Counting::off>(operation, NoVectors{}, in, out, count, level);
  else if (traits(operation.dtype).size != 2 || level == SimdLevel::baseline ||
           !scale_16_bits(operation, in, out, count))
    scale_integers(operation, NoVectors{}, in, out, count, level);
}

ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, SimdLevel level) noexcept {
  if (operation.has_nat) return clip_ticks(operation, in, out, count, level);
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

std::optional<std::size_t> find_nan(DType dtype, const std::byte* elements, std::size_t count) noexcept {
  return with_type(dtype, [=]<class T>() -> std::optional<std::size_t> {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    return find_nan_in(reinterpret_cast<const T*>(elements), count);
  });
}

std::optional<std::size_t> find_nan(const Operation& operation, const std::byte* elements,
                                    std::size_t count) noexcept {
  if (!operation.has_nat) return find_nan(operation.dtype, elements, count);
  const auto* const ticks = reinterpret_cast<const std::int64_t*>(elements);
  const auto* const found = std::find(ticks, ticks + count, kNaT);
  return found == ticks + count ? std::nullopt : std::optional(static_cast<std::size_t>(found - ticks));
}

}  // namespace clipper
