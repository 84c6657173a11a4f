#include <random>

#include "element/number.hpp"
#include "statistics/figure.hpp"
#include "support/catch.hpp"

namespace clipper::testing {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

Moments moments_of(const std::vector<double>& numbers) {
  Moments moments;
  for (const double x : numbers) moments.add(x);
  return moments;
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

}  // namespace

TEST_CASE("moments have the same bits in any order and however they are split") {
  std::mt19937_64 random{1};
  for (int round = 0; round < 100; ++round) {
    std::vector<double> numbers = random_numbers(random, 200);
    const Moments whole = moments_of(numbers);
    for (int order = 0; order < 5; ++order) {
      std::ranges::shuffle(numbers, random);
      std::vector<Moments> parts(random() % 9 + 1);
      for (const double x : numbers) parts[random() % parts.size()].add(x);
      while (parts.size() > 1) {
        const Moments last = parts.back();
        parts.pop_back();
        parts[random() % parts.size()] += last;
      }
      REQUIRE(parts[0].mean(200) == whole.mean(200));
      REQUIRE(parts[0].standard_deviation(200) == whole.standard_deviation(200));
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
    CHECK(moments_of(numbers).mean(1) == rest);
  }
}

TEST_CASE("mean and standard deviation are those of Python's fractions, rounded once") {
  struct Row {
    std::vector<double> numbers;
    double mean;
    double deviation;
  };
  // m = sum(map(Fraction, numbers)) / n; sqrt(Decimal(sum((x - m) ** 2) / n)) with 1400 digits; float().hex()
  const std::vector<Row> rows{
      {{1e308, 1e308, -1e308}, 0x1.7bbef5d3a60d5p+1021, 0x1.0c855b8dd8bf8p+1023},
      {std::vector<double>(5, kMax), kMax, 0},
      {{kMax, kSmallest, -kMax}, 0, 0x1.a20bd700c2c3dp+1023},
      {std::vector<double>(10, 0.1), 0.1, 0},
      {{1e16, 1, -1e16}, 0x1.5555555555555p-2, 0x1.d01fe3eaa494cp+52},
      {{3.5e-310, -2.25, 1e100, 2.25, -1e100}, 0x0.00ce2c8023ab8p-1022, 0x1.721e77aecbbb9p+331},
      {{-kMax, -kMax, 1e292}, -0x1.5555555555554p+1023, 0x1.e2b7dddfefa66p+1022},
      {std::vector<double>(3, kSmallest), kSmallest, 0},
      {{kSmallest, 0, 0}, 0, 0},
      {{1, 2, 3, 4}, 2.5, 0x1.1e3779b97f4a8p+0},
      {{1e8, 1e8 + 1, 1e8 + 3.5}, 0x1.7d78406p+26, 0x1.78d26149296afp+0},
      {{1e-200, 2e-200, 4e-200}, 0x1.c93aa6e317649p-664, 0x1.e8cc690e716a9p-665},
      {{1, 0x1.0000000000001p0}, 1, 0x1p-53},
      {{-1e-320, 3e-320, 1e-322}, 0x0.000000000054cp-1022, 0x0.0000000000d6ep-1022},
  };
  for (const Row& row : rows) {
    CAPTURE(row.numbers);
    CHECK(moments_of(row.numbers).mean(row.numbers.size()) == row.mean);
    CHECK(moments_of(row.numbers).standard_deviation(row.numbers.size()) == row.deviation);
  }
}

TEST_CASE(
    "mean and standard deviation are rounded once, to even only if they are exactly between two numbers") {
  CHECK(moments_of({1, 0x1p-53}).mean(1) == 1);
  CHECK(moments_of({1, 0x1p-53, 0x1p-300}).mean(1) == 0x1.0000000000001p0);
  CHECK(moments_of({1, 0x1p-53, -0x1p-300}).mean(1) == 1);
  CHECK(moments_of({2, -0x1p-52}).standard_deviation(2) == 1);
  CHECK(moments_of({2, -0x1.0000000000001p-52}).standard_deviation(2) == 0x1.0000000000001p0);
  Moments moments;
  moments.sum.add((Int128{3} << 59) - 1, -1074);  // 53 bits of the mean would be 1.5 * 2^-1074
  CHECK(moments.mean(std::uint64_t{1} << 60) == kSmallest);
}

TEST_CASE("moments may be added to others any number of times") {
  Moments moments = moments_of({-kMax, kMax, -1.5, 1.5, kSmallest, -kSmallest});
  const double deviation = moments.standard_deviation(6);
  for (int i = 0; i < 59; ++i) moments += Moments(moments);
  CHECK(moments.mean(std::uint64_t{6} << 59) == 0);
  CHECK(moments.standard_deviation(std::uint64_t{6} << 59) == deviation);
  moments.sum.add(3, 61);
  CHECK(moments.mean(std::uint64_t{6} << 59) == 2);
}

TEST_CASE("a sum of integers equals that in 128 bits") {
  std::mt19937_64 random{3};
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = random() % 500 + 1;
    const int lowest = static_cast<int>(random() % 1900) - 1074;  // the bits of a sum may be anywhere
    const auto negative = random() % 3;  // how many of the numbers are negative: few, half or most
    Int128 exact = 0;
    Moments moments;
    for (std::size_t i = 0; i < count; ++i) {
      auto x = static_cast<std::int64_t>(random() >> (1 + random() % 63));
      if (random() % 4 < 1 + negative) x = -x;
      const int exponent = static_cast<int>(random() % 40);
      const Int128 shifted = Int128{x} * (Int128{1} << exponent);
      exact += shifted;
      Moments other;
      if (random() % 2 == 0)
        other.sum.add(x, lowest + exponent);
      else
        other.sum.add(shifted, lowest);
      moments += other;
    }
    CAPTURE(round, count, lowest);
    // long double has 64 bits or more, so the second rounding matters only if its last bits are a tie.
    const long double mean = std::ldexp(static_cast<long double>(exact), lowest);
    CHECK(std::fabs(static_cast<long double>(moments.mean(1)) - mean) <= std::fabs(mean) * 0x1.01p-53L);
  }
}

}  // namespace clipper::testing
