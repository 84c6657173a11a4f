#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "contract/bounds.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"
#include "statistics/histogram.hpp"
#include "statistics/moments.hpp"

namespace clipper {

/// The statistics of any number of elements of one dtype. Those of a tensor's chunks can be added in any
/// order.
struct ElementStatistics {
  /// The lowest and highest finite element, in the order of keys (element_key.hpp): -0 before 0.
  struct Range {
    ElementBits lowest = 0;
    ElementBits highest = 0;
  };

  DType dtype = DType::float32;
  std::uint64_t count = 0;
  std::uint64_t nan = 0;
  std::uint64_t positive_infinite = 0;
  std::uint64_t negative_infinite = 0;
  std::uint64_t below = 0;  ///< elements less than Bounds::lo; never NaN
  std::uint64_t above = 0;  ///< elements greater than Bounds::hi; never NaN
  std::optional<Range> finite;
  Moments moments;      ///< of the finite elements
  Histogram histogram;  ///< of the finite elements

  [[nodiscard]] std::uint64_t finite_count() const noexcept {
    return count - nan - positive_infinite - negative_infinite;
  }

  /// The least and the greatest element, infinities included; nothing if all elements are NaN.
  [[nodiscard]] std::optional<ElementBits> min() const noexcept;
  [[nodiscard]] std::optional<ElementBits> max() const noexcept;

  /// The mean and the population standard deviation (divisor: finite_count()) of the finite elements, rounded
  /// once to float64; nothing if there are none.
  [[nodiscard]] std::optional<double> mean() const noexcept;
  [[nodiscard]] std::optional<double> standard_deviation() const noexcept;

  /// `other` must have the same dtype.
  ElementStatistics& operator+=(const ElementStatistics& other) noexcept;
};

/// The statistics of `count` elements, which must be aligned to their size. Every level gives the same
/// result.
[[nodiscard]] ElementStatistics statistics_of(DType dtype, const Bounds& bounds, const std::byte* elements,
                                              std::size_t count, SimdLevel level) noexcept;

}  // namespace clipper
