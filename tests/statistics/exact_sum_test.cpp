#include "statistics/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "element/number.hpp"
#include "support/catch.hpp"

namespace clipper::testing {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

ExactSum sum_of(const std::vector<double>& numbers) {
  ExactSum sum;
  for (const double x : numbers) sum.add(x);
  return sum;
}

/// Finite numbers of any magnitude.
std::vector<double> random_numbers(std::mt19937_64& random, std::size_t count) {
  std::vector<double> numbers;
  while (numbers.size() < count) {
    double x = 0;
    const std::uint64_t bits = random();
    std::memcpy(&x, &bits, sizeof x);
    if (std::isfinite(x)) numbers.push_back(x);
  }
  return numbers;
}

/// Whether the result is the nearest float64 or one next to it.
bool is_near(double x, long double exact) {
  const auto nearest = static_cast<double>(exact);
  return x >= std::nextafter(nearest, -kMax) && x <= std::nextafter(nearest, kMax);
}

}  // namespace

TEST_CASE("a sum has the same bits in any order and however it is split") {
  std::mt19937_64 random{1};
  for (int round = 0; round < 100; ++round) {
    std::vector<double> numbers = random_numbers(random, 200);
    const double mean = sum_of(numbers).mean(7);
    for (int order = 0; order < 5; ++order) {
      std::ranges::shuffle(numbers, random);
      std::vector<ExactSum> parts(random() % 9 + 1);
      for (const double x : numbers) parts[random() % parts.size()].add(x);
      while (parts.size() > 1) {
        const ExactSum last = parts.back();
        parts.pop_back();
        parts[random() % parts.size()] += last;
      }
      REQUIRE(parts[0].mean(7) == mean);
    }
  }
}

TEST_CASE("numbers of any magnitude cancel exactly") {
  std::mt19937_64 random{2};
  for (const double rest : {0.0, kSmallest, -kSmallest, 1.0, -0.1, 1e-310, kMax, -kMax}) {
    std::vector<double> numbers = random_numbers(random, 100);
    for (std::size_t i = 0; i < 100; ++i) numbers.push_back(-numbers[i]);
    numbers.push_back(rest);
    std::ranges::shuffle(numbers, random);
    CHECK(sum_of(numbers).mean(1) == rest);
  }
}

TEST_CASE("a mean equals that of Python's fractions") {
  // float(sum(map(Fraction, numbers)) / len(numbers)).hex()
  const std::vector<std::pair<std::vector<double>, double>> rows{
      {{1e308, 1e308, -1e308}, 0x1.7bbef5d3a60d5p+1021},
      {std::vector<double>(5, kMax), kMax},
      {{kMax, kSmallest, -kMax}, 0},
      {std::vector<double>(10, 0.1), 0.1},
      {{1e16, 1, -1e16}, 0x1.5555555555555p-2},
      {{3.5e-310, -2.25, 1e100, 2.25, -1e100}, 0x0.00ce2c8023ab8p-1022},
      {{-kMax, -kMax, 1e292}, -0x1.5555555555554p+1023},
      {std::vector<double>(3, kSmallest), kSmallest},
  };
  for (const auto& [numbers, mean] : rows) {
    CAPTURE(numbers);
    CHECK(is_near(sum_of(numbers).mean(numbers.size()), mean));
  }
}

TEST_CASE("a sum of integers equals that in 128 bits") {
  std::mt19937_64 random{3};
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = random() % 500 + 1;
    const int lowest = static_cast<int>(random() % 1900) - 1074;  // the bits of a sum may be anywhere
    const auto negative = random() % 3;  // how many of the numbers are negative: few, half or most
    Int128 exact = 0;
    ExactSum sum;
    for (std::size_t i = 0; i < count; ++i) {
      auto x = static_cast<std::int64_t>(random() >> (1 + random() % 63));
      if (random() % 4 < 1 + negative) x = -x;
      const int exponent = static_cast<int>(random() % 40);
      exact += Int128{x} * (Int128{1} << exponent);
      if (random() % 50 == 0) {
        ExactSum other;
        other.add(x, lowest + exponent);
        sum += other;
      } else {
        sum.add(x, lowest + exponent);
      }
    }
    const long double mean =
        std::ldexp(static_cast<long double>(exact), lowest) / static_cast<long double>(count);
    CAPTURE(round, count, lowest);
    CHECK(is_near(sum.mean(count), mean));
  }
}

}  // namespace clipper::testing
