#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "clip/convert_loops.hpp"
#include "clip/operation.hpp"
#include "clip/tile.hpp"
#include "element/dtype.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"

/// The steps of normalize(): loops over a tile of elements, which compilers vectorize, for run_loop().
namespace clipper {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMinusInfinity = -kInfinity;

struct alignas(64) Doubles : std::array<double, kTile> {
  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(data()); }
};

/// Whether a float has all elements of T.
template <class T>
constexpr bool kIsFloat = HalfType<T> || std::is_same_v<T, float> ||
                          (std::is_integral_v<T> && sizeof(T) < sizeof(float));

template <class T>
constexpr bool kIsLong = std::is_integral_v<T> && sizeof(T) == sizeof(double);

/// Whether products and quotients of a few such numbers neither overflow nor underflow.
[[nodiscard]] inline bool is_moderate(double x) noexcept {
  return std::fabs(x) >= 0x1p-100 && std::fabs(x) <= 0x1p100;
}

[[nodiscard]] inline bool is_zero_or_moderate(double x) noexcept {
  return x == 0 || is_moderate(x);
}

/// The normalization of a tile, some of whose numbers float64 does not have: y is what is nearest to them.
/// `rests` is what they exceed y by for Arithmetic::integer; otherwise memory for that. `has_long`: whether
/// elements of `in` are integers that float64 lacks, or only bounds are.
void normalize_carefully(const Operation& operation, const Operands& operands, const std::byte* in,
                         bool has_long, double* rests, double* y, std::size_t count) noexcept;

/// Whether `is` is true of any element.
template <class T, class Is>
struct FindAny {
  [[gnu::always_inline]] static bool run(const T* x, const Is& is, std::size_t count) noexcept {
    UnsignedOfSize<sizeof(T)> any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= is(x[i]) ? 1 : 0;  // without a branch it is vectorized
    return any != 0;
  }
};

template <class T, class Is>
[[nodiscard]] bool any_of(SimdLevel level, const T* x, std::size_t count, const Is& is) noexcept {
  return run_loop<FindAny<T, Is>>(level, x, is, count);
}

/// How x / b is calculated: see quotient().
enum class Quotient : std::uint8_t { divides, multiplies, multiplies_plain, scales };

/// What a loop does besides, in this order.
inline constexpr unsigned kClips = 1;    ///< first: to lo and hi
inline constexpr unsigned kMaps = 2;     ///< after the quotient: * (high - low) + low
inline constexpr unsigned kHolds = 4;    ///< within lowest and highest
inline constexpr unsigned kEnds = 8;     ///< lo becomes low, hi high, whatever was calculated
inline constexpr unsigned kVaries = 16;  ///< lo, hi, a and b are those of each element

/// The steps of one loop.
struct Steps {
  Quotient quotient = Quotient::divides;  ///< (x - a) / b, or x * b if it scales
  unsigned also = 0;

  [[nodiscard]] constexpr bool has(unsigned step) const noexcept { return (also & step) != 0; }
  [[nodiscard]] constexpr bool multiplies() const noexcept {
    return quotient == Quotient::multiplies || quotient == Quotient::multiplies_plain;
  }

  /// Whether a loop of these steps gives what one of `wanted` gives: bounds that no element is beyond, and
  /// infinite limits, change nothing.
  [[nodiscard]] constexpr bool give(const Steps& wanted) const noexcept {
    return quotient == wanted.quotient && (also & wanted.also) == wanted.also &&
           ((also ^ wanted.also) & ~(kClips | kHolds)) == 0;
  }
};

/// What the steps calculate with: one number for all elements, or one for each.
struct StepNumbers {
  const double* lo;
  const double* hi;
  const double* a;
  const double* b;  ///< unless there are numbers for each element, and ends: hi - lo then
  double low;
  double high;
  double lowest;
  double highest;
};

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

/// Whether exact_double() takes an integer.
template <class From>
[[gnu::always_inline]] inline bool is_exact(From x) noexcept {
  constexpr std::uint64_t kBelow = std::is_signed_v<From> ? std::uint64_t{1} << kExactBits : 0;
  return (static_cast<std::uint64_t>(x) + kBelow) >> (kExactBits + (kBelow != 0 ? 1 : 0)) == 0;
}

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

