#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "clip/clip.hpp"
#include "clip/operation.hpp"
#include "clip/store_loops.hpp"
#include "element/dtype.hpp"
#include "element/element.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/levels.hpp"

/// Tells the compiler that `in` and `out` of a loop are equal or do not overlap. Without it the loop over
/// vectors is guarded by an overlap test, which in == out fails.
#if defined(__clang__)
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

/// The steps of convert(): loops over a tile of elements, which compilers vectorize, for run_loop().
namespace clipper {

/// Elements as working elements: exact, except 64-bit integers that are scaled in float64.
template <class From, class Working>
struct Load {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const From* __restrict in, Working* __restrict out,
                                         std::size_t count) noexcept {
    if constexpr (HalfType<From> && std::is_same_v<Working, float>)
      widen_block<vector_bytes(kLevel)>(in, count, out);
    else if constexpr (HalfType<From>)
      by_floats(in, out, count, [](const From* halves, Working* numbers, std::size_t length) {
        std::array<float, kFloats> floats;
        widen_block<vector_bytes(kLevel)>(halves, length, floats.data());
        for (std::size_t i = 0; i < length; ++i) numbers[i] = static_cast<Working>(floats[i]);
      });
    else if constexpr (std::is_same_v<Working, double> && sizeof(From) == sizeof(double) &&
                       std::is_integral_v<From> && kAddsLongs<kLevel>)
      for (std::size_t i = 0; i < count; ++i) out[i] = nearest_double(in[i]);
    else
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Working>(in[i]);
  }
};

/// What is done with scale: x * scale + bias, or x / scale + bias.
enum class Factor : std::uint8_t { none, multiplies, divides };

/// What a loop looks for in a tile, besides what comes before it in this list.
enum class Counted : std::uint8_t { nothing, nan, moves, losses };

template <Factor kFactor, class Working>
[[gnu::always_inline]] inline Working scaled(Working x, Working scale, Working bias) noexcept {
  if constexpr (kFactor == Factor::none) return x;
  const Working g = (kFactor == Factor::divides ? x / scale : x * scale) + bias;
#if defined(__riscv)  // All NaNs become the same there; other machines keep sign and payload.
  using Bits = UnsignedOfSize<sizeof(Working)>;
  constexpr Bits kQuiet = Bits{1} << (std::numeric_limits<Working>::digits - 2);
  if (x != x) return std::bit_cast<Working>(std::bit_cast<Bits>(x) | kQuiet);
#endif
  return g;
}

/// What ScaleAndClip calculates with: one number for all elements, or one for each.
template <class Working>
struct ClipNumbers {
  static constexpr Working kInfinite = std::numeric_limits<Working>::infinity();  ///< 0 for integers

  const Working* lo;
  const Working* hi;
  const Working* scale;
  const Working* bias;
  Working lowest;  ///< what results are within, too
  Working highest;
  Working zero_lowest = 1;  ///< see Losses; nothing is lost
  Working zero_highest = 0;
  Working finite_lowest = std::min(std::numeric_limits<Working>::lowest(), -kInfinite);
  Working finite_highest = std::max(std::numeric_limits<Working>::max(), kInfinite);
  bool underflow = false;
  bool crosses = false;  ///< whether lo above hi leaves no element between them; otherwise it is hi, too
};

/// What a loop found of a tile.
struct ClipFound {
  std::uint64_t raised = 0;
  std::uint64_t lowered = 0;
  std::uint64_t became_zero = 0;
  bool has_rare = false;  ///< whether any g is NaN, or beyond the finite limits if losses are counted
};

