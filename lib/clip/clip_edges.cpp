#include <array>

#include "clip/convert_loops.hpp"
#include "clip/kernel.hpp"
#include "clip/tile.hpp"

namespace clipper {
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
