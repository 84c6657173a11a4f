#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "element/byte_order.hpp"
#include "element/element_key.hpp"
#include "element/half.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"
#include "statistics/moments.hpp"

/// The loops of statistics: templates over the element type that must be inlined into functions compiled for
/// an instruction set. Elements are compared as keys (element_key.hpp): integers, for which every instruction
/// set has a minimum and a comparison, in an order that includes NaN.
namespace clipper {

template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void reverse_bytes(T* elements, std::size_t count) noexcept {
  using Elements = Vector<UnsignedOfSize<sizeof(T)>, kBytes>;
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Elements x;
    std::memcpy(&x, elements + i, sizeof(x));
    x = vector_byteswap_if<kBytes, Byteswap::yes, sizeof(T)>(x);
    std::memcpy(elements + i, &x, sizeof(x));
  }
  for (; i < count; ++i) elements[i] = byteswap_if<Byteswap::yes>(elements[i]);
}

/// The range of the finite elements.
template <class T>
struct KeyRange {
  Key<T> lowest;
  Key<T> highest;
  bool any;  ///< whether there are finite elements; if not, lowest and highest are meaningless
  bool all;  ///< whether all elements are finite
};

/// A wrapping addition moves all keys that are not finite to the upper end, to find the lowest finite key;
/// another one moves them to the lower end, to find the highest.
template <class T>
[[gnu::always_inline]] inline KeyRange<T> key_range(const T* elements, std::size_t count) noexcept {
  using Unsigned = UnsignedOfSize<sizeof(T)>;
  using Limits = std::numeric_limits<Key<T>>;
  constexpr auto kUp = static_cast<Unsigned>(Limits::lowest() - lowest_finite_key<T>());
  constexpr auto kDown = static_cast<Unsigned>(Limits::max() - highest_finite_key<T>());
  const auto moved = [](Key<T> key, Unsigned by) {
    return static_cast<Key<T>>(static_cast<Unsigned>(key) + by);
  };
  Key<T> lowest = Limits::max();
  Key<T> highest = Limits::lowest();
  Key<T> max_above = Limits::lowest();
  for (std::size_t i = 0; i < count; ++i) {
    const Key<T> key = key_of(elements[i]);
    const Key<T> above = moved(key, kUp);
    lowest = std::min(lowest, above);
    max_above = std::max(max_above, above);
    highest = std::max(highest, moved(key, kDown));
  }
  const Key<T> end = moved(highest_finite_key<T>(), kUp);
  return {moved(lowest, static_cast<Unsigned>(-kUp)), moved(highest, static_cast<Unsigned>(-kDown)),
          lowest <= end, max_above <= end};
}

/// Limits between the NaNs below -inf, -inf, the finite elements, inf, and the NaNs above inf.
template <class T>
inline constexpr std::array<Key<T>, 4> kInfinityLimits = [] {
  std::array<Key<T>, 4> limits{};
  if constexpr (!std::is_integral_v<T>) {
    constexpr int kBeyond = 1;
    limits = {static_cast<Key<T>>(lowest_finite_key<T>() - kBeyond), lowest_finite_key<T>(),
              static_cast<Key<T>>(highest_finite_key<T>() + kBeyond),
              static_cast<Key<T>>(highest_finite_key<T>() + kBeyond + kBeyond)};
  }
  return limits;
}();

/// Which elements are added.
enum class Addends : std::uint8_t { all, finite };

/// An element as a number for a sum: float64 unchanged, smaller floats as float32; 0 if it is not added.
template <Addends kAddends, class T>
[[gnu::always_inline]] inline auto addend(T x) noexcept {
  if constexpr (kAddends == Addends::finite) {
    const auto bits = static_cast<Key<T>>(to_bits(x));
    const auto magnitude = static_cast<Key<T>>(bits & std::numeric_limits<Key<T>>::max());
    const Key<T> finite = magnitude <= highest_finite_key<T>() ? bits : Key<T>{};
    x = std::bit_cast<T>(finite);
  }
  if constexpr (std::is_same_v<T, Float16>) {
    // widen() without the case of infinity, because g++ does not vectorize that.
    const float magnitude = std::bit_cast<float>((x.bits & 0x7fffU) << 13) * 0x1p112F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (x.bits & 0x8000U) << 16);
  } else if constexpr (HalfType<T>) {
    return widen(x);
  } else {
    return x;
  }
}

/// Elements whose sums need no more than the bits of a float64 or an integer.
inline constexpr std::size_t kSumBlock = 1024;

/// Floats of type T, scaled to less than 4, as sums of kCount pieces. Piece i is an integer of kBits bits and
/// a sign, times kUnits[i]: sums of kSumBlock pieces, or of products of two, in two lanes or more, are exact
/// float64 numbers.
template <class T>
struct Pieces {
  static constexpr std::size_t kCount = std::is_same_v<T, double> ? 3 : 2;
  static constexpr int kBits = 22;
  static constexpr std::array<int, 3> kExponents{-20, -43, -66};
  static constexpr std::array<double, 3> kUnits{0x1p-20, 0x1p-43, 0x1p-66};
  /// Elements of this many exponents, down from that of the largest one, are exact sums of pieces.
  static constexpr int kWindow = 3 - kExponents[kCount - 1] - std::numeric_limits<T>::digits;
};

