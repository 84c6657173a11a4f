#include "element/text.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

Percentage percentage(const std::string& text) {
  INFO(text);
  return Percentage::parse(text).value();
}

/// Checks that `max` of `all` do not exceed the percentage, and that max + 1 do.
void check_max(const std::string& text, std::uint64_t all, std::uint64_t max) {
  INFO(text << " of " << all);
  CHECK_FALSE(percentage(text).is_exceeded_by(max, all));
  if (max < all) CHECK(percentage(text).is_exceeded_by(max + 1, all));
}

}  // namespace

TEST_CASE("a percentage is compared without rounding") {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  check_max("0.57", 10'000, 57);
  check_max("0.29", 10'000, 29);
  check_max("1.1", 1000, 11);
  check_max("0", 10, 0);
  check_max("-0.0", 10, 0);
  check_max("100", 10, 10);
  check_max("1e2", kMax, kMax);
  check_max("99.99999999999999999999999999999", kMax, kMax - 1);
  check_max("50", kMax, kMax / 2);
  check_max("33.333333333333333333333333", 3, 0);
  check_max("33.333333333333333333333334", 3, 1);
  check_max("0x.8p0", 200, 1);
  check_max("10", 5, 0);
  check_max("10", 0, 0);
  check_max("1e-99999999999999999999", kMax, 0);
  check_max("0.0000000000000000054210108624275222", kMax, 1);  // 100 / (2^64 - 1) is ...221...
  check_max("0.0000000000000000054210108624275221", kMax, 0);
}

TEST_CASE("every quotient of small integers equals its percentage exactly") {
  for (const std::uint64_t all : {10U, 100U, 625U, 1000U, 2048U})
    for (std::uint64_t count = 0; count <= all; ++count) {
      // 100 / 2048 has 9 decimal places.
      const std::string text = std::to_string(count * 100'000'000'000'000U / all) + "e-12";
      CAPTURE(text, all);
      CHECK_FALSE(percentage(text).is_exceeded_by(count, all));
      if (count != 0) CHECK(percentage(text).is_exceeded_by(count, all - 1) == (count <= all - 1));
    }
}

TEST_CASE("a count that exceeds a percentage is printed as more than it") {
  CHECK(percentage("33").text_of_exceeding(1, 3) == "33.3");
  CHECK(percentage("33.3").text_of_exceeding(1, 3) == "33.33");
  CHECK(percentage("0").text_of_exceeding(1, 1'000'000'000) == "1e-07");
  CHECK(percentage("99.99").text_of_exceeding(100'000, 100'001) == "100");
  CHECK(percentage("12.5").text_of_exceeding(125'000'001, 1'000'000'000) == "12.5000001");
}

TEST_CASE("text that is not a percentage is refused") {
  for (const std::string text :
       {"", "x", "1x", " 1", "-1", "100.0000000000000000000001", "1e400", "inf", "nan", "-1e-400"}) {
    INFO(text);
    CHECK_FALSE(Percentage::parse(text));
  }
  CHECK(percentage("0.50").text() == "0.50");
}

}  // namespace clipper
