#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "compare/natural.hpp"
#include "element/dtype.hpp"
#include "statistics/moments.hpp"

namespace clipper {

/// The sums from which metrics are calculated: of the squares of the actual and of the expected elements, of
/// their products, and of the squares of their differences. Pairs are added one by one, exactly, or in blocks
/// whose sums are float64, and blocks exactly: the order of blocks does not matter.
struct MetricSums {
  ExactSum actual;
  ExactSum expected;
  ExactSum product;
  ExactSum difference;
  double relative = 0;  ///< the largest |a - e| / |e|, infinity if e is 0
  bool finite = true;   ///< whether all elements are; if not, the sums mean nothing

  MetricSums& operator+=(const MetricSums& other) noexcept;
  friend bool operator==(const MetricSums& a, const MetricSums& b) noexcept;
};

/// The sums of one block. Those of float64 elements may be too large for float64 although all are finite.
struct BlockSums {
  double actual = 0;
  double expected = 0;
  double product = 0;
  double difference = 0;
  double relative = 0;
  bool finite = true;
};

/// How far two tensors are apart as vectors. Nothing where a metric does not exist: if an element is not
/// finite, none does; there is no cosine of a zero vector.
struct Metrics {
  std::optional<double> relative;  ///< the largest |a - e| / |e|
  std::optional<double> rmse;      ///< the root of the mean square of a - e
  std::optional<double> cosine;    ///< of the angle between the vectors
  std::optional<double>
      sqnr;  ///< in dB, of the expected vector to the difference; infinity without a difference
};

/// Adds the sums of a block.
void add(const BlockSums& block, MetricSums& sums) noexcept;

/// Adds pairs without rounding.
class PairSums {
 public:
  /// Adds integers or float64.
  template <class A, class E>
  void add(A actual, E expected) noexcept {
    if (std::isfinite(static_cast<double>(actual)) && std::isfinite(static_cast<double>(expected)))
      add(exact_element(actual), exact_element(expected));
    else
      sums_.finite = false;
  }

  /// Notes |a - e| / |e| of a pair, or the largest of a block.
  void note_relative(double relative) noexcept { sums_.relative = std::max(sums_.relative, relative); }
  void note_relative(long double actual, long double expected) noexcept;

  /// Of at most 2^30 pairs.
  [[nodiscard]] MetricSums total() const noexcept;

 private:
  void add(const ExactElement& actual, const ExactElement& expected) noexcept;

  MetricSums sums_;  ///< without `difference`
};

/// Of `count` pairs.
[[nodiscard]] Metrics metrics_of(const MetricSums& sums, std::uint64_t count);

/// Limits of the metrics of `count` pairs, decided without rounding if the sums are exact; an SQNR is rounded
/// to float64 unless the limit is a multiple of 10 dB. False if the metric does not exist. The limit is not
/// NaN.
[[nodiscard]] bool has_cosine_from(const Number& least, const MetricSums& sums, std::uint64_t count);
[[nodiscard]] bool has_rmse_to(const Number& most, const MetricSums& sums, std::uint64_t count);
[[nodiscard]] bool has_sqnr_from(const Number& least, const MetricSums& sums, std::uint64_t count);

}  // namespace clipper
