#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>

#include "element/small_floats.hpp"
#include "simd/vector.hpp"
#include "statistics/statistics.hpp"

/// The loops of statistics: templates over the element type that must be inlined into functions compiled for
/// an instruction set. Elements are compared as keys (small_floats.hpp): integers, for which every
/// instruction set has a minimum and a comparison, in an order that includes NaN.
namespace clipper {

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

/// Adds to counts[i] how many keys in `vectors` registers are less than limits[i], of at most kTogether
/// limits.
template <std::size_t kTogether, std::size_t kBytes, class T>
[[gnu::always_inline]] inline void count_some_below(const Key<T>* keys, std::size_t vectors,
                                                    std::span<const std::int64_t> limits,
                                                    std::uint64_t* counts) noexcept {
  using Lanes = Vector<UnsignedOfSize<sizeof(T)>, kBytes>;
  using Keys = Vector<Key<T>, kBytes>;
  std::array<Keys, kTogether> limit;
  std::array<Lanes, kTogether> below{};
  for (std::size_t j = 0; j < kTogether; ++j)
    limit[j] = broadcast<kBytes>(j < limits.size() ? static_cast<Key<T>>(limits[j]) : Key<T>{});
  for (std::size_t i = 0; i < vectors; ++i) {
    Keys x;
    std::memcpy(&x, keys + i * (kBytes / sizeof(T)), sizeof(x));
    for (std::size_t j = 0; j < kTogether; ++j) below[j] = one_added<kBytes>(x < limit[j], below[j]);
  }
  for (std::size_t j = 0; j < limits.size(); ++j)
    counts[j] += sum_of_lanes<kBytes, UnsignedOfSize<sizeof(T)>>(below[j]);
}

/// Adds to counts[i] how many keys are less than limits[i].
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void count_below(const T* elements, std::size_t count,
                                               std::span<const std::int64_t> limits,
                                               std::span<std::uint64_t> counts) noexcept {
  constexpr std::size_t kFew = 2;
  constexpr std::size_t kMany = kBytes == vector_bytes(SimdLevel::v4) ? 10 : 5;  // fit the registers
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  constexpr std::size_t kMaxVectors = 255;  // more could overflow a lane
  alignas(kBytes) std::array<Key<T>, kLanes * kMaxVectors> keys;

  while (count != 0 && !limits.empty()) {
    const std::size_t length = std::min(count, keys.size());
    const std::size_t vectors = (length + kLanes - 1) / kLanes;
    for (std::size_t i = 0; i < length; ++i) keys[i] = key_of(elements[i]);
    std::fill(keys.begin() + static_cast<std::ptrdiff_t>(length),
              keys.begin() + static_cast<std::ptrdiff_t>(vectors * kLanes),
              std::numeric_limits<Key<T>>::max());  // never less
    std::size_t at = 0;
    for (; at + kFew < limits.size(); at += kMany)
      count_some_below<kMany, kBytes, T>(
          keys.data(), vectors, limits.subspan(at, std::min(kMany, limits.size() - at)), &counts[at]);
    if (at < limits.size())
      count_some_below<kFew, kBytes, T>(keys.data(), vectors, limits.subspan(at), &counts[at]);
    elements += length;
    count -= length;
  }
}

/// Finds the row of an element of a histogram, counted from 0. Integers of at least 16 bits, float32,
/// float64.
template <class T, bool = std::is_integral_v<T>>
class RowNumber {
  using Unsigned = std::make_unsigned_t<T>;

 public:
  explicit RowNumber(const Histogram& histogram) noexcept
      : exponent_(histogram.exponent),
        begin_(static_cast<Unsigned>(static_cast<Unsigned>(histogram.first) << exponent_)) {}

  [[nodiscard]] bool is_exact() const noexcept { return true; }

  [[gnu::always_inline]] std::int8_t operator()(T x) const noexcept {
    return static_cast<std::int8_t>(static_cast<Unsigned>(static_cast<Unsigned>(x) - begin_) >> exponent_);
  }

 private:
  int exponent_;
  Unsigned begin_;
};

template <class T>
class RowNumber<T, false> {
 public:
  explicit RowNumber(const Histogram& histogram) noexcept
      : first_(static_cast<std::int32_t>(histogram.first)),
        width_(static_cast<T>(std::ldexp(1.0, histogram.exponent))),
        scale_(static_cast<T>(std::ldexp(1.0, -histogram.exponent))),
        is_exact_(std::isnormal(width_) && std::isnormal(scale_) && histogram.first == first_ &&
                  std::abs(first_) < kMaxFirst) {}

  /// Whether T and std::int32_t hold what is calculated, for finite elements.
  [[nodiscard]] bool is_exact() const noexcept { return is_exact_; }

  /// x / width is rounded only if it is too small for T. Its integral part is 0 then, too.
  [[gnu::always_inline]] std::int8_t operator()(T x) const noexcept {
    auto row = static_cast<std::int32_t>(x * scale_);
    row -= x < static_cast<T>(row) * width_ ? 1 : 0;
    return static_cast<std::int8_t>(row - first_);
  }

 private:
  static constexpr std::int32_t kMaxFirst = 1 << 23;
  std::int32_t first_;
  T width_;
  T scale_;
  bool is_exact_;
};

/// Adds to counts[i] how many elements are in the rows up to row i, all but the last. A byte for each element
/// has fewer bits to compare than the element.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void count_rows(const T* elements, std::size_t count,
                                              const RowNumber<T>& row_of, std::size_t rows,
                                              std::span<std::uint64_t> counts) noexcept {
  constexpr std::size_t kLength = 4096;
  alignas(kBytes) std::array<std::int8_t, kLength> numbers;
  std::array<std::int64_t, Histogram::kMaxRows> ends;
  std::iota(ends.begin(), ends.end(), 1);
  while (count != 0) {
    const std::size_t length = std::min(count, kLength);
    for (std::size_t i = 0; i < length; ++i) numbers[i] = row_of(elements[i]);
    count_below<kBytes>(numbers.data(), length, std::span(ends).first(rows - 1), counts);
    elements += length;
    count -= length;
  }
}

}  // namespace clipper