/// Scale, bias and the clip, in one loop, which counts by g. `y` may be `x`. NaN stays.
template <class Working, Factor kFactor, bool kVaries, Counted kCounted>
struct ScaleAndClip {
  using Lane = UnsignedOfSize<sizeof(Working)>;
  [[gnu::always_inline]] static ClipFound run(const Working* x, Working* y, const ClipNumbers<Working>& given,
                                              std::size_t count) noexcept {
    const ClipNumbers<Working> numbers = given;
    Working lo = 0;
    Working hi = 0;
    Working least = 0;  // what is raised is below
    Working zero_lowest = 0;
    Working zero_highest = 0;
    Working scale = 0;
    Working bias = 0;
    bool is_product = false;  // whose zero counts unless x is 0
    const auto load = [&](std::size_t i) __attribute__((always_inline)) {
      const Working min = numbers.lo[i];
      const Working max = numbers.hi[i];
      if constexpr (kFactor != Factor::none) scale = numbers.scale[i], bias = numbers.bias[i];
      lo = clipped(min, numbers.lowest, numbers.highest);
      hi = clipped(max, numbers.lowest, numbers.highest);
      least = lo > hi ? hi : lo;
      if constexpr (kCounted != Counted::losses) return;
      const Working first = !numbers.crosses && min > max ? max : min;
      zero_lowest = first > numbers.zero_lowest ? first : numbers.zero_lowest;
      zero_highest = max < numbers.zero_highest ? max : numbers.zero_highest;
      if constexpr (kFactor != Factor::none) is_product = numbers.underflow && scale != 0 && bias == 0;
    };
    if constexpr (!kVaries) load(0);
    Working finite = std::numeric_limits<Working>::infinity();
    if constexpr (std::is_floating_point_v<Working> && kCounted == Counted::losses)
      finite = std::min(numbers.finite_highest, -numbers.finite_lowest);
    Lane raised = 0;
    Lane lowered = 0;
    Lane zeros = 0;
    Lane rare = 0;
    CLIPPER_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (kVaries) load(i);
      const Working from = x[i];
      const Working g = scaled<kFactor>(from, scale, bias);
      if constexpr (kCounted >= Counted::moves) {
        raised += Lane{g < least};
        lowered += Lane{g > hi};
      }
      if constexpr (kCounted == Counted::losses) {
        const Working factor = is_product ? from : g;
        zeros += Lane{g >= zero_lowest} & Lane{g <= zero_highest} & Lane{factor != 0};
        if constexpr (std::is_integral_v<Working>)
          rare |= Lane{g > numbers.finite_highest} | Lane{g < numbers.finite_lowest};
      }
      if constexpr (std::is_floating_point_v<Working> && kCounted != Counted::nothing)
        rare |= Lane{!(std::fabs(g) <= finite)};
      y[i] = clipped(g, lo, hi);
    }
    return {raised, lowered, zeros, rare != 0};
  }
};

/// Counts NaN. Returns whether any other is beyond the finite limits, too.
template <class Working>
struct CountNan {
  [[gnu::always_inline]] static std::pair<std::uint64_t, bool> run(const Working* x,
                                                                   const ClipNumbers<Working>& numbers,
                                                                   std::size_t count) noexcept {
    using Lane = UnsignedOfSize<sizeof(Working)>;
    const ClipNumbers<Working> limits = numbers;
    Lane nan = 0;
    Lane infinite = 0;
    for (std::size_t i = 0; i < count; ++i) {
      nan += Lane{x[i] != x[i]};  // NOLINT(misc-redundant-expression)
      infinite |= Lane{x[i] > limits.finite_highest} | Lane{x[i] < limits.finite_lowest};
    }
    return {nan, infinite != 0};
  }
};

/// NaN becomes a number.
template <class Working>
struct ReplaceNan {
  [[gnu::always_inline]] static void run(Working* x, Working number, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) x[i] = x[i] != x[i] ? number : x[i];  // NOLINT
  }
};

/// Writes what elements whose g is beyond lo and hi become, if that is not what clipped ones do. Results of
/// NaN keep the bits of a mask, and get others.
template <class Working, std::size_t kSize>
struct Mend {
  using Bits = UnsignedOfSize<kSize>;
  [[gnu::always_inline]] static void run(const Working* __restrict g, Bits* __restrict out, Working lo,
                                         Working hi, Bits below, Bits above, Bits kept, Bits nan,
                                         std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      const Bits stored = out[i];
      const Bits of_nan = static_cast<Bits>((stored & kept) | nan);
      const Bits number = g[i] == g[i] ? stored : of_nan;  // NOLINT(misc-redundant-expression): NaN
      const Bits result = g[i] < lo ? below : number;
      out[i] = g[i] > hi ? above : result;
    }
  }
};

