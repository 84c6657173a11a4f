#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "simd/vector.hpp"

/// Counts what a rule did to the elements of a block, in lanes as wide as the elements. For each vector a
/// rule calls moved() or kept() with masks, whichever it can at no cost.
namespace clipper {

/// Counts nothing, at no cost.
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

  /// More vectors could overflow a lane, to which a rule may add twice per vector.
  static constexpr std::size_t kMaxVectors = sizeof(typename R::Lane) == 1 ? 255 : 65'535;

  /// Masks of the elements with y > g, with y < g, and with g NaN.
  template <class Mask>
  [[gnu::always_inline]] void moved(const Mask& up, const Mask& down, const Mask& nan) noexcept {
    raised_ -= __builtin_bit_cast(Lanes, up);
    lowered_ -= __builtin_bit_cast(Lanes, down);
    nan_ -= __builtin_bit_cast(Lanes, nan);
  }

  /// Masks of the elements for which y > g is false, for which y < g is false, and with g NaN.
  template <class Mask>
  [[gnu::always_inline]] void kept(const Mask& not_up, const Mask& not_down, const Mask& nan) noexcept {
    raised_ += __builtin_bit_cast(Lanes, not_up);
    lowered_ += __builtin_bit_cast(Lanes, not_down);
    nan_ -= __builtin_bit_cast(Lanes, nan);
  }

  /// A vector of elements before and after the operation.
  template <class V>
  [[gnu::always_inline]] void compare(const V& before, const V& after) noexcept {
    difference_ |= __builtin_bit_cast(Bits, before) ^ __builtin_bit_cast(Bits, after);
  }

  /// Adds the counts of `vectors` vectors to `counts`. Call it once.
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
