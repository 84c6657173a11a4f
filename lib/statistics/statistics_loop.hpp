#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "element/byte_order.hpp"
#include "element/element_key.hpp"
#include "simd/vector.hpp"

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
