#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "element/dtype.hpp"
#include "element/number.hpp"
#include "statistics/moments.hpp"

/// Adds integers and their squares to moments: templates over the element type that must be inlined into
/// functions compiled for an instruction set.
namespace clipper {

/// Adds integers of 8, 16 or 32 bits.
template <class T>
[[gnu::always_inline]] inline void add_integers(const T* elements, std::size_t count,
                                                Moments& moments) noexcept {
  // The two halves of a square are added separately. The sums of kBlock integers of at most 16 bits fit 32
  // bits, of which a vector has more lanes.
  constexpr std::size_t kBlock = 1024;
  using Partial = std::conditional_t<sizeof(T) < sizeof(std::int32_t), std::int32_t, std::int64_t>;
  using Square = UnsignedOfSize<sizeof(Partial)>;
  using Factor = std::conditional_t<std::is_signed_v<T>, Partial, Square>;
  constexpr int kHalf = 8 * sizeof(Square) / 2;
  constexpr auto kLow = static_cast<Square>(std::numeric_limits<Square>::max() >> kHalf);
  std::int64_t sum = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, count);
    Partial partial_sum = 0;
    Square partial_low = 0;
    Square partial_high = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto x = static_cast<Factor>(elements[i]);
      const auto square = static_cast<Square>(x * x);
      partial_sum += static_cast<Partial>(elements[i]);
      if constexpr (sizeof(T) == 1) {
        partial_low += square;
      } else {
        partial_low += square & kLow;
        partial_high += square >> kHalf;
      }
    }
    sum += partial_sum;
    low += partial_low;
    high += partial_high;
  }
  moments.sum.add(sum, 0);
  moments.squares.add(low, 0);
  moments.squares.add(high, kHalf);
}

/// A sum of numbers of 64 bits. g++ keeps one of 128 bits in memory.
struct CarrySum {
  std::uint64_t low = 0;
  std::uint64_t carries = 0;

  [[gnu::always_inline]] void add(std::uint64_t x) noexcept {
    low += x;
    carries += low < x ? 1 : 0;
  }
  [[nodiscard]] Int128 total() const noexcept { return static_cast<Int128>(UInt128{carries} << 64 | low); }
};

/// Adds integers of 64 bits.
template <class T>
requires(sizeof(T) == sizeof(std::int64_t))  //
    [[gnu::always_inline]] inline void add_integers(const T* elements, std::size_t count,
                                                    Moments& moments) noexcept {
  using Wide = std::conditional_t<std::is_signed_v<T>, Int128, UInt128>;
  CarrySum sum;
  CarrySum low;
  CarrySum high;
  std::uint64_t negative = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto square = static_cast<UInt128>(Wide{elements[i]} * elements[i]);
    sum.add(static_cast<std::uint64_t>(elements[i]));
    negative += elements[i] < 0 ? 1 : 0;  // such an element was added as 2^64 more
    low.add(static_cast<std::uint64_t>(square));
    high.add(static_cast<std::uint64_t>(square >> 64));
  }
  sum.carries -= negative;
  moments.sum.add(sum.total(), 0);
  moments.squares.add(low.total(), 0);
  moments.squares.add(high.total(), 64);
}

}  // namespace clipper
