#include "statistics/figure.hpp"

#include <bit>
#include <random>

#include "element/element.hpp"
#include "statistics/percentiles.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

/// Floats of all exponents, whole numbers, zeros, and neighbours of the middle of two float32.
std::vector<double> numbers() {
  std::vector<double> all{0.0,    -0.0,   1, -1, 3, 0x1p-1074, -0x1.8p-1073, 0x1.fffffffffffffp1023,
                          0x1p53, -0x1p63};
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    const auto bits = random();
    all.push_back(std::ldexp(static_cast<double>(bits >> 11), static_cast<int>(random() % 120) - 110));
    all.push_back(-static_cast<double>(
        std::bit_cast<float>(0x3f800000U | static_cast<std::uint32_t>(bits & 0x7fffff))));
    all.push_back(1 + std::ldexp(static_cast<double>(2 * (bits & 0xffffff) + 1), -24));
  }
  return all;
}

/// Of the same value and sign, and rounded alike.
void check_equal(const Figure& figure, const Number& number) {
  const Number found = figure;
  REQUIRE(found == number);
  REQUIRE(found.negative == number.negative);
  REQUIRE(to_bits(figure.nearest()) == to_bits(round_to<double>(number)));
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
    REQUIRE(nearest_element(dtype, figure) == nearest_element(dtype, number));
}

}  // namespace

TEST_CASE("Figures are numbers") {
  for (const double x : numbers()) check_equal(x, x);
  for (const auto* const text :
       {"0.1", "123456789012345678901234567890", "1e400", "-9007199254740993", "1e-400"})
    check_equal(*parse_number(text), *parse_number(text));
}

TEST_CASE("Sums, products and interpolations of figures are those of numbers") {
  const std::vector<double> all = numbers();
  for (const auto* const text : {"1", "-3", "1.5", "0", "-0", "2e3", "1e-300", "0.123456789012345678"}) {
    const Number factor = *parse_number(text);
    for (const double x : all) check_equal(product(Figure(x), factor), product(Number(x), factor));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double a = all[i];
    const double b = all[(i * 7 + 5) % all.size()];
    check_equal(sum(Figure(a), Figure(b)), sum(Number(a), Number(b)));
    CHECK(compare(Figure(a), Figure(b)) == (a < b ? -1 : a > b ? 1 : 0));
    for (const std::uint64_t fraction :
         {kFractionOne / 2, kFractionOne / 4, std::uint64_t{333'333'333'333'333'333}}) {
      Number share = fraction;
      share.exponent -= kFactorDigits;
      const Number expected =
          sum(Number(a), difference(product(Number(b), share), product(Number(a), share)));
      CHECK(Number(interpolate(a, b, fraction)) == expected);
      CHECK(interpolate(a, b, fraction).nearest() == round_to<double>(expected));
    }
  }
}

}  // namespace clipper
