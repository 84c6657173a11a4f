#pragma once

#include <cstdint>
#include <optional>

#include "statistics/moments.hpp"

namespace clipper {

/// The sums from which metrics are calculated: of the squares of the actual and of the expected elements, of
/// their products, and of the squares of their differences. Pairs are added in blocks whose sums are float64,
/// and blocks exactly: the order of blocks does not matter.
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

/// Adds a pair of any magnitude.
void add(long double actual, long double expected, MetricSums& sums) noexcept;

/// Of `count` pairs.
[[nodiscard]] Metrics metrics_of(const MetricSums& sums, std::uint64_t count);

}  // namespace clipper
