#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/expression.hpp"
#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"
#include "statistics/figure.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {

/// The number of finite elements in each of at most kMaxRows ranges of width 2^exponent. Row i is the range
/// from (first + i) * 2^exponent, inclusive, to (first + i + 1) * 2^exponent, exclusive.
///
/// The width is the least with which kMaxRows rows hold all elements (at least 1 for integers, and within the
/// precision of float64), so it depends only on the lowest and the highest element. Histograms can be added
/// exactly, because widths divide each other and rows begin at multiples of the width.
struct Histogram {
  static constexpr std::size_t kMaxRows = 20;

  int exponent = 0;
  Int128 first = 0;
  std::size_t rows = 0;  ///< 0 if there are no finite elements
  std::array<std::uint64_t, kMaxRows> counts{};

  Histogram& operator+=(Histogram other) noexcept;
  void merge_rows(std::size_t most) noexcept;  ///< to at most so many, 2 or more: below and above 0
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// The rows for elements from `lowest` to `highest`, both finite, with counts of 0.
[[nodiscard, gnu::noinline]] Histogram histogram_for(DType dtype, ElementBits lowest,
                                                     ElementBits highest) noexcept;

/// The key (small_floats.hpp) of the least element in or above `row`, which is from 1 to rows - 1.
[[nodiscard, gnu::noinline]] std::int64_t first_key(DType dtype, const Histogram& histogram,
                                                    std::size_t row) noexcept;

/// The begin of a row as text; row `rows` begins where the last row ends. For floats with `digits`
/// significant digits, or if `digits` is 0 with as many as convert back to the same float64; for integers
/// exactly.
[[nodiscard]] std::string edge_text(DType dtype, const Histogram& histogram, std::size_t row, int digits = 0);

/// The statistics of any number of elements of one dtype. Those of a tensor's chunks can be added in any
/// order.
struct ElementStatistics {
  /// The lowest and highest finite element, in the order of keys (small_floats.hpp): -0 before 0.
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

/// The statistics of `count` elements, which must be aligned to their size; without bounds no elements beyond
/// them and no histogram, which take a second look at all. Every level gives the same result.
[[nodiscard]] ElementStatistics statistics_of(DType dtype, const std::optional<Bounds>& bounds,
                                              const std::byte* elements, std::size_t count,
                                              SimdLevel level) noexcept;

/// The statistics of each group of the source, in one pass.
[[nodiscard]] std::vector<ElementStatistics> statistics_of_groups(const ElementSource& source,
                                                                  const std::optional<Bounds>& bounds,
                                                                  SimdLevel level);

/// The values of expressions in a group, in their order; nothing for one of whose figures no element has. NaN
/// for what lies between infinities. Figures alone and rules are exact, but mean and std are rounded once.
struct GroupNumbers {
  std::vector<std::optional<Figure>> figures;
  std::vector<std::string_view> flat{};           ///< of each what is 0, "the mad is 0"; "" without such
  bool has_numbers = false;                       ///< whether any element is not NaN; all may be infinite
  const ElementStatistics* statistics = nullptr;  ///< of the elements, if a figure needs them
};

/// Finds the figures of expressions, each once, of each group of the source; calls `found` with the values
/// for one group after the other. One pass for all others together, those of percentiles_of_groups() for
/// percentiles, median and iqr, and those of median_deviations() for mad; of groups that read() gathers one
/// for all.
void figures_of_groups(const ElementSource& source, std::span<const Expression> expressions, SimdLevel level,
                       const std::function<void(std::uint64_t, const GroupNumbers&)>& found);

/// Finds the norm of each group of the source, whose dtype has kernels: exact, and rounded once to float64.
/// NaN if an element is, otherwise infinity if one is; 0 of no elements. One pass.
void norms_of_groups(const ElementSource& source, Norm norm, SimdLevel level,
                     const std::function<void(std::uint64_t group, double)>& found);

/// For each group of the source the median of |x - center| over the elements that are not NaN, exactly, as
/// scipy.stats.median_abs_deviation defines it if the centers are medians; nothing for a group without a
/// center, and NaN for an infinite one.
///
/// One pass over the elements for 8 and 16 bits and for few elements, otherwise two, or four to six if more
/// than 128 Ki different elements are near the middle. Error{io} if the elements changed between two passes.
[[nodiscard]] std::vector<std::optional<Number>> median_deviations(
    const ElementSource& source, std::span<const std::optional<Number>> centers, SimdLevel level);

// From the figures to the values of expressions.

inline constexpr std::size_t kNoFigure = static_cast<std::size_t>(-1);

/// The figures of expressions, each once.
struct Needed {
  std::vector<Expression::Figure> names;
  std::vector<std::vector<std::size_t>> places;  ///< of the figure of each term, or kNoFigure
  bool are_alone = true;                         ///< whether each name is one expression
  bool has_spread = false;                       ///< whether a std, mad or iqr is among them

  explicit Needed(std::span<const Expression> expressions);
};

using Found = std::optional<Figure>;

/// Sets the values of all expressions from those of their figures, which it may take.
void evaluate(std::span<const Expression> expressions, const Needed& needed, std::vector<Found>& found,
              GroupNumbers& numbers);

}  // namespace clipper
