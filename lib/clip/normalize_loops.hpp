#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "clip/convert_loops.hpp"
#include "clip/operation.hpp"
#include "element/dtype.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"

/// The steps of normalize(): loops over a block of elements, which compilers vectorize, for run_loop().
namespace clipper {

/// Whether the quotient is mapped to another range than 0 to 1.
inline bool maps(const Normalization& step) noexcept {
  return !step.stretches && (step.low != 0 || step.high != 1);
}

/// The normalization of a block, some of whose numbers float64 does not have: y is what is nearest to them.
/// `rests` is what they exceed y by for Arithmetic::integer; otherwise memory for that. `has_long`: whether
/// elements of `in` are integers that float64 lacks, or only bounds are.
void normalize_carefully(const Operation& operation, const Operands& operands, const std::byte* in,
                         bool has_long, double* rests, double* y, std::size_t count) noexcept;

/// y * factor, which has a value for each element if kVaries, otherwise one for all.
template <bool kVaries>
struct MultiplyElements {
  [[gnu::always_inline]] static void run(double* __restrict y, const double* __restrict factor,
                                         std::size_t count) noexcept {
    const double first = factor[0];
    for (std::size_t i = 0; i < count; ++i) y[i] *= kVaries ? factor[i] : first;
  }
};

/// (y - a) / b, where a and b have a value for each element if kVaries, otherwise one for all.
template <bool kVaries>
struct SubtractDivide {
  [[gnu::always_inline]] static void run(double* __restrict y, const double* __restrict a,
                                         const double* __restrict b, std::size_t count) noexcept {
    const double first[] = {a[0], b[0]};
    for (std::size_t i = 0; i < count; ++i)
      y[i] = (y[i] - (kVaries ? a[i] : first[0])) / (kVaries ? b[i] : first[1]);
  }
};

/// What 0 and 1 become low and high by, and all other numbers.
struct MapRange {
  [[gnu::always_inline]] static void run(double* __restrict y, double low, double high,
                                         std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) y[i] = y[i] * (high - low) + low;
  }
};

/// The bounds of each element.
struct ClipEach {
  [[gnu::always_inline]] static void run(const double* __restrict x, double* __restrict y,
                                         const double* __restrict lo, const double* __restrict hi,
                                         std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      const double raised = x[i] < lo[i] ? lo[i] : x[i];
      y[i] = raised > hi[i] ? hi[i] : raised;
    }
  }
};

/// Whether any bound is within the ends of a dtype.
template <class Working>
struct FindBounds {
  [[gnu::always_inline]] static bool run(const Working* lo, const Working* hi, Working lowest,
                                         Working highest, std::size_t count) noexcept {
    UnsignedOfSize<sizeof(Working)> any = 0;
    for (std::size_t i = 0; i < count; ++i) {
      any |= lo[i] > lowest ? 1 : 0;
      any |= hi[i] < highest ? 1 : 0;
    }
    return any != 0;
  }
};

/// From a, which becomes low, to b, which becomes high. NaN stays.
template <bool kVaries>
struct StretchElements {
  [[gnu::always_inline]] static void run(double* __restrict y, const double* __restrict a,
                                         const double* __restrict b, double low, double high,
                                         std::size_t count) noexcept {
    const double first[] = {a[0], b[0]};
    const double least = low < high ? low : high;
    const double most = low < high ? high : low;
    for (std::size_t i = 0; i < count; ++i) {
      const double min = kVaries ? a[i] : first[0];
      const double max = kVaries ? b[i] : first[1];
      const double z = (y[i] - min) / (max - min) * (high - low) + low;
      const double raised = z < least ? least : z;
      const double held = raised > most ? most : raised;
      const double upper = y[i] >= max ? high : held;
      y[i] = y[i] <= min ? low : upper;
    }
  }
};

/// Whether any number may stand for an integer that float64 lacks.
struct FindLong {
  [[gnu::always_inline]] static bool run(const double* y, std::size_t count) noexcept {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= std::fabs(y[i]) >= kIntegersEnd ? 1 : 0;
    return any != 0;
  }
};

/// Whether any number is beyond the range, or so small that it may become 0.
struct FindChanging {
  [[gnu::always_inline]] static bool run(const double* z, double lowest, double highest, double small,
                                         std::size_t count) noexcept {
    std::uint64_t beyond = 0;
    std::uint64_t smaller = 0;
    std::uint64_t zeros = 0;
    for (std::size_t i = 0; i < count; ++i) {  // without a branch, the loop is vectorized
      beyond += z[i] < lowest ? 1 : 0;
      beyond += z[i] > highest ? 1 : 0;
      smaller += std::fabs(z[i]) < small ? 1 : 0;
      zeros += z[i] == 0 ? 1 : 0;
    }
    return beyond != 0 || smaller != zeros;
  }
};

