#pragma once

#include <cstddef>
#include <cstdint>

#include "element/dtype.hpp"
#include "simd/vector.hpp"

/// The only code that clips an element.
namespace clipper {

enum class NanElements : std::uint8_t { keep, replace };

/// y = x < lo ? lo : x; y = y > hi ? hi : y; then NaN becomes `nan` with NanElements::replace. Comparisons
/// with NaN are false, so NaN passes. lo > hi gives hi, with wrong counts. T: integers, float, double.
template <std::size_t kVectorBytes, class T, NanElements kNan>
class BoundsRule {
 public:
  using Elements = Vector<T, kVectorBytes>;
  using Lane = UnsignedOfSize<sizeof(T)>;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kKept = 1;
  static constexpr bool kCalculates = false;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] BoundsRule(T lo, T hi, T nan) noexcept
      : lo_(broadcast<kBytes>(lo)), hi_(broadcast<kBytes>(hi)), nan_(broadcast<kBytes>(nan)) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    const Elements raised = x < lo_ ? lo_ : x;
    const Elements y = raised > hi_ ? hi_ : raised;
    const auto is_nan = x != x;  // NOLINT(misc-redundant-expression): true for NaN
    // An element that moves has other bits afterwards, and integers are compared faster than floats.
    tally.kept(bits(raised) == bits(x), bits(y) == bits(raised), __builtin_bit_cast(Mask, is_nan));
    if constexpr (kReplacesNan)
      return is_nan ? nan_ : y;
    else
      return y;
  }

 private:
  using Bits = Vector<Lane, kBytes>;
  using Mask = decltype(Bits{} == Bits{});

  [[gnu::always_inline]] static Bits bits(const Elements& elements) noexcept {
    return __builtin_bit_cast(Bits, elements);
  }

  Elements lo_;
  Elements hi_;
  Elements nan_;
};

/// BoundsRule for float16 and bfloat16, in integers. Sign and magnitude become a key in the order of the
/// values, -0 directly before +0, with NaNs at both ends. A wrapping addition moves all NaNs to the upper
/// end, to compare with lo, or to the lower end, to compare with hi: either comparison is then false for NaN.
template <std::size_t kVectorBytes, HalfType T, NanElements kNan>
class BoundsRule<kVectorBytes, T, kNan> {
 public:
  using Elements = Vector<std::int16_t, kVectorBytes>;
  using Lane = std::uint16_t;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kKept = 0;
  static constexpr bool kCalculates = false;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] BoundsRule(T lo, T hi, T nan) noexcept {
    const bool exchanged = value(lo) > value(hi);
    const int lo_key = exchanged ? key(hi) : value(lo) == 0 ? -1 : key(lo);
    const int hi_key = exchanged ? key(hi) : value(hi) == 0 ? 0 : key(hi);
    lo_ = elements(exchanged ? hi.bits : lo.bits);
    hi_ = elements(hi.bits);
    nan_ = elements(nan.bits);
    lo_key_ = elements(lo_key + kNanAbove);
    hi_key_ = elements(hi_key + kNanBelow);
  }

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    const auto key = __builtin_bit_cast(Wrapping, x ^ ((x >> 15) & kMagnitude));
    const auto nan_above = __builtin_bit_cast(Elements, key + static_cast<std::uint16_t>(kNanAbove));
    const auto nan_below = __builtin_bit_cast(Elements, key + static_cast<std::uint16_t>(kNanBelow));
    const auto below = nan_above < lo_key_;
    const auto above = nan_below > hi_key_;
    const auto is_nan = nan_above > kInfinityAbove;
    const Elements raised = below ? lo_ : x;
    const Elements y = above ? hi_ : raised;
    tally.moved(below, above, is_nan);
    if constexpr (kReplacesNan)
      return is_nan ? nan_ : y;
    else
      return y;
  }

 private:
  using Wrapping = Vector<std::uint16_t, kBytes>;

  static constexpr std::int16_t kMagnitude = 0x7fff;
  static constexpr int kNanAbove = -0x8000 + T::kInfinity + 1;  // -inf becomes the lowest number
  static constexpr int kNanBelow = 0x7fff - T::kInfinity;       // inf becomes the highest number
  static constexpr std::int16_t kInfinityAbove = T::kInfinity + kNanAbove;

  [[gnu::always_inline]] static Elements elements(int bits) noexcept {
    return broadcast<kBytes>(static_cast<std::int16_t>(bits));
  }
  static int value(T x) noexcept { return (x.bits & 0x8000) != 0 ? -(x.bits & 0x7fff) : x.bits; }
  static int key(T x) noexcept { return (x.bits & 0x8000) != 0 ? value(x) - 1 : value(x); }

  Elements lo_;
  Elements hi_;
  Elements nan_;
  Elements lo_key_;
  Elements hi_key_;
};

}  // namespace clipper
