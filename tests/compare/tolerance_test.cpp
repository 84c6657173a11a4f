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

TEST_CASE("without tolerances nothing is allowed") {
  const Tolerance none;
  CHECK(none.absolute() == 0);
  CHECK(none.relative() == 0);
  CHECK(none.whole() == 0);
  CHECK(none.whole_share(kMax) == 0);
}

}  // namespace clipper::testing