/// What NormalizeElements does to every double.
struct NumberStep {
  double lo;
  double hi;
  double a;
  double divisor;  ///< the factor if it scales
  double low;
  double range;
  double high;
  double lowest;
  double highest;
  bool scales;       ///< whether x * divisor is all: a factor alone
  bool clips;        ///< whether any element of the dtype is beyond lo or hi
  bool multiplies;   ///< whether quotient() may multiply: no step underflows, or the result is a float
  bool is_ordinary;  ///< whether quotient() never has a dividend of -0 or, but for float64, infinity
  bool holds;        ///< whether a result may be beyond lowest and highest, or not reach low or high
};

enum class Quotient : std::uint8_t { divides, multiplies, multiplies_plain, scales };

/// x / divisor, correctly rounded, if it multiplies in a sixth of a division's time. Markstein: with r, the
/// correctly rounded reciprocal of b, and q, less than one unit from x / b, the fused q + r * (x - b * q) is
/// x / b, correctly rounded. Farther from x / b, up to one and a half units, `first` is only where x / b is
/// not near the middle between two numbers, so that the last rounding cannot err. Without a rest are zeros,
/// whose sign a sum would lose, infinities and NaN; multiplies_plain loses the sign of -0 and makes
/// infinities NaN. A quotient whose steps overflow becomes NaN. One whose steps underflow is nearer to 0 than
/// all floats, with the right sign.
template <Quotient kQuotient>
[[gnu::always_inline]] inline double quotient(double x, double divisor, double reciprocal) noexcept {
  if constexpr (kQuotient == Quotient::divides) return x / divisor;
  if constexpr (kQuotient == Quotient::scales) return x * divisor;
  const double first = x * reciprocal;
  const double rest = __builtin_fma(-divisor, first, x);
  const double result = __builtin_fma(rest, reciprocal, first);
  return kQuotient == Quotient::multiplies_plain || std::fabs(rest) > 0 ? result : first;
}

/// Integers of 64 bits that exact_double() takes lie within 2^51, exclusive.
constexpr int kExactBits = 51;

/// Whether exact_double() takes all integers.
template <class From>
struct AreExact {
  [[gnu::always_inline]] static bool run(const From* x, std::size_t count) noexcept {
    constexpr std::uint64_t kBelow = std::is_signed_v<From> ? std::uint64_t{1} << kExactBits : 0;
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < count; ++i)
      others |= (static_cast<std::uint64_t>(x[i]) + kBelow) >> (kExactBits + (kBelow != 0 ? 1 : 0));
    return others == 0;
  }
};

/// A number as a double. Integers of 64 bits are added to the last bits of one that has no bits for
/// fractions: only AVX-512 has an instruction for them.
template <class T>
[[gnu::always_inline]] inline double exact_double(T x) noexcept {
  if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(double)) {
    constexpr double kNoFraction = 3ULL << kExactBits;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(kNoFraction) + static_cast<std::uint64_t>(x)) -
           kNoFraction;
  }
  return static_cast<double>(x);
}

template <class From>
struct LoadExact {
  [[gnu::always_inline]] static void run(const From* __restrict in, double* __restrict out,
                                         std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = exact_double(in[i]);
  }
};

/// What the cast of a normalization changes: see Losses.
struct NormalizedLimits {
  double lowest;
  double highest;
  double zero_lowest;
  double zero_highest;
  bool saturates;
  bool makes_infinite;
};

/// Counts what is beyond the bounds, NaN, and of all others what the cast makes of z: of a finite x,
/// infinities.
template <bool kVaries>
struct CountNormalized {
  [[gnu::always_inline]] static ElementCounts run(const double* x, const double* y, const double* los,
                                                  const double* his, const double* z, NormalizedLimits limits,
                                                  std::size_t count) noexcept {
    using Lane = std::uint64_t;
    const double first[] = {los[0], his[0]};
    std::array<Lane, 7> sums{};
    for (std::size_t i = 0; i < count; ++i) {  // without a branch, the loop is vectorized
      const double lo = kVaries ? los[i] : first[0];
      const double hi = kVaries ? his[i] : first[1];
      const Lane within = Lane{y[i] >= lo} & Lane{y[i] <= hi};
      const Lane below = within & Lane{z[i] < limits.lowest};
      const Lane above = within & Lane{z[i] > limits.highest};
      const Lane is_finite{std::fabs(x[i]) <= std::numeric_limits<double>::max()};
      sums[0] += Lane{y[i] < lo};
      sums[1] += Lane{y[i] > hi};
      sums[2] += Lane{y[i] != y[i]};  // NOLINT(misc-redundant-expression): true for NaN
      sums[3] += below;
      sums[4] += above;
      sums[5] += (below | above) & is_finite;
      sums[6] +=
          within & Lane{z[i] != 0} & Lane{z[i] >= limits.zero_lowest} & Lane{z[i] <= limits.zero_highest};
    }
    ElementCounts counts;
    counts.raised = sums[0] + (limits.saturates ? sums[3] : 0);
    counts.lowered = sums[1] + (limits.saturates ? sums[4] : 0);
    counts.nan = sums[2];
    counts.became_infinite = limits.makes_infinite ? sums[5] : 0;
    counts.became_zero = sums[6];
    return counts;
  }
};

