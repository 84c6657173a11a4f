#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "element/element_key.hpp"
#include "element/half.hpp"
#include "simd/vector.hpp"
#include "statistics/moments.hpp"

/// Adds floats and their squares to moments without rounding: templates over the element type that must be
/// inlined into functions compiled for an instruction set.
namespace clipper {

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

/// Elements of a block, which is added in float64 before its sums are added to the moments.
inline constexpr std::size_t kSumBlock = 1024;

/// Floats of type T, scaled to less than 4, as sums of kCount pieces. Piece i is kUnits[i] times an
/// integer of at most 2^22 in magnitude, because each piece but the last is rounded to nearest. So the sums
/// of kSumBlock pieces, or of products of two pieces, are exact in two or more lanes of float64.
template <class T>
struct Pieces {
  static constexpr std::size_t kCount = std::is_same_v<T, double> ? 3 : 2;
  static constexpr std::array<int, 3> kExponents{-20, -43, -66};
  static constexpr std::array<double, 3> kUnits{0x1p-20, 0x1p-43, 0x1p-66};
  static constexpr int kBits =
      2 - kExponents[kCount - 1];  ///< of the largest number that pieces represent exactly
};

/// How many exponents elements of type E may have, from that of the largest one down, to be exact sums of
/// pieces.
template <class E>
[[nodiscard]] constexpr int window_of() noexcept {
  constexpr int kBits = Pieces<std::conditional_t<HalfType<E>, float, E>>::kBits;
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

/// The sums of a block's pieces, and of the products of every two pieces of an element.
template <std::size_t kPieces, class Lanes>
struct PieceSums {
  std::array<Lanes, kPieces> sums{};
  std::array<std::array<Lanes, kPieces>, kPieces> products{};  ///< [j][k] only for k <= j
};

/// Adds the sums of a block that was scaled by 2^shift.
template <class T, std::size_t kPieces, class Lanes>
[[gnu::always_inline]] inline void add_sums(const PieceSums<kPieces, Lanes>& block, int shift,
                                            Moments& moments) noexcept {
  constexpr auto& kUnits = Pieces<T>::kUnits;
  constexpr auto& kExponents = Pieces<T>::kExponents;
  const auto total = [](const Lanes& lanes, double unit) {
    const Lanes integers = lanes / unit;
    std::int64_t result = 0;
    for (std::size_t i = 0; i < sizeof(Lanes) / sizeof(double); ++i)
      result += static_cast<std::int64_t>(integers[i]);
    return result;
  };
  for (std::size_t j = 0; j < kPieces; ++j) {
    moments.sum.add(total(block.sums[j], kUnits[j]), kExponents[j] - shift);
    for (std::size_t k = 0; k <= j; ++k)
      moments.squares.add(total(block.products[j][k], kUnits[j] * kUnits[k]),
                          kExponents[j] + kExponents[k] - 2 * shift + (k < j ? 1 : 0));
  }
}

/// Adds a block of elements. Each is 0 or has one of the exponents of the window that ends with `top`.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void add_window(const T* elements, int top, Moments& moments) noexcept {
  using Lanes = Vector<double, kBytes>;
  constexpr std::size_t kLanes = kBytes / sizeof(double);
  constexpr std::size_t kPieces = Pieces<T>::kCount;
  // The smallest float64 elements are scaled to less than 4, so that no product of pieces is below the lowest
  // exponent of an ExactSum. They are multiples of the last unit nevertheless.
  constexpr int kMaxShift = Pieces<T>::kExponents.back() - ExactSum::kLowestExponent / 2;
  const int shift = std::min(std::numeric_limits<T>::max_exponent - top, kMaxShift);
  const double scale = std::ldexp(1.0, shift);
  PieceSums<kPieces, Lanes> block;
  for (std::size_t i = 0; i < kSumBlock; i += kLanes) {
    Vector<T, kLanes * sizeof(T)> x;
    std::memcpy(&x, elements + i, sizeof(x));
    Lanes rest = __builtin_convertvector(x, Lanes) * scale;
    std::array<Lanes, kPieces> pieces;
    for (std::size_t j = 0; j + 1 < kPieces; ++j) {
      const double rounder = 0x1.8p52 * Pieces<T>::kUnits[j];  // a sum with it is a multiple of the unit
      pieces[j] = (rest + rounder) - rounder;
      rest -= pieces[j];
    }
    pieces[kPieces - 1] = rest;
    for (std::size_t j = 0; j < kPieces; ++j) {
      block.sums[j] += pieces[j];
      for (std::size_t k = 0; k <= j; ++k) block.products[j][k] += pieces[j] * pieces[k];
    }
  }
  add_sums<T>(block, shift, moments);
}

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
    add_window<kBytes>(reinterpret_cast<const T*>(window.data()), top, moments);
  }
  if (rest.count == 0) return;
  for (const Key<T> x : rest.elements) moments.add(static_cast<double>(std::bit_cast<T>(x)));
}

/// The lowest magnitude of a block's elements other than 0, and the highest; 0 if all are 0.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline std::pair<Key<T>, Key<T>> magnitude_range(const T* elements) noexcept {
  using Lanes = Vector<Key<T>, kBytes>;
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  constexpr Key<T> kMax = std::numeric_limits<Key<T>>::max();
  Lanes lowest = broadcast<kBytes>(kMax);
  Lanes highest{};
  for (std::size_t i = 0; i < kSumBlock; i += kLanes) {
    Lanes x;
    std::memcpy(&x, elements + i, sizeof(x));
    x &= kMax;
    highest = x > highest ? x : highest;
    x |= __builtin_bit_cast(Lanes, x == 0) & kMax;
    lowest = x < lowest ? x : lowest;
  }
  Key<T> low = kMax;
  Key<T> high = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    low = std::min<Key<T>>(low, lowest[i]);
    high = std::max<Key<T>>(high, highest[i]);
  }
  return {high == 0 ? Key<T>{} : low, high};
}

/// Adds a block of elements of type E, which were converted to T if that is another one.
template <std::size_t kBytes, class E, class T>
[[gnu::always_inline]] inline void add_block(const T* elements, Moments& moments) noexcept {
  const auto [lowest, highest] = magnitude_range<kBytes>(elements);
  if (highest == 0) return;
  const int top = exponent_of<T>(highest);
  if (top - exponent_of<T>(lowest) < window_of<E>())
    add_window<kBytes>(elements, top, moments);
  else
    add_windows<kBytes, E>(elements, highest, moments);
}

template <Addends kAddends, class T, class Block>
[[gnu::always_inline]] inline void copy_addends(const T* elements, std::size_t count, Block& block) noexcept {
  for (std::size_t i = 0; i < count; ++i) block[i] = addend<kAddends>(elements[i]);
}

/// With `all` all elements are finite, without it those that are not are left out.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void add_floats(const T* elements, std::size_t count, bool all,
                                              Moments& moments) noexcept {
  using Addend = decltype(addend<Addends::all>(T{}));
  std::array<Addend, kSumBlock> block;
  while (count != 0) {
    const std::size_t length = std::min(kSumBlock, count);
    const Addend* addends = block.data();
    if constexpr (std::is_same_v<T, Addend>)
      if (all && length == kSumBlock) addends = elements;
    if (addends == block.data()) {
      if (all)
        copy_addends<Addends::all>(elements, length, block);
      else
        copy_addends<Addends::finite>(elements, length, block);
      std::fill(block.begin() + static_cast<std::ptrdiff_t>(length), block.end(), Addend{});
    }
    add_block<kBytes, T>(addends, moments);
    elements += length;
    count -= length;
  }
}

}  // namespace clipper
