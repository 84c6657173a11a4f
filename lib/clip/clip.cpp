#include "clip/clip.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/bounds_rule.hpp"
#include "clip/convert.hpp"
#include "clip/convert_loops.hpp"
#include "clip/kernel.hpp"
#include "clip/operation.hpp"
#include "clip/scale_integers.hpp"
#include "clip/tile.hpp"
#include "element/logical_type.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/vector.hpp"

namespace clipper {
namespace {

template <class T>
std::optional<std::size_t> find_nan_in(const T* elements, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 4096;  // elements
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const T* const block = elements + begin;
    const std::size_t length = std::min(kBlock, count - begin);
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) any |= is_nan(block[i]);
    if (any)
      return begin + static_cast<std::size_t>(
                         std::find_if(block, block + length, [](T x) { return is_nan(x); }) - block);
  }
  return std::nullopt;
}

bool are_exchanged(const Operation& bounds) noexcept {
  return with_type(bounds.dtype, [&]<class T>() {
    return comparable(from_bits<T>(bounds.lo)) > comparable(from_bits<T>(bounds.hi));
  });
}

/// Runs the kernel; the counts are those of clip_by().
template <Counting kCounting>
ElementCounts clip_with(const Operation& operation, const Operands& operands, const std::byte* in,
                        std::byte* out, std::size_t count, SimdLevel level) noexcept {
  return with_type(operation.dtype, [&]<class T>() {
    return with_level(level, [&]<SimdLevel kLevel>() {
      using OfEach = RuleChoice<kLevel, T, kCounting, ParameterVectors>;
      using OfAll = RuleChoice<kLevel, T, kCounting, NoVectors>;
      return operands.vary() ? OfEach::clip(operation, operands, in, out, count)
                             : OfAll::clip(operation, operands, in, out, count);
    });
  });
}

/// Clips dates or durations: as integers, and then NaT again as a NaN.
ElementCounts clip_ticks(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
                         SimdLevel level) noexcept {
  const auto replacement = from_bits<std::int64_t>(operation.nan.value_or(to_bits(kNaT)));
  return for_each_block(operation.dtype, in, out, count,
                        [&](std::size_t /*done*/, const std::byte* from, std::byte* to, std::size_t length) {
                          ElementCounts counts =
                              clip_by_kernels(operation, kNumbers, from, to, length, level, Counting::on);
                          const auto* const elements = reinterpret_cast<const std::int64_t*>(from);
                          auto* const results = reinterpret_cast<std::int64_t*>(to);
                          for (std::size_t i = 0; i < length; ++i) {
                            const bool is_nat = elements[i] == kNaT;
                            counts.nan += is_nat ? 1 : 0;
                            counts.raised -= is_nat && results[i] != kNaT ? 1 : 0;
                            results[i] = is_nat ? replacement : results[i];
                          }
                          return counts;
                        });
}

/// What compares like the element: of a half an integer, sign and magnitude as two's complement, in which
/// both zeros are 0, and NaN `nan`.
template <class T>
[[gnu::always_inline]] inline auto compared(T x, [[maybe_unused]] std::int16_t nan) noexcept {
  if constexpr (HalfType<T>) {
    const auto magnitude = static_cast<std::int16_t>(x.bits & 0x7fff);
    const auto sign = static_cast<std::int16_t>(static_cast<std::int16_t>(x.bits) >> 15);
    const auto number = static_cast<std::int16_t>((magnitude ^ sign) - sign);
    return magnitude > static_cast<std::int16_t>(T::kInfinity) ? nan : number;
  } else {
    return x;
  }
}

template <class T>
struct AllOrdered {
  [[gnu::always_inline]] static bool run(const T* min, const T* max, std::size_t count) noexcept {
    using Limits = std::numeric_limits<std::int16_t>;
    constexpr std::size_t kBlock = 1024;
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
      const std::size_t end = std::min(begin + kBlock, count);
      using Lane = UnsignedOfSize<sizeof(T)>;
      Lane wrong = 0;
      for (std::size_t i = begin; i < end; ++i)  // without a branch it is vectorized
        wrong = static_cast<Lane>(
            wrong | Lane{!(compared(min[i], Limits::max()) <= compared(max[i], Limits::min()))});
      if (wrong != 0) return false;
    }
    return true;
  }
};

}  // namespace

ElementCounts clip_by_kernels(const Operation& operation, const Operands& operands, const std::byte* in,
                              std::byte* out, std::size_t count, SimdLevel level,
                              Counting counting) noexcept {
  if (counting == Counting::off) return clip_with<Counting::off>(operation, operands, in, out, count, level);
  const bool exchanged = !operands.vary() && are_exchanged(operation);
  const bool replaces = is_floating(operation.dtype) && replaces_nan(operation, operands);
  if (!exchanged && !replaces) return clip_with<Counting::on>(operation, operands, in, out, count, level);
  // These cases are too rare for kernels of their own: a block is clipped once more. With lo > hi elements
  // move to hi, as if both bounds were hi; the sign that a zero takes from hi is no move. NaNs pass a kernel
  // that counts them.
  const Operation counted =
      clip_operation(operation.dtype, exchanged ? operation.hi : operation.lo, operation.hi);
  return for_each_block(operation.dtype, in, out, count,
                        [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
                          const Operands of_block = operands.after(done);
                          const ElementCounts counts =
                              clip_with<Counting::on>(counted, of_block, from, to, length, level);
                          if (exchanged || counts.nan != 0)
                            clip_with<Counting::off>(operation, of_block, from, to, length, level);
                          return counts;
                        });
}