struct HoldWithin {
  [[gnu::always_inline]] static void run(double* z, double lowest, double highest,
                                         std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      const double raised = z[i] < lowest ? lowest : z[i];
      z[i] = raised > highest ? highest : raised;
    }
  }
};

/// Whether all floats are finite.
struct FindFinite {
  [[gnu::always_inline]] static bool run(const float* x, std::size_t count) noexcept {
    std::uint32_t others = 0;
    for (std::size_t i = 0; i < count; ++i)
      others |= std::fabs(x[i]) <= std::numeric_limits<float>::max() ? 0 : 1;
    return others == 0;
  }
};

/// (y - a) / b with the clipped y, of integers that are floats, like their differences from a: float has 24
/// bits, and a quotient of two floats that is rounded to at least 2 * 24 bits and then to float is the one
/// that is rounded once (Figueroa, When is double rounding innocuous?, 1995).
template <class From>
struct DivideIntegers {
  [[gnu::always_inline]] static void run(const From* __restrict in, float* __restrict out, float lo, float hi,
                                         float a, float b, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(in[i]);
      const float raised = x < lo ? lo : x;
      out[i] = ((raised > hi ? hi : raised) - a) / b;
    }
  }
};

/// What NormalizeElements found.
struct Normalized {
  bool has_nan;   ///< among the elements
  bool has_lost;  ///< a number whose quotient became NaN because it multiplied
};

/// Clips, normalizes and saturates; rounds to integers if Out is an integer dtype.
template <class In, class Out, bool kStretches>
struct NormalizeElements {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static Normalized run(const In* __restrict y, Out* __restrict out,
                                               const NumberStep& step, std::size_t count) noexcept {
    if constexpr (!kStretches)
      if (step.scales)
        return step.holds || step.clips ? run_with<Quotient::scales, true, true>(y, out, step, count)
                                        : run_with<Quotient::scales, false, false>(y, out, step, count);
    if constexpr (kLevel != SimdLevel::baseline)
      if (step.multiplies) {
        if (step.holds) return run_with<Quotient::multiplies, true, true>(y, out, step, count);
        if (!step.is_ordinary) return run_with<Quotient::multiplies, false, true>(y, out, step, count);
        return step.clips ? run_with<Quotient::multiplies_plain, false, true>(y, out, step, count)
                          : run_with<Quotient::multiplies_plain, false, false>(y, out, step, count);
      }
    return run_with<Quotient::divides, true, true>(y, out, step, count);
  }

 private:
  template <Quotient kQuotient, bool kHolds, bool kClips>
  [[gnu::always_inline]] static Normalized run_with(const In* __restrict y, Out* __restrict out,
                                                    NumberStep step, std::size_t count) noexcept {
    constexpr bool kMultiplies = kQuotient == Quotient::multiplies || kQuotient == Quotient::multiplies_plain;
    const double reciprocal = 1 / step.divisor;
    UnsignedOfSize<sizeof(In)> nan = 0;
    std::uint64_t lost = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto g = exact_double(y[i]);
      nan |= y[i] != y[i] ? 1 : 0;  // NOLINT(misc-redundant-expression): true for NaN
      double x = g;
      if constexpr (kClips) {
        x = x < step.lo ? step.lo : x;
        x = x > step.hi ? step.hi : x;
      }
      double z = quotient<kQuotient>(x - step.a, step.divisor, reciprocal);
      if constexpr (kMultiplies && std::is_same_v<In, double> && std::is_same_v<Out, float>)
        lost |= ((z != z) & (g == g)) ? 1 : 0;  // NOLINT(misc-redundant-expression): NaN
      if constexpr (kStretches) z = z * step.range + step.low;
      if constexpr (kHolds) {
        z = z < step.lowest ? step.lowest : z;
        z = z > step.highest ? step.highest : z;
        if constexpr (kStretches) z = x >= step.hi ? step.high : z;
        if constexpr (kStretches) z = x <= step.lo ? step.low : z;
      }
      if constexpr (std::is_integral_v<Out>)
        out[i] = stored_rounded<Out>(z, 0);
      else
        out[i] = static_cast<Out>(z);
    }
    return {nan != 0, lost != 0};
  }
};

}  // namespace clipper
