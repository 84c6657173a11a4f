#include <algorithm>
#include <array>
#include <optional>

#include "clip/convert_loops.hpp"
#include "clip/kernel.hpp"

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

/// Zeros become `zero`.
template <class Bits>
struct ReplaceZeros {
  [[gnu::always_inline]] static void run(Bits* elements, Bits sign, Bits zero, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) elements[i] = (elements[i] & ~sign) == 0 ? zero : elements[i];
  }
};

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

/// `x` is before, `y` after the kernel.
template <class Bits>
struct Mend {
  [[gnu::always_inline]] static void run(const Bits* x, Bits* __restrict y, const Bits* lo, const Bits* hi,
                                         Format<Bits> format, ZeroTie tie, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      const Bits zero = zero_for(format, tie, lo[i], hi[i]);
      const Bits nan = selected(format.nan_mask(lo[i]), lo[i], hi[i]);
      Bits result = y[i];
      result = format.magnitude(result) == 0 && format.magnitude(zero) == 0 ? zero : result;
      const auto is_poisoned = static_cast<Bits>(format.nan_mask(nan) & ~format.nan_mask(x[i]));
      y[i] = selected(is_poisoned, nan, result);
    }
  }
};

ElementCounts clip_without_edges(Operation operation, const Operands& operands, const std::byte* in,
                                 std::byte* out, std::size_t count, SimdLevel level,
                                 Counting counting) noexcept {
  operation.zero_tie = ZeroTie::element;
  operation.poisons = false;
  if (counting == Counting::on) return clip_and_count(operation, operands, in, out, count, level);
  clip(operation, operands, in, out, count, level);
  return {};
}

template <class Bits>
ElementCounts clip_with_bounds(const Operation& operation, const Operands& operands, const std::byte* in,
                               std::byte* out, std::size_t count, SimdLevel level,
                               Counting counting) noexcept {
  alignas(64) std::array<Bits, kBlockSize / sizeof(Bits)> lo;
  alignas(64) std::array<Bits, kBlockSize / sizeof(Bits)> hi;
  return for_each_block<Input::read_again>(
      operation, in, out, count,
      [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
        const Operands of_block = operands.after(done);
        const bool has_nan =
            operation.poisons &&
            run_loop<WithoutNan<Bits>>(level, of_block.as<Bits>(Slot::lo), of_block.as<Bits>(Slot::hi),
                                       lo.data(), hi.data(), Format<Bits>(operation.dtype), length);
        if (!has_nan && operation.zero_tie == ZeroTie::element)
          return clip_without_edges(operation, of_block, from, to, length, level, counting);
        Operands numbers = of_block;
        if (has_nan) numbers.set(Slot::lo, lo.data());
        if (has_nan) numbers.set(Slot::hi, hi.data());
        const ElementCounts counts =
            clip_without_edges(operation, numbers, from, to, length, level, counting);
        run_loop<Mend<Bits>>(level, reinterpret_cast<const Bits*>(from), reinterpret_cast<Bits*>(to),
                             of_block.as<Bits>(Slot::lo), of_block.as<Bits>(Slot::hi),
                             Format<Bits>(operation.dtype), operation.zero_tie, length);
        return counts;
      });
}

/// With bounds that are numbers and not NaN: all zeros among the results become `zero`.
template <class Bits>
ElementCounts clip_with_zero(const Operation& operation, Bits zero, const std::byte* in, std::byte* out,
                             std::size_t count, SimdLevel level, Counting counting) noexcept {
  return for_each_block<Input::read_once>(
      operation, in, out, count,
      [&](std::size_t /*done*/, const std::byte* from, std::byte* to, std::size_t length) {
        const ElementCounts counts =
            clip_without_edges(operation, kNumbers, from, to, length, level, counting);
        run_loop<ReplaceZeros<Bits>>(level, reinterpret_cast<Bits*>(to), Format<Bits>(operation.dtype).sign,
                                     zero, length);
        return counts;
      });
}

/// A NaN as a bound that is a number: its copies take the place of an array.
template <class Bits>
ElementCounts clip_poisoned(const Operation& operation, const std::byte* in, std::byte* out,
                            std::size_t count, SimdLevel level, Counting counting) noexcept {
  constexpr std::size_t kCopies = 1024;
  const auto copies = [](ElementBits bits) {
    std::array<Bits, kCopies> result;
    result.fill(static_cast<Bits>(bits));
    return result;
  };
  const std::array lo = copies(operation.lo);
  const std::array hi = copies(operation.hi);
  const std::array nan = copies(operation.nan.value_or(0));
  Operands operands;
  operands.set(Slot::lo, lo.data());
  operands.set(Slot::hi, hi.data());
  if (operation.nan) operands.set(Slot::nan, nan.data());
  ElementCounts counts;
  for (std::size_t done = 0; done < count; done += kCopies) {
    const std::size_t at = done * sizeof(Bits);
    counts += clip_with_bounds<Bits>(operation, operands, in + at, out + at, std::min(kCopies, count - done),
                                     level, counting);
  }
  return counts;
}

template <class Bits>
ElementCounts clip_numbers(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
                           SimdLevel level, Counting counting) noexcept {
  const Format<Bits> format(operation.dtype);
  const auto lo = static_cast<Bits>(operation.lo);
  const auto hi = static_cast<Bits>(operation.hi);
  if (format.is_nan(lo) || format.is_nan(hi))
    return clip_poisoned<Bits>(operation, in, out, count, level, counting);
  const Bits zero = zero_for(format, operation.zero_tie, lo, hi);
  if (format.magnitude(zero) == 0)
    return clip_with_zero<Bits>(operation, zero, in, out, count, level, counting);
  return clip_without_edges(operation, kNumbers, in, out, count, level, counting);
}

}  // namespace

ElementCounts clip_edges(const Operation& operation, const Operands& operands, const std::byte* in,
                         std::byte* out, std::size_t count, SimdLevel level, Counting counting) noexcept {
  const auto run = [&]<class Bits>() {
    return operands.vary() ? clip_with_bounds<Bits>(operation, operands, in, out, count, level, counting)
                           : clip_numbers<Bits>(operation, in, out, count, level, counting);
  };
  switch (traits(operation.dtype).size) {
    case 2: return run.template operator()<std::uint16_t>();
    case 4: return run.template operator()<std::uint32_t>();
    default: return run.template operator()<std::uint64_t>();
  }
}

}  // namespace clipper
