#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "simd/vector.hpp"

/// What a rule did to the elements of a block, counted in lanes of the elements' own width. A rule says of
/// each vector of elements, in masks, either what it moved or what it kept, whichever it knows at no cost.
namespace clipper {

/// Counts nothing, for the price of nothing.
struct NoTally {
  static constexpr bool kCounts = false;
  static constexpr std::size_t kMaxVectors = std::numeric_limits<std::size_t>::max();

  template <class... Any>
  [[gnu::always_inline]] void moved(const Any&... /*masks*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void kept(const Any&... /*masks*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void compare(const Any&... /*vectors*/) noexcept {}
};

template <class R>
class Tally {
 public:
  static constexpr bool kCounts = true;

  /// More could overflow a lane, of which a rule may count two in one.
  static constexpr std::size_t kMaxVectors = sizeof(typename R::Lane) == 1 ? 255 : 65'535;

  /// Masks of the elements with y > g, y < g and g NaN.
  template <class Mask>
  [[gnu::always_inline]] void moved(const Mask& up, const Mask& down, const Mask& nan) noexcept {
    raised_ -= __builtin_bit_cast(Lanes, up);
    lowered_ -= __builtin_bit_cast(Lanes, down);
    nan_ -= __builtin_bit_cast(Lanes, nan);
  }

  /// Masks of all others, the elements without y > g and without y < g; and of those with g NaN.
  template <class Mask>
  [[gnu::always_inline]] void kept(const Mask& not_up, const Mask& not_down, const Mask& nan) noexcept {
    raised_ += __builtin_bit_cast(Lanes, not_up);
    lowered_ += __builtin_bit_cast(Lanes, not_down);
    nan_ -= __builtin_bit_cast(Lanes, nan);
  }

  /// A vector of elements as it was and as it is now.
  template <class V>
  [[gnu::always_inline]] void compare(const V& before, const V& after) noexcept {
    difference_ |= __builtin_bit_cast(Bits, before) ^ __builtin_bit_cast(Bits, after);
  }

  /// To be called once, after this many vectors of elements.
  [[gnu::always_inline]] void add_to(ElementCounts& counts, std::size_t vectors) noexcept {
    raised_ += static_cast<Lane>(vectors * R::kKept);
    lowered_ += static_cast<Lane>(vectors * R::kKept);
    counts.raised += sum_of_lanes<R::kBytes, Lane>(raised_);
    counts.lowered += sum_of_lanes<R::kBytes, Lane>(lowered_);
    counts.nan += sum_of_lanes<R::kBytes, Lane>(nan_);
    for (std::size_t i = 0; i < sizeof(Bits) / sizeof(std::uint64_t); ++i)
      counts.changed = counts.changed || difference_[i] != 0;
  }

 private:
  using Lane = typename R::Lane;
  using Lanes = Vector<Lane, R::kBytes>;
  using Bits = Vector<std::uint64_t, sizeof(typename R::Elements)>;

  Lanes raised_{};
  Lanes lowered_{};
  Lanes nan_{};
  Bits difference_{};
};

}  // namespace clipper