/// What elements below lo, above hi and NaN become, if that is not what the clipped element does.
struct Results {
  PerElement<ElementBits> below;
  PerElement<ElementBits> above;
  PerElement<ElementBits> nan;

  Results(const Cast& cast, const Operands& operands) noexcept
      : below(of(cast.below ? operands[Slot::below] : Operand(), cast.below, cast.min, operands[Slot::min])),
        above(of(cast.above ? operands[Slot::above] : Operand(), cast.above, cast.max, operands[Slot::max])),
        nan(of({}, std::nullopt, cast.nan, operands[Slot::nan_result])) {}

  static PerElement<ElementBits> of(const Operand& replacements,
                                    const std::optional<ElementBits>& replacement,
                                    const std::optional<ElementBits>& bound, const Operand& each) noexcept {
    if (replacements.data != nullptr) return {replacements, {}};
    if (replacement) return PerElement(&*replacement);
    if (each.data != nullptr) return {each, {}};
    return bound ? PerElement(&*bound) : PerElement<ElementBits>();
  }
};

// The dtypes in which conversions clip, and what their elements become.

/// with_type() for working dtypes.
template <class F>
decltype(auto) with_working_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::int32: return f.template operator()<std::int32_t>();
    case DType::int64: return f.template operator()<std::int64_t>();
    case DType::uint64: return f.template operator()<std::uint64_t>();
    case DType::float32: return f.template operator()<float>();
    default: return f.template operator()<double>();
  }
}

template <class Working>
constexpr DType kDTypeOf = std::is_same_v<Working, std::int32_t>    ? DType::int32
                           : std::is_same_v<Working, std::int64_t>  ? DType::int64
                           : std::is_same_v<Working, std::uint64_t> ? DType::uint64
                           : std::is_same_v<Working, float>         ? DType::float32
                                                                    : DType::float64;

/// Whether elements of From can be converted to Working: those of each dtype to at most two working dtypes.
template <class From, class Working>
constexpr bool kLoads = HalfType<From> || std::is_same_v<From, float> ? std::is_same_v<Working, float>
                        : std::is_same_v<Working, double> || std::is_same_v<From, Working> ? true
                        : std::is_same_v<Working, std::int32_t>
                            ? std::is_integral_v<From> && sizeof(From) < sizeof(std::int32_t)
                            : std::is_same_v<Working, std::int64_t>&& std::is_same_v<From, std::uint32_t>;

template <class F>
decltype(auto) with_round(Round round, F&& f) {
  switch (round) {
    case Round::half_even: return f.template operator()<Round::half_even>();
    case Round::half_away: return f.template operator()<Round::half_away>();
    case Round::trunc: return f.template operator()<Round::trunc>();
    case Round::floor: return f.template operator()<Round::floor>();
    case Round::ceil: return f.template operator()<Round::ceil>();
  }
  __builtin_unreachable();
}

/// x as a cast rounds it.
template <class T>
[[nodiscard]] T rounded_by([[maybe_unused]] std::optional<Round> round, T x) noexcept {
  if constexpr (std::is_floating_point_v<T>)
    if (round) return with_round(*round, [&]<Round kRound>() { return rounded<kRound>(x); });
  return x;
}

[[nodiscard]] inline std::uint64_t bits_of(SignedInteger integer) noexcept {
  return integer.negative ? 0 - integer.magnitude : integer.magnitude;
}

/// The working element, which is not NaN, as one of a dtype without kernels, and whether that is finite.
template <class Working>
[[nodiscard]] std::pair<ElementBits, bool> stored_narrowed(DType to, Working x) noexcept {
  const std::uint8_t element = Narrowing(to)(float_to_odd(x));
  return {element, std::isfinite(widened(to, element))};
}

/// The same of any dtype; of integers in their range.
template <class Working>
[[nodiscard]] ElementBits stored_bits(DType to, Working x, std::uint64_t zero_point = 0) noexcept {
  if (!has_kernels(to)) return stored_narrowed(to, x).first;
  return with_type(to, [&]<class To>() { return to_bits(stored<To>(x, zero_point)); });
}

}  // namespace clipper
