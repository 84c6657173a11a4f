#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "element/dtype.hpp"
#include "simd/levels.hpp"

/// The vector types of g++ and clang, as wide as an instruction set's registers. Operators and ?: work on
/// each lane; comparisons give 0 or -1. Functions that take vectors by value must be inlined: only functions
/// compiled for the instruction set have registers for them.
namespace clipper {

template <class T, std::size_t kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));  // NOLINT: clang knows no such alias
};

/// A vector of kBytes / sizeof(T) lanes.
template <class T, std::size_t kBytes>
using Vector = typename VectorOf<T, kBytes>::Type;

/// The size of a level's registers. Compilers split wider vectors and use the stack.
[[nodiscard]] constexpr std::size_t vector_bytes(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: return 16;
    case SimdLevel::v3: return 32;
    case SimdLevel::v4: return 64;
  }
  __builtin_unreachable();
}

/// x in every lane, bit by bit, because 0.0 + x would lose the sign of -0.0.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline Vector<T, kBytes> broadcast(T x) noexcept {
  // Of another type than T: g++ 12 writes a vector of equal unsigned bytes one lane after the other.
  using Lane = UnsignedOfSize<sizeof(T)>;
  using Bits = std::conditional_t<std::is_unsigned_v<T>, std::make_signed_t<Lane>, Lane>;
  return __builtin_bit_cast(Vector<T, kBytes>, Vector<Bits, kBytes>{} + static_cast<Bits>(to_bits(x)));
}

template <class Numbers, class Doubles, std::size_t... kIndex>
[[gnu::always_inline]] inline void convert_lanes(const Numbers& x, Doubles& doubles,
                                                 std::index_sequence<kIndex...> /*of the lanes*/) noexcept {
  if constexpr (std::is_same_v<Numbers, Doubles>)
    doubles = x;  // g++ 14 would warn that `doubles` is uninitialized
  else
    doubles = Doubles{static_cast<double>(x[kIndex])...};
}

/// Converts as many numbers as a register of float64 has lanes. g++ 12 makes one instruction of it, and
/// several of __builtin_convertvector().
template <class Numbers, class Doubles>
[[gnu::always_inline]] inline void convert_lanes(const Numbers& x, Doubles& doubles) noexcept {
  convert_lanes(x, doubles, std::make_index_sequence<sizeof(Doubles) / sizeof(double)>{});
}

/// The lanes, with 1 added where the mask is true.
template <std::size_t kBytes, class Mask, class Lanes>
[[nodiscard, gnu::always_inline]] inline Lanes one_added(const Mask& mask, const Lanes& lanes) noexcept {
  if constexpr (kBytes == vector_bytes(SimdLevel::v4))
    return mask ? lanes + 1 : lanes;  // one instruction, with the mask in a register for masks
  else
    return lanes - __builtin_bit_cast(Lanes, mask);
}

/// The sum of the lanes, which are unsigned integers. Adds neighbours until the lanes are 64 bits wide.
template <std::size_t kBytes, class Lane>
[[gnu::always_inline]] inline std::uint64_t sum_of_lanes(const Vector<Lane, kBytes>& lanes) noexcept {
  if constexpr (sizeof(Lane) < sizeof(std::uint64_t)) {
    using Wide = UnsignedOfSize<2 * sizeof(Lane)>;
    const auto pairs = __builtin_bit_cast(Vector<Wide, kBytes>, lanes);
    return sum_of_lanes<kBytes, Wide>((pairs & std::numeric_limits<Lane>::max()) +
                                      (pairs >> (8 * sizeof(Lane))));
  } else {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < kBytes / sizeof(Lane); ++i) result += lanes[i];
    return result;
  }
}

}  // namespace clipper
