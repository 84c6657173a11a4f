#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "clip/clip.hpp"
#include "clip/kernel.hpp"
#include "clip/operation.hpp"
#include "element/dtype.hpp"
#include "element/small_floats.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

/// Rules without scale and bias: by minimum and maximum, or where that is faster, another. RuleChoice
/// chooses.
namespace clipper {

enum class NanElements : std::uint8_t { keep, replace };

/// What a rule counts if lo > hi. Right counts take more instructions.
enum class ExchangedBounds : std::uint8_t { miscounted, counted };

#if defined(__x86_64__)
inline constexpr bool kIsX86 = true;
#else
inline constexpr bool kIsX86 = false;
#endif

/// y = x < lo ? lo : x; y = y > hi ? hi : y; then NaN becomes `nan` with NanElements::replace. Comparisons
/// with NaN are false, so NaN passes. lo > hi gives hi. T: integers, float, double.
template <std::size_t kVectorBytes, class T, NanElements kNan, ExchangedBounds kExchanged>
class BoundsRule {
  /// SSE2 compares 64-bit floats, but not 64-bit integers.
  static constexpr bool kComparesFloats =
      kIsX86 && sizeof(T) == 8 && kVectorBytes == vector_bytes(SimdLevel::baseline);

 public:
  using Number = T;
  using Elements = Vector<T, kVectorBytes>;
  using Lane = UnsignedOfSize<sizeof(T)>;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kKept = kExchanged == ExchangedBounds::counted || kComparesFloats ? 0 : 1;
  static constexpr bool kCalculates = kExchanged == ExchangedBounds::counted;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;
  static constexpr bool kDefersNan = std::is_floating_point_v<T> && !kCalculates && !kReplacesNan;

  [[gnu::always_inline]] explicit BoundsRule(const Parameters<Elements>& parameters) noexcept
      : lo_(parameters.lo), hi_(parameters.hi), nan_(parameters.nan) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    const Elements raised = x < lo_ ? lo_ : x;
    const Elements y = raised > hi_ ? hi_ : raised;
    if constexpr (kExchanged == ExchangedBounds::counted) {
      tally.moved(y > x, y < x);
    } else if constexpr (kComparesFloats) {
      const auto below = x < lo_;
      const auto above = raised > hi_;
      tally.moved(below, above);
    } else {  // An element that moves has other bits, and integers are compared faster than floats.
      tally.kept(bits(raised) == bits(x), bits(y) == bits(raised));
    }
    if constexpr (std::is_floating_point_v<T> && !AnyTally::kDefersNan) tally.nan(is_nan(x));
    if constexpr (kReplacesNan)
      return is_nan(x) ? nan_ : y;
    else
      return y;
  }

  [[gnu::always_inline]] static auto is_nan(const Elements& x) noexcept {
    return x != x;  // NOLINT(misc-redundant-expression): true for NaN
  }