/// What a loop of steps found. NaN: among the elements, or the results if these are doubles. Where a plain
/// quotient makes NaN of infinite floats, these are NaN, too.
struct Normalized {
  bool has_nan = false;
  bool has_lost = false;  ///< a number whose quotient became NaN because it multiplied; a subnormal OddFloat
};

/// What a loop stores as a float that becomes a half: rounded to odd, as round_to_odd() does, but in lanes of
/// 64 bits alone. The last bit of a subnormal float would be wrong.
struct OddFloat {
  float value;
};

/// The magnitudes of OddFloats, as bits without the sign.
struct OddRange {
  std::uint32_t highest = 0;
  std::uint32_t lowest = std::numeric_limits<std::uint32_t>::max();  ///< less 1, so that 0 is none

  [[gnu::always_inline]] void add(OddFloat x) noexcept {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x.value) << 1;
    highest = std::max(highest, magnitude);
    lowest = std::min(lowest, magnitude - 1);
  }
  [[nodiscard]] bool has_nan() const noexcept { return highest >= 0xff000001; }
  [[nodiscard]] bool has_subnormal() const noexcept { return lowest < 0x01000000 - 1; }
};

/// A number of the 24 bits that a float has, the last of which is set if any bit after it was.
[[gnu::always_inline]] inline double odd_double(double x) noexcept {
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return std::bit_cast<double>((bits | ((bits & kDropped) + kDropped)) & ~kDropped);
}

/// A bound as an element of T, or the end of T if the bound is beyond it.
template <class T>
[[gnu::always_inline]] inline T nearest_end(double bound) noexcept {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) bound = std::clamp<double>(bound, Limits::lowest(), Limits::max());
  return static_cast<T>(bound);
}

/// One loop of steps. Rounds to integers if Out is an integer dtype. Elements of 32 bits are clipped before
/// they become doubles, in half as many vectors: bounds for all of them are elements, or beyond all elements.
template <class In, class Out, Steps kSteps>
struct RunSteps {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static Normalized run(const In* __restrict in, Out* __restrict out,
                                               const StepNumbers& given, std::size_t count) noexcept {
    if constexpr (kSteps.multiplies() && kLevel == SimdLevel::baseline)
      return {};  // it has no fused addition
    else
      return run_all(in, out, given, given.lo, given.hi, given.a, given.b, count);
  }

