#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "clip/bounds_rule.hpp"
#include "clip/clip.hpp"
#include "clip/rule.hpp"
#include "clip/scaled_rule.hpp"
#include "clip/tally.hpp"
#include "element/byte_order.hpp"
#include "simd/vector.hpp"

/// The loop over the vectors of elements in memory: a template over the rule, the byte order and the tally.
/// All of it must be inlined into a function compiled for the instruction set.
namespace clipper {

/// `count` elements to read and where to write them; in == out or no overlap.
template <class T>
struct InOut {
  const T* in;
  T* out;
  std::size_t count;
};

template <Byteswap kSwap, class T, Rule R, class AnyTally>
[[gnu::always_inline]] inline void clip_block(const R& rule, const InOut<T>& block,
                                              AnyTally& tally) noexcept {
  using V = typename R::Elements;
  constexpr std::size_t kLanes = sizeof(V) / sizeof(T);
  for (std::size_t i = 0; i != block.count; i += kLanes) {
    V x;
    std::memcpy(&x, block.in + i, sizeof(V));
    x = vector_byteswap_if<R::kBytes, kSwap, sizeof(T)>(x);
    V y = rule(x, tally);
    if constexpr (R::kCalculates) tally.compare(x, y);
    y = vector_byteswap_if<R::kBytes, kSwap, sizeof(T)>(y);
    std::memcpy(block.out + i, &y, sizeof(V));
  }
}

/// `padding` fills the last vector: NaN, or an integer within the bounds, in the byte order of the elements.
/// The tally does not count such an integer; padding NaNs are subtracted.
template <class AnyTally, Byteswap kSwap, class T, Rule R>
[[gnu::always_inline]] inline ElementCounts clip_all(const R& rule, const InOut<T>& all, T padding) noexcept {
  constexpr std::size_t kLanes = sizeof(typename R::Elements) / sizeof(T);
  const std::size_t rest = all.count % kLanes;
  const std::size_t whole = all.count - rest;
  std::array<T, kLanes> last;
  last.fill(padding);
  if (rest != 0) std::memcpy(last.data(), all.in + whole, rest * sizeof(T));

  // One loop over both ranges, so that the code inlined into it exists once.
  std::array<ElementCounts, 2> counts;
  const std::array<InOut<T>, 2> ranges{
      {{all.in, all.out, whole}, {last.data(), last.data(), rest == 0 ? 0 : kLanes}}};
  for (std::size_t i = 0; i < ranges.size(); ++i)
    for (InOut<T> left = ranges[i]; left.count != 0;) {
      const std::size_t vectors = std::min(left.count / kLanes, AnyTally::kMaxVectors);
      const std::size_t count = vectors * kLanes;
      AnyTally tally;
      clip_block<kSwap>(rule, InOut<T>{left.in, left.out, count}, tally);
      if constexpr (AnyTally::kCounts) tally.add_to(counts[i], vectors);
      left = {left.in + count, left.out + count, left.count - count};
    }

  if constexpr (AnyTally::kCounts) {
    if constexpr (!R::kCalculates)
      counts[0].changed =
          counts[0].raised != 0 || counts[0].lowered != 0 || (R::kReplacesNan && counts[0].nan != 0);
    if constexpr (!std::is_integral_v<T>) counts[1].nan -= rest == 0 ? 0 : kLanes - rest;
    counts[1].changed = rest != 0 && std::memcmp(last.data(), all.in + whole, rest * sizeof(T)) != 0;
  }
  if (rest != 0) std::memcpy(all.out + whole, last.data(), rest * sizeof(T));
  return counts[0] += counts[1];
}

// From an Operation to the loop.

template <Counting kCounting, Rule R>
using TallyIf = std::conditional_t<kCounting == Counting::on, Tally<R>, NoTally>;

template <std::size_t kBytes, Counting kCounting, Byteswap kSwap, NanElements kNan, class T>
[[gnu::always_inline]] inline ElementCounts clip_by_rule(const Operation& operation,
                                                         const InOut<T>& all) noexcept {
  const T lo = from_bits<T>(operation.lo);
  const T hi = from_bits<T>(operation.hi);
  const T nan = from_bits<T>(operation.nan.value_or(0));
  const T padding = std::is_integral_v<T> ? byteswap_if<kSwap>(hi) : from_bits<T>(~ElementBits{0});
  if constexpr (!std::is_integral_v<T>) {
    using Scaled = ScaledRule<kBytes, T, kNan>;
    if (operation.arithmetic != Arithmetic::none)
      return clip_all<TallyIf<kCounting, Scaled>, kSwap>(Scaled(operation, lo, hi, nan), all, padding);
  }
  using Unscaled = BoundsRule<kBytes, T, kNan>;
  return clip_all<TallyIf<kCounting, Unscaled>, kSwap>(Unscaled(lo, hi, nan), all, padding);
}

template <std::size_t kBytes, Counting kCounting, Byteswap kSwap, class T>
[[gnu::always_inline]] inline ElementCounts clip_ordered(const Operation& operation,
                                                         const InOut<T>& all) noexcept {
  if constexpr (!std::is_integral_v<T>)
    if (operation.nan) return clip_by_rule<kBytes, kCounting, kSwap, NanElements::replace>(operation, all);
  return clip_by_rule<kBytes, kCounting, kSwap, NanElements::keep>(operation, all);
}

/// Clips elements; ignores scale and bias of integers. With Counting::on it returns what it did; the counts
/// are wrong if lo > hi or if NaN becomes another NaN.
template <SimdLevel kLevel, class T, Counting kCounting>
[[gnu::always_inline]] inline ElementCounts clip_bytes(const Operation& operation, const std::byte* in,
                                                       std::byte* out, std::size_t count) noexcept {
  constexpr std::size_t kBytes = vector_bytes(kLevel);
  const InOut<T> all{reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out), count};
  if constexpr (sizeof(T) > 1)
    if (operation.order != kNativeOrder)
      return clip_ordered<kBytes, kCounting, Byteswap::yes>(operation, all);
  return clip_ordered<kBytes, kCounting, Byteswap::no>(operation, all);
}

}  // namespace clipper