 private:
  // Of another sign than T: g++ 12 turns max(x, lo) == x into x >= lo, which takes AVX2 two instructions.
  using Bits = Vector<std::conditional_t<std::is_unsigned_v<T>, std::make_signed_t<Lane>, Lane>, kBytes>;

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
template <std::size_t kVectorBytes, HalfType T, NanElements kNan, ExchangedBounds kExchanged>
class BoundsRule<kVectorBytes, T, kNan, kExchanged> {
 public:
  using Number = std::int16_t;
  using Elements = Vector<std::int16_t, kVectorBytes>;
  using Lane = std::uint16_t;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kKept = 0;
  static constexpr bool kCalculates = kExchanged == ExchangedBounds::counted;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  /// With lo > hi both bounds become hi, and a zero becomes hi if hi is the other zero.
  [[gnu::always_inline]] explicit BoundsRule(const Parameters<Elements>& parameters) noexcept {
    const Elements lo = key(parameters.lo);
    const Elements hi = key(parameters.hi);
    const auto exchanged = first_equal(lo) > last_equal(hi);
    lo_ = exchanged ? parameters.hi : parameters.lo;
    hi_ = parameters.hi;
    nan_ = parameters.nan;
    lo_key_ = (exchanged ? hi : first_equal(lo)) + kNanAbove;
    hi_key_ = (exchanged ? hi : last_equal(hi)) + kNanBelow;
    raising_key_ = first_equal(exchanged ? hi : lo) + kNanAbove;
    lowering_key_ = last_equal(hi) + kNanBelow;
  }

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    const auto wrapping = __builtin_bit_cast(Wrapping, key(x));
    const auto nan_above = __builtin_bit_cast(Elements, wrapping + static_cast<std::uint16_t>(kNanAbove));
    const auto nan_below = __builtin_bit_cast(Elements, wrapping + static_cast<std::uint16_t>(kNanBelow));
    const auto below = nan_above < lo_key_;
    const auto above = nan_below > hi_key_;
    const auto is_nan = nan_above > kInfinityAbove;
    const Elements raised = below ? lo_ : x;
    const Elements y = above ? hi_ : raised;
    if constexpr (kExchanged == ExchangedBounds::counted) {
      const auto up = nan_above < raising_key_;
      const auto down = nan_below > lowering_key_;
      tally.moved(up, down);
    } else {
      tally.moved(below, above);
    }
    tally.nan(is_nan);
    if constexpr (kReplacesNan)
      return is_nan ? nan_ : y;
    else
      return y;
  }

 private:
  using Wrapping = Vector<std::uint16_t, kBytes>;

  static constexpr std::int16_t kMagnitude = 0x7fff;
  static constexpr std::int16_t kKeyOfZero = 0;
  static constexpr std::int16_t kKeyOfMinusZero = -1;
  static constexpr std::int16_t kNanAbove = -0x8000 + T::kInfinity + 1;  // -inf becomes the lowest number
  static constexpr std::int16_t kNanBelow = 0x7fff - T::kInfinity;       // inf becomes the highest number
  static constexpr std::int16_t kInfinityAbove = T::kInfinity + kNanAbove;

  [[gnu::always_inline]] static Elements key(const Elements& x) noexcept {
    return x ^ ((x >> 15) & kMagnitude);
  }
  /// Of the zeros, which are equal, the first in the order of the keys; of the others x itself.
  [[gnu::always_inline]] static Elements first_equal(const Elements& key) noexcept {
    return key + (key == kKeyOfZero);  // a true lane is -1
  }
  [[gnu::always_inline]] static Elements last_equal(const Elements& key) noexcept {
    return key - (key == kKeyOfMinusZero);
  }

  Elements lo_;
  Elements hi_;
  Elements nan_;
  Elements lo_key_;
  Elements hi_key_;
  Elements
      raising_key_;  // lo_key_ and hi_key_ for counting: a zero that becomes the other zero has not moved
  Elements lowering_key_;
};

/// Whether SelectRule clips faster than BoundsRule: if the instruction set lacks the minimum of T.
template <class T, std::size_t kBytes>
[[nodiscard]] constexpr bool selects() noexcept {
  if (!std::is_integral_v<T>) return false;
  if (sizeof(T) == sizeof(std::uint64_t)) return kBytes < vector_bytes(SimdLevel::v4);
  return kIsX86 && sizeof(T) == sizeof(std::uint32_t) && kBytes == vector_bytes(SimdLevel::baseline);
}

/// BoundsRule for integers, without minimum and maximum: the comparisons with the bounds select the result
/// and are counted.
template <std::size_t kVectorBytes, class T>
class SelectRule {
  /// SSE2 cannot compare 64-bit integers. A vector of one element is a scalar, and there are scalar moves
  /// under a condition.
  static constexpr bool kScalar =
      kIsX86 && sizeof(T) == sizeof(std::uint64_t) && kVectorBytes == vector_bytes(SimdLevel::baseline);

