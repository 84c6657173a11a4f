#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "element/dtype.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/vector.hpp"
#include "statistics/figure.hpp"

/// Adds elements and their squares to moments without rounding: templates over the element type that must be
/// inlined into functions compiled for an instruction set.
namespace clipper {

/// The element, or 0 if it is not finite.
template <class T>
[[gnu::always_inline]] inline T finite_or_zero(T x) noexcept {
  const auto bits = static_cast<Key<T>>(to_bits(x));
  const auto magnitude = static_cast<Key<T>>(bits & std::numeric_limits<Key<T>>::max());
  const Key<T> finite = magnitude <= highest_finite_key<T>() ? bits : Key<T>{};
  return std::bit_cast<T>(finite);
}

/// Elements of a block, which is added in float64 before its sums are added to the moments.
inline constexpr std::size_t kSumBlock = 1024;

/// Of the numbers whose sums add_window() adds exactly, scaled to less than 4.
template <class T>
inline constexpr int kWindowBits = std::is_same_v<T, double> ? 68 : 44;

/// How many exponents elements of type E may have, from that of the largest one down, to be exact sums of
/// pieces.
template <class E>
[[nodiscard]] constexpr int window_of() noexcept {
  constexpr int kBits = kWindowBits<E>;
  if constexpr (std::is_same_v<E, Float16>)
    return 40;  // all: they are less than 2^16 and multiples of 2^-24
  else if constexpr (HalfType<E>)
    return kBits - E::kFractionBits;
  else
    return kBits + 1 - std::numeric_limits<E>::digits;
}

/// The exponent of a magnitude, which is the bits of a float without the sign: 0 and more.
template <class T>
[[gnu::always_inline]] inline int exponent_of(Key<T> magnitude) noexcept {
  return static_cast<int>(magnitude >> (std::numeric_limits<T>::digits - 1));
}

/// The sum of the lanes, which are multiples of `unit`, in units.
template <class Lanes>
[[gnu::always_inline]] inline std::int64_t total_of(const Lanes& lanes, double unit) noexcept {
  const Lanes integers = lanes / unit;
  std::int64_t result = 0;
  for (std::size_t i = 0; i < sizeof(Lanes) / sizeof(double); ++i)
    result += static_cast<std::int64_t>(integers[i]);
  return result;
}

/// Adds `rounder` and subtracts it again, which rounds to a multiple of a unit if it is 1.5 * 2^52 units.
template <class Lanes>
[[gnu::always_inline]] inline void round_to_unit(Lanes& x, double rounder) noexcept {
  x = (x + rounder) - rounder;
}
inline constexpr double kRounder = 0x1.8p52;

/// Sums of float64 numbers, scaled to less than 4, in three pieces. Piece i is kUnits[i] times an integer of
/// at most 2^22 in magnitude, because each piece but the last is rounded to nearest. So the sums of kSumBlock
/// pieces, or of products of two pieces, are exact in two or more lanes of float64.
template <class Lanes>
struct DoubleSums {
  static constexpr std::size_t kPieces = 3;
  static constexpr std::array<int, kPieces> kExponents{-20, -43, -66};
  static constexpr std::array<double, kPieces> kUnits{0x1p-20, 0x1p-43, 0x1p-66};

  std::array<Lanes, kPieces> sums{};
  std::array<std::array<Lanes, kPieces>, kPieces> products{};  ///< of pieces j and k; only for k <= j

  [[gnu::always_inline]] void add(const Lanes& x) noexcept {
    Lanes rest = x;
    std::array<Lanes, kPieces> pieces;
    for (std::size_t j = 0; j < kPieces; ++j) {
      pieces[j] = rest;
      if (j + 1 < kPieces) round_to_unit(pieces[j], kRounder * kUnits[j]);
      rest -= pieces[j];
      sums[j] += pieces[j];
      for (std::size_t k = 0; k <= j; ++k) products[j][k] += pieces[j] * pieces[k];
    }
  }

  /// The numbers were scaled by 2^shift.
  [[gnu::always_inline]] void add_to(Moments& moments, int shift) const noexcept {
    for (std::size_t j = 0; j < kPieces; ++j) {
      moments.sum.add(total_of(sums[j], kUnits[j]), kExponents[j] - shift);
      for (std::size_t k = 0; k <= j; ++k)
        moments.squares.add(total_of(products[j][k], kUnits[j] * kUnits[k]),
                            kExponents[j] + kExponents[k] - 2 * shift + (k < j ? 1 : 0));
    }
  }
};

/// The same for numbers of at most 24 significant bits, those of a float, which are multiples of kUnit. Their
/// squares are exact, and are added in two pieces.
template <class Lanes>
struct FloatSums {
  static constexpr int kExponent = 2 - kWindowBits<float>;
  static constexpr double kUnit = 0x1p-42;
  static constexpr int kUpperExponent = -40;
  static constexpr double kUpperUnit =
      0x1p-40;  // kSumBlock / 2 squares, which are less than 16, are 2^53 units