 private:
  [[gnu::always_inline]] static Normalized run_all(const In* __restrict in, Out* __restrict out,
                                                   StepNumbers given, const double* __restrict los,
                                                   const double* __restrict his, const double* __restrict as,
                                                   const double* __restrict bs, std::size_t count) noexcept {
    constexpr bool kVary = kSteps.has(kVaries);
    constexpr bool kBounds = kSteps.has(kClips) || kSteps.has(kEnds);
    constexpr bool kScales = kSteps.quotient == Quotient::scales;
    constexpr bool kHalves = std::is_same_v<Out, OddFloat>;
    constexpr bool kDoubles = std::is_same_v<In, double> && std::is_same_v<Out, double>;
    constexpr bool kSpoilsInfinity = std::is_same_v<In, float> && std::is_same_v<Out, float> &&
                                     kSteps.quotient == Quotient::multiplies_plain;
    constexpr bool kClipsFirst = kSteps.has(kClips) && !kVary && sizeof(In) < sizeof(double);
    double lo = kBounds ? los[0] : 0;
    double hi = kBounds ? his[0] : 0;
    double a = kScales ? 0 : as[0];
    double b = bs[0];
    const double reciprocal = 1 / b;
    const double range = given.high - given.low;
    In least{};
    In most{};
    if constexpr (kClipsFirst) least = nearest_end<In>(lo), most = nearest_end<In>(hi);
    UnsignedOfSize<sizeof(In)> nan = 0;
    std::uint64_t lost = 0;
    OddRange odd;
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (kVary && kBounds) lo = los[i], hi = his[i];
      if constexpr (kVary && !kScales) a = as[i];
      if constexpr (kVary) b = kSteps.has(kEnds) ? hi - lo : bs[i];
      In element = in[i];
      if constexpr (kClipsFirst) element = clipped(element, least, most);
      if constexpr (kSpoilsInfinity)
        nan |= std::fabs(element) <= std::numeric_limits<float>::max() ? 0 : 1;
      else if constexpr (!kHalves && !kDoubles)
        nan |= element != element ? 1 : 0;  // NOLINT(misc-redundant-expression): for NaN
      const double g = exact_double(element);
      double x = g;
      if constexpr (kSteps.has(kClips) && !kClipsFirst) x = clipped(x, lo, hi);
      double z = quotient<kSteps.quotient>(kScales ? x : x - a, b, reciprocal);
      if constexpr (kSteps.multiplies() && std::is_same_v<In, double> && !kDoubles)
        lost |= ((z != z) & (g == g)) ? 1 : 0;  // NOLINT(misc-redundant-expression): NaN
      if constexpr (kSteps.has(kMaps)) z = z * range + given.low;
      if constexpr (kSteps.has(kHolds)) z = clipped(z, given.lowest, given.highest);
      if constexpr (kSteps.has(kEnds)) {
        z = x >= hi ? given.high : z;
        z = x <= lo ? given.low : z;
      }
      if constexpr (kDoubles) nan |= z != z ? 1 : 0;  // NOLINT(misc-redundant-expression): for NaN
      if constexpr (std::is_integral_v<Out>) {
        out[i] = stored_rounded<Out>(z, 0);
      } else if constexpr (kHalves) {
        out[i].value = static_cast<float>(odd_double(z));
        odd.add(out[i]);
      } else {
        out[i] = static_cast<Out>(z);
      }
    }
    return {kHalves ? odd.has_nan() : nan != 0, lost != 0 || odd.has_subnormal()};
  }
};

/// The loops of the list that takes every operation: from doubles to doubles, which are divided.
inline constexpr std::array kAnySteps{
    Steps{Quotient::scales, kClips | kHolds},
    Steps{Quotient::scales, kHolds | kVaries},
    Steps{Quotient::divides, kClips | kHolds},
    Steps{Quotient::divides, kHolds | kVaries},
    Steps{Quotient::divides, kClips | kMaps | kHolds},
    Steps{Quotient::divides, kMaps | kHolds | kVaries},
    Steps{Quotient::divides, kClips | kMaps | kHolds | kEnds},
    Steps{Quotient::divides, kMaps | kHolds | kEnds | kVaries},
};

/// Loops that are an optimisation: without one of them, and with none, all bytes are the same. Those from or
/// to other elements than doubles also load or store.
// clang-format off
template <class In, class Out>
constexpr auto composed_steps() noexcept {
  using enum Quotient;
  constexpr Steps kStretch{multiplies, kClips | kMaps | kHolds | kEnds};
  if constexpr (std::is_same_v<Out, double>)
    return std::array{Steps{multiplies_plain, kClips}, Steps{multiplies_plain, kClips | kMaps},
                      Steps{multiplies, kClips | kHolds}, Steps{multiplies, kClips | kMaps}, kStretch};
  else if constexpr (std::is_same_v<Out, OddFloat>)
    return std::array{Steps{scales}, Steps{scales, kClips}, Steps{multiplies_plain, kClips},
                      Steps{multiplies, kClips}};
  else if constexpr (std::is_integral_v<Out> && !std::is_same_v<In, float>)
    return std::array{Steps{multiplies_plain, kClips | kMaps}};
  else if constexpr (std::is_integral_v<Out>)
    return std::array{Steps{scales, kClips | kHolds}, Steps{multiplies, kClips | kHolds},
                      Steps{multiplies_plain, kMaps}, Steps{multiplies_plain, kClips | kMaps},
                      Steps{multiplies, kClips | kMaps}, kStretch, Steps{divides, kClips | kHolds},
                      Steps{divides, kClips | kMaps | kHolds | kEnds}, Steps{divides, kHolds | kVaries},
                      Steps{divides, kClips | kMaps | kHolds | kEnds | kVaries}};
  else if constexpr (std::is_same_v<In, float>)
    return std::array{Steps{scales}, Steps{multiplies_plain}, Steps{multiplies_plain, kClips},
                      Steps{multiplies, kClips}, Steps{multiplies_plain, kMaps},
                      Steps{multiplies_plain, kClips | kMaps}, Steps{multiplies, kClips | kMaps}, kStretch,
                      Steps{divides, kClips | kHolds},
                      Steps{divides, kClips | kMaps | kHolds | kEnds}, Steps{divides, kVaries},
                      Steps{divides, kClips | kMaps | kHolds | kEnds | kVaries}};
  else
    return std::array{Steps{scales}, Steps{multiplies_plain}, Steps{multiplies_plain, kClips},
                      Steps{multiplies, kClips}, Steps{multiplies_plain, kClips | kMaps},
                      Steps{multiplies, kClips | kMaps}, kStretch};
}
// clang-format on