 public:
  static constexpr std::size_t kBytes = kScalar ? sizeof(T) : kVectorBytes;
  static constexpr std::size_t kKept = 0;
  static constexpr bool kCalculates = false;
  static constexpr bool kReplacesNan = false;
  using Number = T;
  using Elements = Vector<T, kBytes>;
  using Lane = UnsignedOfSize<sizeof(T)>;

  /// With lo > hi both bounds become hi.
  [[gnu::always_inline]] explicit SelectRule(const Parameters<Elements>& parameters) noexcept
      : lo_(parameters.hi < parameters.lo ? parameters.hi : parameters.lo), hi_(parameters.hi) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    const auto below = ordered<AnyTally>(x) < ordered<AnyTally>(lo_);
    const auto above = ordered<AnyTally>(x) > ordered<AnyTally>(hi_);
    tally.moved(below, above);
    const Elements raised = below ? lo_ : x;
    return above ? hi_ : raised;
  }

 private:
  /// Elements in the order of T. The carry flag counts unsigned scalars in one instruction.
  template <class AnyTally>
  [[gnu::always_inline]] static auto ordered(const Elements& elements) noexcept {
    if constexpr (kScalar && AnyTally::kCounts)
      return __builtin_bit_cast(Vector<Lane, kBytes>, elements) +
             static_cast<Lane>(std::numeric_limits<T>::lowest());
    else
      return elements;
  }

  Elements lo_;
  Elements hi_;
};

// Rules for float16 and bfloat16 with lo <= 0 <= hi, for which no key must be calculated: the patterns of
// the negative numbers down to -inf are adjacent, and so are those of the positive numbers up to inf. A
// wrapping addition moves -inf, or inf, to the highest int16. Then exactly the numbers beyond the bound are
// above it.

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
  using Lane = std::uint16_t;
  static constexpr std::size_t kBytes = kVectorBytes;
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

inline bool replaces_nan(const Operation& operation, const Operands& operands) noexcept {
  return operands.vary() ? operands[Slot::nan].data != nullptr : operation.nan.has_value();
}

/// Chooses the rule of an operation.
template <SimdLevel kLevel, class T, Counting kCounting, class Vectors>
class RuleChoice {
  static constexpr std::size_t kBytes = vector_bytes(kLevel);
  static constexpr bool kSame = std::is_same_v<Vectors, NoVectors>;
  static constexpr ExchangedBounds kExchanged =
      kSame ? ExchangedBounds::miscounted : ExchangedBounds::counted;

 public:
  [[nodiscard]] static ElementCounts clip(const Operation& operation, const Operands& operands,
                                          const std::byte* in, std::byte* out, std::size_t count) noexcept {
    const Vectors vectors(operands);
    if constexpr (!std::is_integral_v<T> && kCounting == Counting::off)
      if (replaces_nan(operation, operands))
        return clip<NanElements::replace>(operation, vectors, in, out, count);
    return clip<NanElements::keep>(operation, vectors, in, out, count);
  }

 private:
  template <NanElements kNan>
  static ElementCounts clip(const Operation& operation, const Vectors& vectors, const std::byte* in,
                            std::byte* out, std::size_t count) noexcept {
    const auto by = [&]<Rule R>() {
      return run_loop<ClipBy<R, T, kCounting, Vectors>, kLevel>(operation, vectors, in, out, count);
    };
    if constexpr (HalfType<T> && kSame && kNan == NanElements::keep)
      if (const std::optional<LowerBound> lower = straddling<T>(operation)) {
        if constexpr (kLevel == SimdLevel::v4)
          return by.template operator()<StraddlingSelectRule<kBytes, T>>();
        if (*lower == LowerBound::zero)
          return by.template operator()<StraddlingRule<kBytes, T, LowerBound::zero>>();
        return by.template operator()<StraddlingRule<kBytes, T, LowerBound::negative>>();
      }
    if constexpr (selects<T, kBytes>())
      return by.template operator()<SelectRule<kBytes, T>>();
    else
      return by.template operator()<BoundsRule<kBytes, T, kNan, kExchanged>>();
  }
};

}  // namespace clipper