/// The bits of a float without the sign: in the order of magnitudes.
template <class T>
[[gnu::always_inline]] inline UnsignedOfSize<sizeof(T)> magnitude_of(T x) noexcept {
  return std::bit_cast<UnsignedOfSize<sizeof(T)>>(x) & std::numeric_limits<Key<T>>::max();
}

/// The exponent of a magnitude, as its bits represent it: 0 and more.
template <class T>
[[gnu::always_inline]] inline int exponent_of(UnsignedOfSize<sizeof(T)> magnitude) noexcept {
  return static_cast<int>(magnitude >> (std::numeric_limits<T>::digits - 1));
}

/// Adds kSumBlock elements. Each is 0 or has one of the kWindow exponents up to `top`.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void add_window(const T* elements, int top, Moments& moments) noexcept {
  using Lanes = Vector<double, kBytes>;
  constexpr std::size_t kLanes = kBytes / sizeof(double);
  constexpr std::size_t kPieces = Pieces<T>::kCount;
  constexpr auto& kUnits = Pieces<T>::kUnits;
  constexpr auto& kExponents = Pieces<T>::kExponents;
  // The smallest float64 elements are scaled to less, so that no piece squared is below the lowest exponent
  // of an ExactSum. They are multiples of the last unit nevertheless.
  constexpr int kMaxShift = kExponents.back() - ExactSum::kLowestExponent / 2;
  const int shift = std::min(std::numeric_limits<T>::max_exponent - top, kMaxShift);
  const double scale = std::ldexp(1.0, shift);
  std::array<Lanes, kPieces> sums{};
  std::array<std::array<Lanes, kPieces>, kPieces> products{};
  for (std::size_t i = 0; i < kSumBlock; i += kLanes) {
    Vector<T, kLanes * sizeof(T)> x;
    std::memcpy(&x, elements + i, sizeof(x));
    Lanes rest = __builtin_convertvector(x, Lanes) * scale;
    std::array<Lanes, kPieces> pieces;
    for (std::size_t j = 0; j + 1 < kPieces; ++j) {
      const double rounder = 0x1.8p52 * kUnits[j];  // a sum with it is a multiple of the unit
      pieces[j] = (rest + rounder) - rounder;
      rest -= pieces[j];
    }
    pieces[kPieces - 1] = rest;
    for (std::size_t j = 0; j < kPieces; ++j) {
      sums[j] += pieces[j];
      for (std::size_t k = 0; k <= j; ++k) products[j][k] += pieces[j] * pieces[k];
    }
  }
  const auto total = [](const Lanes& lanes, double unit) {
    const Lanes integers = lanes / unit;
    std::int64_t result = 0;
    for (std::size_t i = 0; i < kLanes; ++i) result += static_cast<std::int64_t>(integers[i]);
    return result;
  };
  for (std::size_t j = 0; j < kPieces; ++j) {
    moments.sum.add(total(sums[j], kUnits[j]), kExponents[j] - shift);
    for (std::size_t k = 0; k <= j; ++k)
      moments.squares.add(total(products[j][k], kUnits[j] * kUnits[k]),
                          kExponents[j] + kExponents[k] - 2 * shift + (k < j ? 1 : 0));
  }
}

/// Adds kSumBlock elements of any exponents, of which `highest` is the highest magnitude: the elements of one
/// window after the other, and those of the last exponents one at a time.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void add_windows(const T* elements, UnsignedOfSize<sizeof(T)> highest,
                                               Moments& moments) noexcept {
  using Magnitude = UnsignedOfSize<sizeof(T)>;
  constexpr int kMaxWindows = 4;
  std::array<T, kSumBlock> rest;
  std::array<T, kSumBlock> window;
  std::copy_n(elements, kSumBlock, rest.begin());
  for (int i = 0; i < kMaxWindows && highest != 0; ++i) {
    const int top = exponent_of<T>(highest);
    const auto lowest = static_cast<Magnitude>(std::max(top - Pieces<T>::kWindow + 1, 0))
                        << (std::numeric_limits<T>::digits - 1);
    highest = 0;
    for (std::size_t j = 0; j < kSumBlock; ++j) {
      const T x = rest[j];
      const bool inside = magnitude_of(x) >= lowest;
      window[j] = inside ? x : T{};
      rest[j] = inside ? T{} : x;
      highest = std::max(highest, magnitude_of(rest[j]));
    }
    add_window<kBytes>(window.data(), top, moments);
  }
  if (highest == 0) return;
  for (const T x : rest) moments.add(static_cast<double>(x));
}