namespace {

ElementCounts clip_all(const Operation& operation, const Operands& operands, const std::byte* in,
                       std::byte* out, std::size_t count, SimdLevel level, Counting counting,
                       const Losses* losses) noexcept {
  if (operation.has_nat && !operands.vary()) return clip_ticks(operation, in, out, count, level);
  if (operation.arithmetic != Arithmetic::none && !is_floating(operation.dtype))
    return scale_integers(operation, operands, in, out, count, level, counting, losses);
  if (operation.arithmetic != Arithmetic::none) {
    if (operation.dtype != DType::float16 || level == SimdLevel::baseline || operands.vary() ||
        operation.nan || counting == Counting::on)
      return scale_floats(operation, operands, in, out, count, counting, level, losses);
    run_loop<ScaleHalves>(level, operation, in, out, count);
    return {};
  }
  if (may_have_edges(operation)) return clip_edges(operation, operands, in, out, count, level, counting);
  return clip_by_kernels(operation, operands, in, out, count, level, counting);
}

}  // namespace

void clip(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
          std::size_t count, SimdLevel level) noexcept {
  static_cast<void>(clip_all(operation, operands, in, out, count, level, Counting::off, nullptr));
}

void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept {
  clip(operation, kNumbers, in, out, count, level);
}

ElementCounts clip_and_count(const Operation& operation, const Operands& operands, const std::byte* in,
                             std::byte* out, std::size_t count, SimdLevel level,
                             const Losses* losses) noexcept {
  return clip_all(operation, operands, in, out, count, level, Counting::on, losses);
}

ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, SimdLevel level) noexcept {
  return clip_and_count(operation, kNumbers, in, out, count, level);
}

Converted apply(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                std::size_t count, Counting counting, SimdLevel level, const Losses* losses) noexcept {
  if (operation.normalization) return normalize(operation, operands, in, out, count, counting, level, losses);
  if (operation.cast) return convert(operation, operands, in, out, count, counting, level, losses);
  if (counting == Counting::on)
    return {clip_and_count(operation, operands, in, out, count, level, losses), {}, {}};
  clip(operation, operands, in, out, count, level);
  return {};
}

std::optional<std::size_t> find_nan(DType dtype, const std::byte* elements, std::size_t count) noexcept {
  return with_type(dtype, [=]<class T>() -> std::optional<std::size_t> {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    return find_nan_in(reinterpret_cast<const T*>(elements), count);
  });
}

std::optional<std::size_t> find_nan(const Operation& operation, const std::byte* elements,
                                    std::size_t count) noexcept {
  if (!operation.has_nat) return find_nan(operation.dtype, elements, count);
  const auto* const ticks = reinterpret_cast<const std::int64_t*>(elements);
  const auto* const found = std::find(ticks, ticks + count, kNaT);
  return found == ticks + count ? std::nullopt : std::optional(static_cast<std::size_t>(found - ticks));
}

bool are_ordered_bounds(DType dtype, const std::byte* min, const std::byte* max, std::size_t count,
                        SimdLevel level) noexcept {
  return with_type(dtype, [=]<class T>() {
    return run_loop<AllOrdered<T>>(level, reinterpret_cast<const T*>(min), reinterpret_cast<const T*>(max),
                                   count);
  });
}

namespace {

/// What the loops need to know of a float dtype, whose elements they handle as bits.
template <class Bits>
struct Format {
  Bits sign;
  Bits infinity;

  explicit Format(DType dtype) noexcept
      : sign(static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1))),
        infinity(static_cast<Bits>(((Bits{1} << traits(dtype).exponent_bits) - 1)
                                   << traits(dtype).fraction_bits)) {}

  [[nodiscard, gnu::always_inline]] Bits magnitude(Bits x) const noexcept {
    return static_cast<Bits>(x & ~sign);
  }
  /// All ones if x is NaN, otherwise 0: by a subtraction, because vectors of SSE2 and AVX2 cannot compare
  /// unsigned integers.
  [[nodiscard, gnu::always_inline]] Bits nan_mask(Bits x) const noexcept {
    const auto is_nan =
        static_cast<Bits>(static_cast<Bits>(infinity - magnitude(x)) >> (8 * sizeof(Bits) - 1));
    return static_cast<Bits>(Bits{0} - is_nan);
  }
  [[nodiscard, gnu::always_inline]] bool is_nan(Bits x) const noexcept { return nan_mask(x) != 0; }
};

/// `a` where the mask has ones, otherwise `b`.
template <class Bits>
[[gnu::always_inline]] inline Bits selected(Bits mask, Bits a, Bits b) noexcept {
  return static_cast<Bits>((a & mask) | (b & ~mask));
}

