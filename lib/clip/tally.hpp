#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "simd/vector.hpp"

/// Counts what a rule did to the elements of a block, in lanes as wide as the elements. For each vector a
/// rule calls moved() or kept() with masks, whichever it can at no cost.
namespace clipper {

/// Counts nothing, at no cost.
struct NoTally {
  static constexpr bool kCounts = false;
  static constexpr bool kDefersNan = false;
  static constexpr std::size_t kMaxVectors = std::numeric_limits<std::size_t>::max();

  template <class... Any>
  [[gnu::always_inline]] void moved(const Any&... /*masks*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void kept(const Any&... /*masks*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void nan(const Any&... /*mask*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void compare(const Any&... /*vectors*/) noexcept {}
};

template <class R>
[[nodiscard]] constexpr bool defers_nan() noexcept {
  if constexpr (requires { R::kDefersNan; }) return R::kDefersNan;
  return false;
}

template <class R>
class Tally {
  using Lane = typename R::Lane;
  using Lanes = Vector<Lane, R::kBytes>;
  using Elements = typename R::Elements;
  using Bits = Vector<std::uint64_t, sizeof(Elements)>;

 public:
  static constexpr bool kCounts = true;

  /// Whether NaNs are counted only in blocks that have some, by reading the block's results again. To find
  /// out takes half as many instructions as to count them.
  static constexpr bool kDefersNan = defers_nan<R>();

  /// More vectors could overflow a lane, to which a rule may add twice per vector. With kDefersNan the block
  /// is still in the first-level cache when it is read again. A multiple of what an iteration clips.
  static constexpr std::size_t kMaxVectors =
      kDefersNan ? 16'384 / sizeof(Elements) : (sizeof(Lane) == 1 ? 252 : 65'532);

  /// Masks of the elements with y > g and with y < g.
  template <class Mask>
  [[gnu::always_inline]] void moved(const Mask& up, const Mask& down) noexcept {
    count(up, raised_);
    count(down, lowered_);
  }

  /// Masks of the elements for which y > g is false and for which y < g is false.
  template <class Mask>
  [[gnu::always_inline]] void kept(const Mask& not_up, const Mask& not_down) noexcept {
    count(not_up, raised_);
    count(not_down, lowered_);
  }

  /// A mask of the elements whose g is NaN.
  template <class Mask>
  [[gnu::always_inline]] void nan(const Mask& mask) noexcept {
    count(mask, nan_);
  }

  /// If kDefersNan: results that are floats, or sums of them; or the magnitudes of halves.
  [[gnu::always_inline]] void may_be_nan(const Elements& elements) noexcept {
    if constexpr (std::is_floating_point_v<typename R::Number>)
      suspect_ += elements;  // a sum of NaN and anything is NaN
    else
      suspect_ = elements > suspect_ ? elements : suspect_;
  }

  /// False only if no element was NaN. The sum of two infinities can be NaN, too.
  [[nodiscard, gnu::always_inline]] bool found_nan() const noexcept {
    using Counters = Vector<Lane, sizeof(Elements)>;
    return sum_of_lanes<sizeof(Elements), Lane>(one_added<R::kBytes>(R::is_nan(suspect_), Counters{})) != 0;
  }

  /// A vector of elements before and after the operation.
  [[gnu::always_inline]] void compare(const Elements& before, const Elements& after) noexcept {
    difference_ |= __builtin_bit_cast(Bits, before) ^ __builtin_bit_cast(Bits, after);
  }

  /// Adds the counts of `vectors` vectors to `counts`. Call it once.
  [[gnu::always_inline]] void add_to(ElementCounts& counts, std::size_t vectors) const noexcept {
    counts.raised += moves(raised_, vectors);
    counts.lowered += moves(lowered_, vectors);
    counts.nan += sum_of_lanes<R::kBytes, Lane>(nan_);
    for (std::size_t i = 0; i < sizeof(Bits) / sizeof(std::uint64_t); ++i)
      counts.changed = counts.changed || difference_[i] != 0;
  }

 private:
  template <class Mask>
  [[gnu::always_inline]] static void count(const Mask& mask, Lanes& lanes) noexcept {
    lanes = one_added<R::kBytes>(mask, lanes);
  }

  [[nodiscard, gnu::always_inline]] static std::uint64_t moves(const Lanes& lanes,
                                                               std::size_t vectors) noexcept {
    const std::uint64_t sum = sum_of_lanes<R::kBytes, Lane>(lanes);
    return R::kKept == 0 ? sum : R::kKept * vectors * (R::kBytes / sizeof(Lane)) - sum;
  }

  Lanes raised_{};
  Lanes lowered_{};
  Lanes nan_{};
  Elements suspect_{};
  Bits difference_{};
};

}  // namespace clipper