template <std::size_t kBytes, Addends kAddends, class T>
[[gnu::always_inline]] inline void add_floats(const T* elements, std::size_t count,
                                              Moments& moments) noexcept {
  using Addend = decltype(addend<kAddends>(T{}));
  using Magnitude = UnsignedOfSize<sizeof(Addend)>;
  std::array<Addend, kSumBlock> block;
  for (std::size_t begin = 0; begin < count; begin += kSumBlock) {
    const std::size_t length = std::min(kSumBlock, count - begin);
    for (std::size_t i = 0; i < length; ++i) block[i] = addend<kAddends>(elements[begin + i]);
    std::fill(block.begin() + static_cast<std::ptrdiff_t>(length), block.end(), Addend{});
    Magnitude highest = 0;
    Magnitude lowest_less_1 = std::numeric_limits<Magnitude>::max();  // zeros wrap and do not count
    for (const Addend x : block) {
      highest = std::max(highest, magnitude_of(x));
      lowest_less_1 = std::min(lowest_less_1, static_cast<Magnitude>(magnitude_of(x) - 1));
    }
    if (highest == 0) continue;
    const int top = exponent_of<Addend>(highest);
    if (top - exponent_of<Addend>(lowest_less_1 + 1) < Pieces<Addend>::kWindow)
      add_window<kBytes>(block.data(), top, moments);
    else
      add_windows<kBytes>(block.data(), highest, moments);
  }
}

template <class T>
[[gnu::always_inline]] inline void add_integers(const T* elements, std::size_t count,
                                                Moments& moments) noexcept {
  // Sums of the lower and the upper half of each square, of kSumBlock elements and of all. The partial sums
  // of small integers fit 32 bits, and more of them are added at once.
  using Partial = std::conditional_t<sizeof(T) < sizeof(std::int32_t), std::int32_t, std::int64_t>;
  using Square = UnsignedOfSize<sizeof(Partial)>;
  using Factor = std::conditional_t<std::is_signed_v<T>, Partial, Square>;
  constexpr int kHalf = 8 * sizeof(Square) / 2;
  constexpr auto kLow = static_cast<Square>(std::numeric_limits<Square>::max() >> kHalf);
  std::int64_t sum = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t begin = 0; begin < count; begin += kSumBlock) {
    const std::size_t end = std::min(begin + kSumBlock, count);
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

/// Adds integers of 64 bits.
template <class T>
requires(sizeof(T) == sizeof(std::int64_t))  //
    [[gnu::always_inline]] inline void add_integers(const T* elements, std::size_t count,
                                                    Moments& moments) noexcept {
  using Wide = std::conditional_t<std::is_signed_v<T>, Int128, UInt128>;
  constexpr int kHalf = 64;
  Int128 sum = 0;
  Int128 low = 0;
  Int128 high = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto square = static_cast<UInt128>(Wide{elements[i]} * elements[i]);
    sum += elements[i];
    low += static_cast<std::uint64_t>(square);
    high += static_cast<std::uint64_t>(square >> kHalf);
  }
  moments.sum.add(sum, 0);
  moments.squares.add(low, 0);
  moments.squares.add(high, kHalf);
}

/// Adds to counts[i] how many keys are less than limits[i].
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void count_below(const T* elements, std::size_t count,
                                               std::span<const std::int64_t> limits,
                                               std::span<std::uint64_t> counts) noexcept {
  using Lanes = Vector<UnsignedOfSize<sizeof(T)>, kBytes>;
  using Keys = Vector<Key<T>, kBytes>;
  constexpr std::size_t kTogether = 5;  // limits that fit registers
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  constexpr std::size_t kMaxVectors = 255;  // more could overflow a lane
  alignas(kBytes) std::array<Key<T>, kLanes * kMaxVectors> keys;

  while (count != 0) {
    const std::size_t length = std::min(count, keys.size());
    const std::size_t vectors = (length + kLanes - 1) / kLanes;
    for (std::size_t i = 0; i < length; ++i) keys[i] = key_of(elements[i]);
    std::fill(keys.begin() + static_cast<std::ptrdiff_t>(length),
              keys.begin() + static_cast<std::ptrdiff_t>(vectors * kLanes),
              std::numeric_limits<Key<T>>::max());  // never less
    for (std::size_t at = 0; at < limits.size(); at += kTogether) {
      const std::size_t size = std::min(kTogether, limits.size() - at);
      std::array<Keys, kTogether> limit;
      std::array<Lanes, kTogether> below{};
      for (std::size_t j = 0; j < kTogether; ++j)
        limit[j] = broadcast<kBytes>(j < size ? static_cast<Key<T>>(limits[at + j]) : Key<T>{});
      for (std::size_t i = 0; i < vectors; ++i) {
        Keys x;
        std::memcpy(&x, keys.data() + i * kLanes, sizeof(x));
        for (std::size_t j = 0; j < kTogether; ++j) below[j] -= __builtin_bit_cast(Lanes, x < limit[j]);
      }
      for (std::size_t j = 0; j < size; ++j)
        counts[at + j] += sum_of_lanes<kBytes, UnsignedOfSize<sizeof(T)>>(below[j]);
    }
    elements += length;
    count -= length;
  }
}

}  // namespace clipper
