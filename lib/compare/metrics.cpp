#include "compare/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace clipper {
namespace {

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

void add(double x, ExactSum& sum) noexcept {
  const auto [negative, magnitude, exponent] = exact_element(x);
  sum.add(negative ? -Int128{magnitude} : Int128{magnitude}, exponent);
}

/// Adds a * b.
void add_product(const ExactElement& a, const ExactElement& b, ExactSum& sum) noexcept {
  constexpr int kBits = 64;  // of each half of the product
  UInt128 product = UInt128{a.magnitude} * b.magnitude;
  const int exponent = a.exponent + b.exponent;
  const auto add = [&](UInt128 part, int power) {
    const auto value = static_cast<Int128>(part);
    if (part != 0) sum.add(a.negative == b.negative ? value : -value, power);
  };
  if (product >> 127 != 0) {  // more than ExactSum::add() takes
    add(product >> kBits, exponent + kBits);
    product = static_cast<std::uint64_t>(product);
  }
  add(product, exponent);
}

/// |sum| * 2^-ExactSum::kLowestExponent.
Natural natural(const ExactSum& sum) {
  return Natural(sum.magnitude().digits);
}

Natural square(const Natural& x) {
  return x * x;
}

Natural power_of_ten(std::int64_t exponent) {
  return {"1", static_cast<std::uint64_t>(exponent)};
}

/// A limit as numerator / denominator.
struct Ratio {
  Natural numerator;
  Natural denominator;

  explicit Ratio(const Number& number) {
    const Decimal decimal(number);
    const std::int64_t places = std::max<std::int64_t>(-decimal.power, 0);
    numerator = decimal.shifted(places);
    denominator = power_of_ten(places);
  }
};

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

void PairSums::add(const ExactElement& actual, const ExactElement& expected) noexcept {
  add_product(actual, actual, sums_.actual);
  add_product(expected, expected, sums_.expected);
  add_product(actual, expected, sums_.product);
}

void PairSums::note_relative(long double actual, long double expected) noexcept {
  if (actual != expected)
    note_relative(static_cast<double>(std::fabs(actual - expected) / std::fabs(expected)));
}

/// (a - e)^2 = a^2 + e^2 - 2ae
MetricSums PairSums::total() const noexcept {
  MetricSums result = sums_;
  result.difference += sums_.actual;
  result.difference += sums_.expected;
  result.difference -= sums_.product;
  result.difference -= sums_.product;
  return result;
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

/// product / sqrt(actual * expected) >= least, squared.
bool has_cosine_from(const Number& least, const MetricSums& sums, std::uint64_t count) {
  if (!metrics_of(sums, count).cosine) return false;
  const ExactSum::Magnitude product = sums.product.magnitude();
  const bool is_negative = product.negative;
  if (is_negative != (least < Number())) return !is_negative;
  const Ratio limit(least);
  const Natural cosine = square(Natural(product.digits)) * square(limit.denominator);
  const Natural bound = natural(sums.actual) * natural(sums.expected) * square(limit.numerator);
  return is_negative ? cosine <= bound : cosine >= bound;
}

/// sqrt(difference / count) <= most, squared.
bool has_rmse_to(const Number& most, const MetricSums& sums, std::uint64_t count) {
  if (!metrics_of(sums, count).rmse) return false;
  if (!std::isfinite(round_to<double>(most))) return true;
  const Ratio limit(most);
  Natural bound = square(limit.numerator) * Natural(count);
  bound <<= static_cast<unsigned>(-ExactSum::kLowestExponent);
  return natural(sums.difference) * square(limit.denominator) <= bound;
}

/// expected >= difference * 10^(least / 10): the power is irrational unless its exponent is an integer.
bool has_sqnr_from(const Number& least, const MetricSums& sums, std::uint64_t count) {
  const std::optional<double> sqnr = metrics_of(sums, count).sqnr;
  const auto limit = round_to<double>(least);
  constexpr double kFarther = 20'000;  // than any finite SQNR
  const bool is_tens = least.exponent > std::ssize(least.digits) || least.digits.empty();
  if (!sqnr || !std::isfinite(*sqnr) || !is_tens || std::fabs(limit) > kFarther)
    return sqnr && *sqnr >= limit;
  const auto exponent = static_cast<std::int64_t>(limit) / 10;
  const Natural expected = natural(sums.expected) * power_of_ten(std::max<std::int64_t>(-exponent, 0));
  return expected >= natural(sums.difference) * power_of_ten(std::max<std::int64_t>(exponent, 0));
}

}  // namespace clipper