  Lanes sum{};
  Lanes upper{};
  Lanes lower{};

  [[gnu::always_inline]] void add(const Lanes& x) noexcept {
    const Lanes square = x * x;
    Lanes piece = square;
    round_to_unit(piece, kRounder * kUpperUnit);
    sum += x;
    upper += piece;
    lower += square - piece;
  }

  [[gnu::always_inline]] void add_to(Moments& moments, int shift) const noexcept {
    moments.sum.add(total_of(sum, kUnit), kExponent - shift);
    moments.squares.add(total_of(upper, kUpperUnit), kUpperExponent - 2 * shift);
    moments.squares.add(total_of(lower, kUnit * kUnit), 2 * (kExponent - shift));
  }
};

/// Adds a block of elements. Each is 0 or has one of the exponents of the window that ends with `top`.
template <std::size_t kBytes, class Sums, class T>
[[gnu::always_inline]] inline void add_window(const T* elements, int top, Moments& moments) noexcept {
  using Lanes = Vector<double, kBytes>;
  constexpr std::size_t kLanes = kBytes / sizeof(double);
  // The smallest elements are scaled less, so that no product of pieces is below the lowest exponent of an
  // ExactSum. They are multiples of the last unit nevertheless.
  constexpr int kMaxShift = DoubleSums<Lanes>::kExponents.back() - ExactSum::kLowestExponent / 2;
  const int shift = std::min(std::numeric_limits<T>::max_exponent - top, kMaxShift);
  const double scale = std::ldexp(1.0, shift);
  Sums sums;
  for (std::size_t i = 0; i < kSumBlock; i += kLanes) {
    Vector<T, kLanes * sizeof(T)> x;
    std::memcpy(&x, elements + i, sizeof(x));
    Lanes wide;
    convert_lanes(x, wide);
    sums.add(wide * scale);
  }
  sums.add_to(moments, shift);
}

template <class T, std::size_t kBytes>
using Sums = std::conditional_t<std::is_same_v<T, double>, DoubleSums<Vector<double, kBytes>>,
                                FloatSums<Vector<double, kBytes>>>;

/// The bits of the elements of a block, without those that have been added.
template <class T>
struct Rest {
  std::array<Key<T>, kSumBlock> elements;
  Key<T> highest;  ///< magnitude
  Key<T> count;    ///< of elements other than 0
};

/// Moves the elements whose magnitudes are at least `lowest` to `window`, and puts 0 in their places.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void move_to_window(Rest<T>& rest, Key<T> lowest,
                                                  std::array<Key<T>, kSumBlock>& window) noexcept {
  using Lanes = Vector<Key<T>, kBytes>;
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  constexpr Key<T> kMagnitude = std::numeric_limits<Key<T>>::max();
  Lanes highest{};
  Lanes count{};
  for (std::size_t i = 0; i < kSumBlock; i += kLanes) {
    Lanes x;
    std::memcpy(&x, &rest.elements[i], sizeof(x));
    const auto outside = __builtin_bit_cast(Lanes, (x & kMagnitude) < lowest);
    const Lanes inside = x & ~outside;
    x &= outside;
    std::memcpy(&window[i], &inside, sizeof(x));
    std::memcpy(&rest.elements[i], &x, sizeof(x));
    x &= kMagnitude;
    highest = x > highest ? x : highest;
    count -= __builtin_bit_cast(Lanes, x != 0);
  }
  rest.highest = 0;
  rest.count = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    rest.highest = std::max<Key<T>>(rest.highest, highest[i]);
    rest.count += count[i];
  }
}

