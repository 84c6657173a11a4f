#include "compare/tolerance.hpp"

#include <random>

#include "support/catch.hpp"

namespace clipper::testing {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

/// The integer that a text of decimal digits spells, at most 2^64 - 1.
std::uint64_t saturated(const std::string& digits) {
  std::uint64_t value = 0;
  for (const char digit : digits) {
    if (value > (kMax - static_cast<std::uint64_t>(digit - '0')) / 10) return kMax;
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

/// digits * 10^exponent without its fraction.
std::uint64_t whole(std::string digits, int exponent) {
  if (exponent >= 0) return saturated(digits.append(static_cast<std::size_t>(exponent), '0'));
  const auto cut = static_cast<std::size_t>(-exponent);
  return cut >= digits.size() ? 0 : saturated(digits.substr(0, digits.size() - cut));
}

/// The product of two texts of decimal digits, by long multiplication.
std::string product(const std::string& a, const std::string& b) {
  std::string result(a.size() + b.size(), '0');
  for (std::size_t i = a.size(); i-- > 0;) {
    int carry = 0;
    for (std::size_t j = b.size(); j-- > 0;) {
      const int sum = (result[i + j + 1] - '0') + (a[i] - '0') * (b[j] - '0') + carry;
      result[i + j + 1] = static_cast<char>('0' + sum % 10);
      carry = sum / 10;
    }
    result[i] = static_cast<char>('0' + carry);
  }
  return result;
}

std::string random_digits(std::mt19937_64& random, std::size_t count) {
  std::string digits;
  while (digits.size() < count) digits += static_cast<char>('0' + random() % 10);
  return digits;
}

Tolerance tolerance(const std::string& absolute, const std::string& relative) {
  return {*parse_number(absolute), *parse_number(relative)};
}

}  // namespace

TEST_CASE("whole_share() is the exact product without its fraction, at most 2^64 - 1") {
  std::mt19937_64 random{1};
  for (int exponent = -60; exponent <= 25; ++exponent)
    for (int i = 0; i < 200; ++i) {
      const std::string digits = std::to_string(random() % 9 + 1) + random_digits(random, random() % 19);
      const std::string text = digits + "e" + std::to_string(exponent);
      const Tolerance relative = tolerance("0", text);
      for (const std::uint64_t magnitude : {random() >> random() % 64, std::uint64_t{1}, kMax}) {
        CAPTURE(text, magnitude);
        REQUIRE(relative.whole_share(magnitude) ==
                whole(product(digits, std::to_string(magnitude)), exponent));
      }
      REQUIRE(relative.whole_share(0) == 0);
    }
}

TEST_CASE("the first 19 digits of a relative tolerance count") {
  std::mt19937_64 random{2};
  for (int i = 0; i < 500; ++i) {
    const std::string digits = "3" + random_digits(random, 18);
    const std::uint64_t magnitude = random();
    CAPTURE(digits, magnitude);
    CHECK(tolerance("0", "0." + digits + random_digits(random, 5)).whole_share(magnitude) ==
          whole(product(digits, std::to_string(magnitude)), -19));
  }
}

TEST_CASE("whole() is an absolute tolerance without its fraction, at most 2^64 - 1") {
  std::mt19937_64 random{3};
  for (int exponent = -40; exponent <= 25; ++exponent)
    for (int i = 0; i < 50; ++i) {
      const std::string digits = "2" + random_digits(random, random() % 30);
      const std::string text = digits + "e" + std::to_string(exponent);
      CAPTURE(text);
      CHECK(tolerance(text, "0").whole() == whole(digits, exponent));
    }
}

TEST_CASE("tolerances of floats are the nearest float64s, as libc reads them") {
  std::mt19937_64 random{4};
  for (int i = 0; i < 1000; ++i) {
    const auto text = [&] {
      return random_digits(random, 25) + "e" + std::to_string(static_cast<int>(random() % 600) - 330);
    };
    const std::string absolute = text();
    const std::string relative = text();
    CAPTURE(absolute, relative);
    const Tolerance both = tolerance(absolute, relative);
    CHECK(both.absolute() == std::strtod(absolute.c_str(), nullptr));
    CHECK(both.relative() == std::strtod(relative.c_str(), nullptr));
  }
}

TEST_CASE("integers are allowed exactly A + R * |e|, whatever the digits") {
  struct Row {
    std::string absolute;
    std::string relative;
    UInt128 difference;  // the largest that is allowed
    std::uint64_t magnitude;
  };
  const std::string thirds(40, '3');
  for (const Row& row :
       {Row{"0.5", "0.5", 2, 3}, Row{"0", "0.1", 0, 9}, Row{"0", "0.1", 1, 10},
        Row{"0." + thirds, "0." + thirds, 1, 3}, Row{"0." + thirds, "0." + thirds + "7", 1, 2},
        Row{"0", "0." + thirds, 0, 3}, Row{"1e-1000", "0." + thirds, 0, 3}, Row{"0", "1e-25", 0, kMax},
        Row{"18446744073709551616.5", "0", UInt128{1} << 64, 7},
        Row{"1" + std::string(30, '0') + ".1", "3.1", kMax, 1},
        Row{"0.99999999999999999999", "1", kMax, kMax}, Row{"0.1", "1e-19", 1, kMax}}) {
    CAPTURE(row.absolute, row.relative, row.magnitude);
    const Tolerance both = tolerance(row.absolute, row.relative);
    CHECK(both.allows(row.difference, row.magnitude));
    if (row.difference != kMax) CHECK_FALSE(both.allows(row.difference + 1, row.magnitude));
  }
}

TEST_CASE("an integer and a float are allowed exactly A + R * |e|, down to the least float64") {
  const ExactElement five{false, 5, 0};
  const ExactElement tiny{false, 1, -1074};
  const ExactElement minus_tiny{true, 1, -1074};
  CHECK(tolerance("5", "0").allows(five, tiny, 5));
  CHECK_FALSE(tolerance("5", "0").allows(five, minus_tiny, 5));
  CHECK(tolerance("5", "1").allows(five, minus_tiny, 5));
  CHECK_FALSE(tolerance("5", "0.999").allows(five, minus_tiny, 5));
  CHECK_FALSE(tolerance("0", "1").allows({false, 1, 1000}, {true, 1, 1000}, std::ldexp(1, 1001)));
  CHECK(tolerance("0", "2").allows({false, 1, 1000}, {true, 1, 1000}, std::ldexp(1, 1001)));
}

TEST_CASE("without tolerances nothing is allowed") {
  const Tolerance none;
  CHECK(none.absolute() == 0);
  CHECK(none.relative() == 0);
  CHECK(none.whole() == 0);
  CHECK(none.whole_share(kMax) == 0);
}

}  // namespace clipper::testing
