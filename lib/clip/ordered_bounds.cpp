#include "clip/ordered_bounds.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "element/comparable.hpp"
#include "element/half.hpp"
#include "simd/vector.hpp"

namespace clipper {
namespace {

/// What compares like the element, as an integer: sign and magnitude become two's complement, in which both
/// zeros are 0. NaN becomes `nan`.
template <HalfType T, class V>
[[gnu::always_inline]] inline V half_key(const V& x, std::int16_t nan) noexcept {
  const V magnitude = x & 0x7fff;
  const V sign = x >> 15;
  return magnitude > static_cast<std::int16_t>(T::kInfinity) ? V{} + nan : (magnitude ^ sign) - sign;
}

/// The lanes in which min <= max, and neither is NaN: 0 or -1.
template <class T, class V>
[[gnu::always_inline]] inline auto ordered_lanes(const V& min, const V& max) noexcept {
  using Limits = std::numeric_limits<std::int16_t>;
  using Mask = decltype(min <= max);
  if constexpr (HalfType<T>)
    return half_key<T>(min, Limits::max()) <= half_key<T>(max, Limits::min()) ? ~Mask{} : Mask{};
  else
    return min <= max ? ~Mask{} : Mask{};
}

template <class T>
struct AllOrdered {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static bool run(const std::byte* min, const std::byte* max,
                                         std::size_t size) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    using Number = std::conditional_t<HalfType<T>, std::int16_t, T>;
    using V = Vector<Number, kBytes>;
    using Words = Vector<std::uint64_t, kBytes>;
    constexpr std::size_t kBlock = 64 * kBytes;
    const auto load = [](const std::byte* from) __attribute__((always_inline)) {
      V vector;
      std::memcpy(&vector, from, sizeof vector);
      return vector;
    };
    const std::size_t whole = size / kBytes * kBytes;
    for (std::size_t begin = 0; begin < whole; begin += kBlock) {
      const std::size_t end = std::min(begin + kBlock, whole);
      Words ordered = ~Words{};
      for (std::size_t i = begin; i < end; i += kBytes)
        ordered &= __builtin_bit_cast(Words, ordered_lanes<T>(load(min + i), load(max + i)));
      for (std::size_t i = 0; i < kBytes / sizeof(std::uint64_t); ++i)
        if (~ordered[i] != 0) return false;
    }
    const T* const last_min = reinterpret_cast<const T*>(min + whole);
    const T* const last_max = reinterpret_cast<const T*>(max + whole);
    for (std::size_t i = 0; i < (size - whole) / sizeof(T); ++i)
      if (!(comparable(last_min[i]) <= comparable(last_max[i]))) return false;
    return true;
  }
};

}  // namespace

bool are_ordered_bounds(DType dtype, const std::byte* min, const std::byte* max, std::size_t count,
                        SimdLevel level) noexcept {
  return with_type(dtype,
                   [=]<class T>() { return run_loop<AllOrdered<T>>(level, min, max, count * sizeof(T)); });
}

}  // namespace clipper