template <class In, class Out>
inline constexpr auto kComposedSteps = composed_steps<In, Out>();

/// Runs the first loop of a table that gives what is wanted; returns nothing if none does.
template <const auto& kTable, class In, class Out>
std::optional<Normalized> run_steps(SimdLevel level, const Steps& wanted, const In* in, Out* out,
                                    const StepNumbers& numbers, std::size_t count) noexcept {
  std::optional<Normalized> done;
  [&]<std::size_t... kRows>(std::index_sequence<kRows...>) {
    static_cast<void>(((kTable[kRows].give(wanted) && (done = run_loop<RunSteps<In, Out, kTable[kRows]>>(
                                                           level, in, out, numbers, count))) ||
                       ...));
  }
  (std::make_index_sequence<kTable.size()>());
  return done;
}

/// (y - a) / b with the clipped y, of integers that are floats, like their differences from a: float has 24
/// bits, and a quotient of two floats that is rounded to at least 2 * 24 bits and then to float is the one
/// that is rounded once (Figueroa, When is double rounding innocuous?, 1995).
template <class From>
struct DivideIntegers {
  [[gnu::always_inline]] static void run(const From* __restrict in, float* __restrict out, float lo, float hi,
                                         float a, float b, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = (clipped(static_cast<float>(in[i]), lo, hi) - a) / b;
    }
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

/// Counts what the cast makes of each z whose g is within the bounds, and so equals its clipped y: of a
/// finite x, infinities.
struct CountChanges {
  [[gnu::always_inline]] static ElementCounts run(const double* x, const double* g, const double* y,
                                                  const double* z, NormalizedLimits limits,
                                                  std::size_t count) noexcept {
    using Lane = std::uint64_t;
    std::array<Lane, 4> sums{};
    for (std::size_t i = 0; i < count; ++i) {  // without a branch, the loop is vectorized
      const Lane within{g[i] == y[i]};
      const Lane below = within & Lane{z[i] < limits.lowest};
      const Lane above = within & Lane{z[i] > limits.highest};
      sums[0] += below;
      sums[1] += above;
      sums[2] += (below | above) & Lane{std::fabs(x[i]) <= std::numeric_limits<double>::max()};
      sums[3] +=
          within & Lane{z[i] != 0} & Lane{z[i] >= limits.zero_lowest} & Lane{z[i] <= limits.zero_highest};
    }
    ElementCounts counts;
    counts.raised = limits.saturates ? sums[0] : 0;
    counts.lowered = limits.saturates ? sums[1] : 0;
    counts.became_infinite = limits.makes_infinite ? sums[2] : 0;
    counts.became_zero = sums[3];
    return counts;
  }
};

/// Counts what the cast of z changes: of elements whose g is not NaN and within the bounds, which y is then.
/// `clipped`: what was counted so far.
[[nodiscard]] ElementCounts changes_of(const Operation& operation, const Operands& operands,
                                       const NormalizedLimits& limits, const std::byte* in, Doubles& y,
                                       const double* z, std::size_t count, const ElementCounts& clipped,
                                       SimdLevel level) noexcept;

}  // namespace clipper
