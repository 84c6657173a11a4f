#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "clip/clip.hpp"
#include "clip/parameters.hpp"
#include "element/half.hpp"
#include "simd/vector.hpp"

/// Rules for float16 and bfloat16 with lo <= 0 <= hi, for which no key must be calculated: the patterns of
/// the negative numbers down to -inf are adjacent, and so are those of the positive numbers up to inf. A
/// wrapping addition moves -inf, or inf, to the highest int16. Then exactly the numbers beyond the bound are
/// above it.
namespace clipper {

/// The lower bounds that StraddlingRule distinguishes: +0, whose pattern is no neighbour of the negative
/// numbers' patterns, and -0 or less.
enum class LowerBound : std::uint8_t { zero, negative };

/// The lower bound of an operation with lo <= 0 <= hi; nothing for other bounds, and for hi = -0.
template <HalfType T>
[[nodiscard]] constexpr std::optional<LowerBound> straddling(const Operation& operation) noexcept {
  constexpr ElementBits kInfinity = T::kInfinity;
  constexpr ElementBits kMinusZero = 0x8000;
  if (operation.hi > kInfinity) return std::nullopt;
  if (operation.lo == 0) return LowerBound::zero;
  if (operation.lo < kMinusZero || operation.lo > kMinusZero + kInfinity) return std::nullopt;
  return LowerBound::negative;
}

/// What both rules have in common.
template <std::size_t kVectorBytes, HalfType T>
class StraddlingBounds {
 public:
  using Number = std::int16_t;
  using Elements = Vector<std::int16_t, kVectorBytes>;
  using Parameter = Elements;
  using Lane = std::uint16_t;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kFactorSize = 0;
  static constexpr std::size_t kKept = 0;
  static constexpr bool kCalculates = false;
  static constexpr bool kReplacesNan = false;
  static constexpr bool kDefersNan = true;

  [[gnu::always_inline]] static auto is_nan(const Elements& x) noexcept {
    return magnitude(x) > static_cast<std::int16_t>(T::kInfinity);
  }

 protected:
  static constexpr std::int16_t kLowest = -0x8000;     // the pattern of -0
  static constexpr int kUp = 0xffff - T::kInfinity;    // moves -inf to the highest int16
  static constexpr int kDown = 0x7fff - T::kInfinity;  // moves inf to the highest int16

  template <int kBy>
  [[gnu::always_inline]] static Elements moved(const Elements& x) noexcept {
    return __builtin_bit_cast(Elements, __builtin_bit_cast(Vector<Lane, kBytes>, x) + static_cast<Lane>(kBy));
  }
  /// The bound that raised numbers are above, moved like them: -0 for +0.
  [[gnu::always_inline]] static Elements lower(const Elements& lo) noexcept {
    return moved<kUp>(lo == 0 ? broadcast<kVectorBytes>(kLowest) : lo);
  }
  [[gnu::always_inline]] static Elements magnitude(const Elements& x) noexcept { return x & 0x7fff; }
};

/// Clips by minima.
template <std::size_t kVectorBytes, HalfType T, LowerBound kLower>
class StraddlingRule : public StraddlingBounds<kVectorBytes, T> {
  using Base = StraddlingBounds<kVectorBytes, T>;

 public:
  using Elements = typename Base::Elements;

  [[gnu::always_inline]] explicit StraddlingRule(const Parameters<Elements>& parameters) noexcept
      : lo_(Base::lower(parameters.lo)), hi_(Base::template moved<Base::kDown>(parameters.hi)) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    // Comparisons are repeated because g++ 12 makes a minimum only of one within the selection.
    const Elements up = Base::template moved<Base::kUp>(x);
    Elements down;
    if constexpr (kLower == LowerBound::zero)
      down = Base::template moved<Base::kDown>(without(up > lo_, x));
    else
      down = Base::template moved<Base::kDown - Base::kUp>(up > lo_ ? lo_ : up);
    tally.moved(up > lo_, down > hi_);
    if constexpr (AnyTally::kCounts) tally.may_be_nan(Base::magnitude(x));
    return Base::template moved<-Base::kDown>(down > hi_ ? hi_ : down);
  }

 private:
  /// x, but 0 where the mask is true. Of 16-bit lanes g++ 12 would make a selection, which takes longer.
  template <class Mask>
  [[gnu::always_inline]] static Elements without(const Mask& mask, const Elements& x) noexcept {
    using Bits = Vector<std::uint64_t, kVectorBytes>;
    return __builtin_bit_cast(Elements, __builtin_bit_cast(Bits, x) & ~__builtin_bit_cast(Bits, mask));
  }

  Elements lo_;
  Elements hi_;
};

/// Selects by the comparisons that are counted, like SelectRule: for instruction sets with registers for
/// masks.
template <std::size_t kVectorBytes, HalfType T>
class StraddlingSelectRule : public StraddlingBounds<kVectorBytes, T> {
  using Base = StraddlingBounds<kVectorBytes, T>;

 public:
  using Elements = typename Base::Elements;

  [[gnu::always_inline]] explicit StraddlingSelectRule(const Parameters<Elements>& parameters) noexcept
      : lo_(parameters.lo),
        hi_(parameters.hi),
        lo_moved_(Base::lower(parameters.lo)),
        hi_moved_(Base::template moved<Base::kDown>(parameters.hi)) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    const auto below = Base::template moved<Base::kUp>(x) > lo_moved_;
    const auto above = Base::template moved<Base::kDown>(x) > hi_moved_;
    tally.moved(below, above);
    if constexpr (AnyTally::kCounts) tally.may_be_nan(Base::magnitude(x));
    const Elements raised = below ? lo_ : x;
    return above ? hi_ : raised;
  }

 private:
  Elements lo_;
  Elements hi_;
  Elements lo_moved_;
  Elements hi_moved_;
};

}  // namespace clipper
