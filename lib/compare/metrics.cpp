#include "compare/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace clipper {
namespace {

/// Adds x without rounding, unless it has bits below the lowest exponent of an ExactSum.
void add(long double x, ExactSum& sum) noexcept {
  int exponent = 0;
  constexpr int kBits = 64;
  const long double fraction = std::frexp(x, &exponent);
  const auto integer = static_cast<Int128>(std::ldexp(fraction, kBits));
  exponent -= kBits;
  const int below = std::max(ExactSum::kLowestExponent - exponent, 0);
  if (below < kBits) sum.add(integer >> below, exponent + below);
}

/// A number as mantissa * 2^exponent.
struct Scaled {
  long double mantissa = 0;
  int exponent = 0;
};

Scaled scaled(const ExactSum& sum) noexcept {
  const ExactSum::Magnitude magnitude = sum.magnitude();
  std::size_t top = magnitude.digits.size();
  while (top > 0 && magnitude.digits.at(top - 1) == 0) --top;
  constexpr std::size_t kUsed = 4;  // more than long double holds
  const std::size_t bottom = top - std::min(top, kUsed);
  Scaled result{0, ExactSum::kLowestExponent + ExactSum::kDigitBits * static_cast<int>(bottom)};
  for (std::size_t i = top; i > bottom; --i)
    result.mantissa = std::ldexp(result.mantissa, ExactSum::kDigitBits) + magnitude.digits.at(i - 1);
  if (magnitude.negative) result.mantissa = -result.mantissa;
  return result;
}

/// sqrt(x) of a number that is not negative.
Scaled root(Scaled x) noexcept {
  if (x.exponent % 2 != 0) {
    x.mantissa *= 2;
    --x.exponent;
  }
  return {std::sqrt(x.mantissa), x.exponent / 2};
}

double rounded(const Scaled& x) noexcept {
  return static_cast<double>(std::ldexp(x.mantissa, x.exponent));
}

}  // namespace

MetricSums& MetricSums::operator+=(const MetricSums& other) noexcept {
  actual += other.actual;
  expected += other.expected;
  product += other.product;
  difference += other.difference;
  relative = std::max(relative, other.relative);
  finite = finite && other.finite;
  return *this;
}

bool operator==(const MetricSums& a, const MetricSums& b) noexcept {
  const auto is_same = [](const ExactSum& x, const ExactSum& y) {
    return x.magnitude().negative == y.magnitude().negative && x.magnitude().digits == y.magnitude().digits;
  };
  if (!a.finite || !b.finite) return a.finite == b.finite;
  return is_same(a.actual, b.actual) && is_same(a.expected, b.expected) && is_same(a.product, b.product) &&
         is_same(a.difference, b.difference) && a.relative == b.relative;
}

void add(const BlockSums& block, MetricSums& sums) noexcept {
  sums.finite = sums.finite && block.finite;
  if (!block.finite) return;
  add(block.actual, sums.actual);
  add(block.expected, sums.expected);
  add(block.product, sums.product);
  add(block.difference, sums.difference);
  sums.relative = std::max(sums.relative, block.relative);
}

void add(long double actual, long double expected, MetricSums& sums) noexcept {
  const long double difference = actual - expected;
  sums.finite = sums.finite && std::isfinite(actual) && std::isfinite(expected);
  if (!sums.finite) return;
  add(actual * actual, sums.actual);
  add(expected * expected, sums.expected);
  add(actual * expected, sums.product);
  add(difference * difference, sums.difference);
  if (difference != 0)
    sums.relative = std::max(sums.relative, static_cast<double>(std::fabs(difference) / std::fabs(expected)));
}

Metrics metrics_of(const MetricSums& sums, std::uint64_t count) {
  Metrics metrics;
  if (!sums.finite || count == 0) return metrics;
  const Scaled actual = scaled(sums.actual);
  const Scaled expected = scaled(sums.expected);
  const Scaled difference = scaled(sums.difference);
  metrics.relative = sums.relative;
  metrics.rmse = rounded(root({difference.mantissa / static_cast<long double>(count), difference.exponent}));
  if (actual.mantissa > 0 && expected.mantissa > 0) {
    const Scaled product = scaled(sums.product);
    const Scaled lengths = root({actual.mantissa * expected.mantissa, actual.exponent + expected.exponent});
    const double cosine = rounded({product.mantissa / lengths.mantissa, product.exponent - lengths.exponent});
    metrics.cosine = std::clamp(cosine, -1.0, 1.0);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (difference.mantissa == 0)
    metrics.sqnr = kInfinity;
  else if (expected.mantissa == 0)
    metrics.sqnr = -kInfinity;
  else
    metrics.sqnr = static_cast<double>(
        10 * (std::log10(expected.mantissa / difference.mantissa) +
              static_cast<long double>(expected.exponent - difference.exponent) * std::log10(2.0L)));
  return metrics;
}

}  // namespace clipper
