#pragma once

#include "clip/bounds_rule.hpp"
#include "clip/clip.hpp"
#include "simd/half_vector.hpp"
#include "simd/vector.hpp"

namespace clipper {

/// x * scale + bias, then the bounds. T: float, double.
template <std::size_t kVectorBytes, class T, NanElements kNan>
class ScaledRule {
 public:
  using Elements = Vector<T, kVectorBytes>;
  using Lane = UnsignedOfSize<sizeof(T)>;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kKept = 1;
  static constexpr bool kCalculates = true;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] ScaledRule(const Operation& operation, T lo, T hi, T nan) noexcept
      : rule_(lo, hi, nan),
        scale_(broadcast<kBytes>(static_cast<T>(operation.scale))),
        bias_(broadcast<kBytes>(static_cast<T>(operation.bias))) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    return rule_(x * scale_ + bias_, tally);
  }

 private:
  BoundsRule<kBytes, T, kNan> rule_;
  Elements scale_;
  Elements bias_;
};

/// x * scale + bias and the bounds in float, then one rounding. T: float16, bfloat16.
template <std::size_t kVectorBytes, HalfType T, NanElements kNan>
class ScaledRule<kVectorBytes, T, kNan> {
 public:
  using Elements = HalfVector<kVectorBytes>;
  using Lane = std::uint32_t;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kKept = 2;
  static constexpr bool kCalculates = true;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] ScaledRule(const Operation& operation, T lo, T hi, T nan) noexcept
      : rule_(operation, widen(lo), widen(hi), widen(nan)) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    FloatPair<kBytes> floats;
    widen<T, kBytes>(x, floats);
    floats.even = rule_(floats.even, tally);
    floats.odd = rule_(floats.odd, tally);
    Elements y;
    narrow<T, kBytes>(floats, y);
    return y;
  }

 private:
  ScaledRule<kBytes, float, kNan> rule_;
};

#if defined(__x86_64__)
/// x * scale + bias for float16, by F16C instructions, which convert half a vector of halves at a time.
template <std::size_t kVectorBytes, NanElements kNan>
requires(kVectorBytes > vector_bytes(SimdLevel::baseline)) class ScaledRule<kVectorBytes, Float16, kNan> {
 public:
  using Elements = HalfVector<kVectorBytes / 2>;
  using Lane = std::uint32_t;
  static constexpr std::size_t kBytes = kVectorBytes;
  static constexpr std::size_t kKept = 1;
  static constexpr bool kCalculates = true;
  static constexpr bool kReplacesNan = kNan == NanElements::replace;

  [[gnu::always_inline]] ScaledRule(const Operation& operation, Float16 lo, Float16 hi, Float16 nan) noexcept
      : rule_(operation, widen(lo), widen(hi), widen(nan)) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    Vector<float, kBytes> floats;
    widen_f16c(x, floats);
    floats = rule_(floats, tally);
    Elements y;
    narrow_f16c(floats, y);
    return y;
  }

 private:
  ScaledRule<kBytes, float, kNan> rule_;
};
#endif

}  // namespace clipper
