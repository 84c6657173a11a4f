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
#include "statistics/exact_sum.hpp"

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

/// Elements of a block of a sum.
inline constexpr std::size_t kSumBlock = 1024;

/// Which elements of a block are added.
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

/// Adds in the same order for every instruction set.
template <Addends kAddends, class T>
[[gnu::always_inline]] inline void add_floats(const T* elements, std::size_t count, ExactSum& sum) noexcept {
  constexpr std::size_t kLanes = 16;
  std::array<double, kLanes> lanes{};
  std::array<decltype(addend<kAddends>(T{})), kSumBlock> block;
  for (std::size_t begin = 0; begin < count; begin += kSumBlock) {
    const std::size_t length = std::min(kSumBlock, count - begin);
    for (std::size_t i = 0; i < length; ++i) block[i] = addend<kAddends>(elements[begin + i]);
    std::size_t i = 0;
    for (; i + kLanes <= length; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(block[i + lane]);
    for (; i < length; ++i) lanes[i % kLanes] += static_cast<double>(block[i]);
  }
  if (std::all_of(lanes.begin(), lanes.end(), [](double lane) { return std::isfinite(lane); }))
    for (const double lane : lanes) sum.add(lane);
  else
    for (std::size_t i = 0; i < count; ++i)
      sum.add(
          static_cast<double>(addend<kAddends>(elements[i])));  // one at a time, so that no float64 overflows
}

template <class T>
[[gnu::always_inline]] inline void add_integers(const T* elements, std::size_t count,
                                                ExactSum& sum) noexcept {
  constexpr int kHalf = 32;
  // The sum of a block of small integers fits 32 bits, and more of them are added at once.
  using Partial = std::conditional_t<sizeof(T) < sizeof(std::int32_t), std::int32_t, std::int64_t>;
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t begin = 0; begin < count; begin += kSumBlock) {
    const std::size_t end = std::min(begin + kSumBlock, count);
    Partial partial = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if constexpr (sizeof(T) == sizeof(std::int64_t)) {
        partial += static_cast<Partial>(static_cast<std::uint32_t>(elements[i]));
        high += static_cast<std::int64_t>(elements[i] >> kHalf);
      } else {
        partial += static_cast<Partial>(elements[i]);
      }
    }
    low += partial;
  }
  sum.add(low, 0);
  sum.add(high, kHalf);
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