/// The zero that every zero among the results becomes; any other number means that they stay.
template <class Bits>
[[gnu::always_inline]] inline Bits zero_for(const Format<Bits>& format, ZeroTie tie, Bits lo,
                                            Bits hi) noexcept {
  if (tie == ZeroTie::upper) return hi;
  const Bits at_lo = lo == 0 && tie == ZeroTie::ordered ? lo : format.infinity;
  return hi == format.sign && tie == ZeroTie::ordered ? hi : at_lo;
}

/// Where a bound is NaN, both become infinite. Returns whether any is.
template <class Bits>
struct WithoutNan {
  [[gnu::always_inline]] static bool run(const Bits* lo, const Bits* hi, Bits* __restrict lo_result,
                                         Bits* __restrict hi_result, Format<Bits> format,
                                         std::size_t count) noexcept {
    const auto lowest = static_cast<Bits>(format.infinity | format.sign);
    Bits found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto any = static_cast<Bits>(format.nan_mask(lo[i]) | format.nan_mask(hi[i]));
      lo_result[i] = selected(any, lowest, lo[i]);
      hi_result[i] = selected(any, format.infinity, hi[i]);
      found = static_cast<Bits>(found | any);
    }
    return found != 0;
  }
};

/// `x` is before, `y` after the kernel. The bounds are those of all elements unless kVaries.
template <class Bits, bool kVaries>
struct Mend {
  [[gnu::always_inline]] static void run(const Bits* x, Bits* __restrict y, const Bits* lo, const Bits* hi,
                                         Format<Bits> format, ZeroTie tie, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      const Bits min = lo[kVaries ? i : 0];
      const Bits max = hi[kVaries ? i : 0];
      const Bits zero = zero_for(format, tie, min, max);
      const Bits nan = selected(format.nan_mask(min), min, max);
      Bits result = y[i];
      result = format.magnitude(result) == 0 && format.magnitude(zero) == 0 ? zero : result;
      const auto is_poisoned = static_cast<Bits>(format.nan_mask(nan) & ~format.nan_mask(x[i]));
      y[i] = selected(is_poisoned, nan, result);
    }
  }
};

template <class Bits, bool kVaries>
ElementCounts clip_and_mend(const Operation& operation, const Operands& operands, const std::byte* in,
                            std::byte* out, std::size_t count, SimdLevel level, Counting counting) noexcept {
  const Format<Bits> format(operation.dtype);
  const std::array bounds{static_cast<Bits>(operation.lo), static_cast<Bits>(operation.hi)};
  const bool is_nan = !kVaries && (format.is_nan(bounds[0]) || format.is_nan(bounds[1]));
  Operation clip = clip_operation(operation.dtype, operation.lo, operation.hi);
  if (is_nan) clip.lo = lowest_element(operation.dtype);
  if (is_nan) clip.hi = highest_element(operation.dtype);
  clip.nan = operation.nan;
  const bool mends =
      is_nan || (kVaries ? operation.zero_tie != ZeroTie::element
                         : format.magnitude(zero_for(format, operation.zero_tie, bounds[0], bounds[1])) == 0);
  if (!kVaries && !mends) return clip_by_kernels(clip, operands, in, out, count, level, counting);
  alignas(64) std::array<Bits, sizeof(Block) / sizeof(Bits)> lo;
  alignas(64) std::array<Bits, sizeof(Block) / sizeof(Bits)> hi;
  return for_each_block(
      operation.dtype, in, out, count,
      [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
        Operands numbers = operands.after(done);
        const Bits* min = bounds.data();
        const Bits* max = min + 1;
        bool has_nan = false;
        if constexpr (kVaries) {
          min = numbers.as<Bits>(Slot::lo);
          max = numbers.as<Bits>(Slot::hi);
          has_nan = operation.poisons &&
                    run_loop<WithoutNan<Bits>>(level, min, max, lo.data(), hi.data(), format, length);
          if (has_nan) numbers.set(Slot::lo, lo.data());
          if (has_nan) numbers.set(Slot::hi, hi.data());
        }
        const ElementCounts counts = clip_by_kernels(clip, numbers, from, to, length, level, counting);
        if (mends || has_nan)
          run_loop<Mend<Bits, kVaries>>(level, reinterpret_cast<const Bits*>(from),
                                        reinterpret_cast<Bits*>(to), min, max, format, operation.zero_tie,
                                        length);
        return counts;
      });
}

}  // namespace

ElementCounts clip_edges(const Operation& operation, const Operands& operands, const std::byte* in,
                         std::byte* out, std::size_t count, SimdLevel level, Counting counting) noexcept {
  return with_size(traits(operation.dtype).size, [&]<std::size_t kSize>() -> ElementCounts {
    using Bits = UnsignedOfSize<kSize>;
    if constexpr (kSize == 1)
      return {};  // only floats of 16 bits and more have edges
    else
      return operands.vary()
                 ? clip_and_mend<Bits, true>(operation, operands, in, out, count, level, counting)
                 : clip_and_mend<Bits, false>(operation, operands, in, out, count, level, counting);
  });
}

}  // namespace clipper