/// Adds a block of elements of any exponents, of which `highest` is the highest magnitude: the elements of
/// one window after the other, and the last ones one at a time.
template <std::size_t kBytes, class E, class T>
[[gnu::always_inline]] inline void add_windows(const T* elements, Key<T> highest, Moments& moments) noexcept {
  constexpr int kMaxWindows = 8;
  constexpr Key<T> kFew = 16;
  Rest<T> rest;
  std::memcpy(rest.elements.data(), elements, sizeof(rest.elements));
  rest.highest = highest;
  rest.count = kSumBlock;
  std::array<Key<T>, kSumBlock> window;
  for (int i = 0; i < kMaxWindows && rest.count > kFew; ++i) {
    const int top = exponent_of<T>(rest.highest);
    const Key<T> lowest = static_cast<Key<T>>(std::max(top - window_of<E>() + 1, 0))
                          << (std::numeric_limits<T>::digits - 1);
    move_to_window<kBytes>(rest, lowest, window);
    add_window<kBytes, Sums<T, kBytes>>(reinterpret_cast<const T*>(window.data()), top, moments);
  }
  if (rest.count == 0) return;
  for (const Key<T> x : rest.elements) moments.add(static_cast<double>(std::bit_cast<T>(x)));
}

/// Of a block's elements other than 0; all are 0 if `highest` is.
template <class T>
struct Magnitudes {
  Key<T> lowest;
  Key<T> highest;
  Key<T> bits;  ///< that any of them has
};

template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline Magnitudes<T> magnitudes_of(const T* elements) noexcept {
  using Lanes = Vector<Key<T>, kBytes>;
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  constexpr Key<T> kMax = std::numeric_limits<Key<T>>::max();
  Lanes lowest = broadcast<kBytes>(kMax);
  Lanes highest{};
  Lanes bits{};
  for (std::size_t i = 0; i < kSumBlock; i += kLanes) {
    Lanes x;
    std::memcpy(&x, elements + i, sizeof(x));
    x &= kMax;
    bits |= x;
    highest = x > highest ? x : highest;
    x |= __builtin_bit_cast(Lanes, x == 0) & kMax;
    lowest = x < lowest ? x : lowest;
  }
  Magnitudes<T> result{kMax, 0, 0};
  for (std::size_t i = 0; i < kLanes; ++i) {
    result.lowest = std::min<Key<T>>(result.lowest, lowest[i]);
    result.highest = std::max<Key<T>>(result.highest, highest[i]);
    result.bits |= bits[i];
  }
  return result;
}

/// Adds a block of elements of type E, which were converted to T if that is another one.
template <std::size_t kBytes, class E, class T>
[[gnu::always_inline]] inline void add_block(const T* elements, Moments& moments) noexcept {
  const auto [lowest, highest, bits] = magnitudes_of<kBytes>(elements);
  if (highest == 0) return;
  const int top = exponent_of<T>(highest);
  const int exponents = top - exponent_of<T>(lowest);
  if constexpr (std::is_same_v<T, double>) {
    constexpr Key<T> kBeyondFloat = (Key<T>{1} << 29) - 1;
    if ((bits & kBeyondFloat) == 0 && exponents < window_of<float>())
      return add_window<kBytes, Sums<float, kBytes>>(elements, top, moments);
  }
  if (exponents < window_of<E>())
    add_window<kBytes, Sums<T, kBytes>>(elements, top, moments);
  else
    add_windows<kBytes, E>(elements, highest, moments);
}

/// Copies elements as numbers for a sum: float64 unchanged, smaller floats as float32.
template <std::size_t kBytes, class T, class Block>
[[gnu::always_inline]] inline void copy_addends(const T* elements, std::size_t count, Block& block) noexcept {
  if constexpr (HalfType<T>)
    widen_block<kBytes>(elements, count, block.data());
  else
    std::copy_n(elements, count, block.begin());
}

/// With `all` all elements are finite, without it those that are not are left out.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void add_floats(const T* elements, std::size_t count, bool all,
                                              Moments& moments) noexcept {
  using Addend = std::conditional_t<HalfType<T>, float, T>;
  std::array<Addend, kSumBlock> block;
  std::array<T, kSumBlock> finite;
  while (count != 0) {
    const std::size_t length = std::min(kSumBlock, count);
    const Addend* addends = block.data();
    if constexpr (std::is_same_v<T, Addend>)
      if (all && length == kSumBlock) addends = elements;
    if (addends == block.data()) {
      for (std::size_t i = 0; i < length && !all; ++i) finite[i] = finite_or_zero(elements[i]);
      copy_addends<kBytes>(all ? elements : finite.data(), length, block);
      std::fill(block.begin() + static_cast<std::ptrdiff_t>(length), block.end(), Addend{});
    }
    add_block<kBytes, T>(addends, moments);
    elements += length;
    count -= length;
  }
}

// Adds integers and their squares to moments: templates over the element type that must be inlined into
// functions compiled for an instruction set.

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
