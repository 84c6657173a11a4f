#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "clip/bounds_rule.hpp"
#include "clip/rule.hpp"
#include "simd/conversions.hpp"
#include "simd/vector.hpp"

namespace clipper {

#if defined(__riscv)
inline constexpr bool kIsRiscV = true;
#else
inline constexpr bool kIsRiscV = false;
#endif

/// x * scale + bias, then the bounds. T: float, double.
template <std::size_t kVectorBytes, class T, NanElements kNan, ExchangedBounds kExchanged>
class ScaledRule {
 public:
  using Number = T;
  using Elements = Vector<T, kVectorBytes>;
  using Parameter = Elements;
  using Lane = UnsignedOfSize<sizeof(T)>;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kFactorSize = sizeof(T);
  static constexpr std::size_t kKept = BoundsRule<kBytes, T, kNan, kExchanged>::kKept;
  static constexpr bool kCalculates = true;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] explicit ScaledRule(const Parameters<Parameter>& parameters) noexcept
      : rule_(parameters), scale_(parameters.scale), bias_(parameters.bias) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    Elements g = x * scale_ + bias_;
    if constexpr (kIsRiscV) {  // All NaNs become the same there; other machines keep sign and payload.
      constexpr Lane kQuiet = Lane{1} << (std::numeric_limits<T>::digits - 2);
      const auto quiet = __builtin_bit_cast(Elements, __builtin_bit_cast(Vector<Lane, kBytes>, x) | kQuiet);
      g = x == x ? g : quiet;  // NOLINT(misc-redundant-expression): false for NaN
    }
    return rule_(g, tally);
  }

 private:
  BoundsRule<kBytes, T, kNan, kExchanged> rule_;
  Elements scale_;
  Elements bias_;
};

/// x * scale + bias and the bounds in float, then one rounding. T: float16, bfloat16.
template <std::size_t kVectorBytes, HalfType T, NanElements kNan, ExchangedBounds kExchanged>
class ScaledRule<kVectorBytes, T, kNan, kExchanged> {
  using FloatRule = ScaledRule<kVectorBytes, float, kNan, kExchanged>;

 public:
  using Number = float;
  using Elements = HalfVector<kVectorBytes>;
  using Parameter = FloatPair<kVectorBytes>;
  using Lane = std::uint32_t;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kFactorSize = sizeof(float);
  static constexpr std::size_t kKept = 2 * FloatRule::kKept;
  static constexpr bool kCalculates = true;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] explicit ScaledRule(const Parameters<Parameter>& p) noexcept
      : even_({p.lo.even, p.hi.even, p.nan.even, p.scale.even, p.bias.even}),
        odd_({p.lo.odd, p.hi.odd, p.nan.odd, p.scale.odd, p.bias.odd}) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    Parameter floats;
    widen_elements(x, floats);
    floats.even = even_(floats.even, tally);
    floats.odd = odd_(floats.odd, tally);
    Elements y;
    narrow<T, kBytes>(floats, y);
    return y;
  }

  [[gnu::always_inline]] static void widen_elements(const Elements& x, Parameter& floats) noexcept {
    widen<T, kBytes>(x, floats);
  }

 private:
  FloatRule even_;
  FloatRule odd_;
};

#if defined(__x86_64__)
/// x * scale + bias for float16, by F16C instructions, which convert half a vector of halves at a time.
template <std::size_t kVectorBytes, NanElements kNan, ExchangedBounds kExchanged>
requires(kVectorBytes >
         vector_bytes(SimdLevel::baseline)) class ScaledRule<kVectorBytes, Float16, kNan, kExchanged> {
  using FloatRule = ScaledRule<kVectorBytes, float, kNan, kExchanged>;

 public:
  using Number = float;
  using Elements = HalfVector<kVectorBytes / 2>;
  using Parameter = Vector<float, kVectorBytes>;
  using Lane = std::uint32_t;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kFactorSize = sizeof(float);
  static constexpr std::size_t kKept = FloatRule::kKept;
  static constexpr bool kCalculates = true;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] explicit ScaledRule(const Parameters<Parameter>& parameters) noexcept
      : rule_(parameters) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    Parameter floats;
    widen_elements(x, floats);
    floats = rule_(floats, tally);
    Elements y;
    narrow_f16c(floats, y);
    return y;
  }

  [[gnu::always_inline]] static void widen_elements(const Elements& x, Parameter& floats) noexcept {
    widen_f16c(x, floats);
  }

 private:
  FloatRule rule_;
};
#endif

}  // namespace clipper
