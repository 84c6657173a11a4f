#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "element/dtype.hpp"
#include "element/small_floats.hpp"
#include "simd/levels.hpp"

/// The loops of RankSearch. They need no alignment.
namespace clipper {

/// A digit of a rank: 16 bits of an element in the order of keys, or the whole element if it has 8 bits.
inline constexpr unsigned kDigitBits = 16;
inline constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

/// The element's key as an unsigned integer: 0 for the lowest key.
template <class T>
[[nodiscard]] constexpr std::uint64_t ordered(T x) noexcept {
  using Unsigned = UnsignedOfSize<sizeof(T)>;
  return static_cast<Unsigned>(static_cast<Unsigned>(key_of(x)) ^
                               static_cast<Unsigned>(std::numeric_limits<Key<T>>::lowest()));
}

template <class T>
[[nodiscard]] constexpr T element_at(std::uint64_t ordered_key) noexcept {
  using Unsigned = UnsignedOfSize<sizeof(T)>;
  return element_of<T>(static_cast<Key<T>>(static_cast<Unsigned>(ordered_key) ^
                                           static_cast<Unsigned>(std::numeric_limits<Key<T>>::lowest())));
}

/// The element at any address.
template <class T>
[[nodiscard]] inline T load_element(const std::byte* at) noexcept {
  UnsignedOfSize<sizeof(T)> bits;
  std::memcpy(&bits, at, sizeof(bits));
  return from_bits<T>(bits);
}

/// The counters of each digit, used in turn: a counter that is incremented again before its last value is in
/// the cache takes several times as long.
inline constexpr std::size_t kInterleaved = 2;

/// Counts the highest digits of the elements: increments one of the counters at the digit's position, and at
/// the positions kDigits after it.
void count_first_digits(std::size_t element_size, std::span<const std::byte> elements,
                        std::uint32_t* counters, SimdLevel level) noexcept;

/// How many elements are NaN with this sign and have the same highest digit as infinity.
[[nodiscard]] std::uint64_t count_nan_beside_infinity(DType dtype, bool negative,
                                                      std::span<const std::byte> elements) noexcept;

/// Which elements find_candidates() finds: x & mask is one of `prefixes`.
template <class Bits>
struct Candidates {
  static constexpr std::size_t kMaxPrefixes = 8;

  Bits mask = 0;
  std::array<Bits, kMaxPrefixes> prefixes{};
  std::size_t count = 0;  ///< of prefixes
};

/// Writes the candidates among `count` elements to `found`, which has room for all. Returns their number.
/// Bits: std::uint32_t, std::uint64_t.
template <class Bits>
[[nodiscard]] std::size_t find_candidates(const Candidates<Bits>& wanted, const std::byte* elements,
                                          std::size_t count, Bits* found, SimdLevel level) noexcept;

}  // namespace clipper
