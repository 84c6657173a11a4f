#include "element/number.hpp"

#include <cstdio>
#include <random>

#include "element/small_floats.hpp"
#include "support/catch.hpp"

using namespace clipper;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Number number(std::string_view text) {
  INFO("parse_number(\"" << text << "\")");
  const auto parsed = parse_number(text);
  REQUIRE(parsed.has_value());
  return *parsed;
}

std::string text_of(const Number& number) {
  return (number.negative ? "-0." : "0.") + number.digits + "e" + std::to_string(number.exponent);
}

template <class T>
ElementBits bits_of(std::string_view text) {
  return to_bits(round_to<T>(number(text)));
}

/// The digits of a number slightly farther from zero.
Number a_hair_above(Number n) {
  n.digits += std::string(60, '0') + "1";
  return n;
}

/// The digits of a number slightly nearer to zero.
Number a_hair_below(Number n) {
  n.digits.back() = static_cast<char>(n.digits.back() - 1);
  n.digits += std::string(60, '9');
  return parse_number(text_of(n)).value();
}

/// The value of a pattern without sign bit. For infinity, the value that would follow the largest finite one.
template <HalfType T>
double value_of(unsigned bits) {
  constexpr int kBias = (1 << (14 - T::kFractionBits)) - 1;
  const int exponent = static_cast<int>(bits >> T::kFractionBits);
  const int fraction = static_cast<int>(bits) & ((1 << T::kFractionBits) - 1);
  const int significand = exponent == 0 ? fraction : fraction | (1 << T::kFractionBits);
  return std::ldexp(significand, std::max(exponent, 1) - kBias - T::kFractionBits);
}

}  // namespace

TEST_CASE("parse_number() accepts decimal and hexadecimal numbers in every spelling") {
  for (const auto* text :
       {"10",       "+10",    "010",     "10.",      "10.00",         "1e1",       "1E+1",
        "01.e0001", ".1e2",   "100e-1",  "0.0010e4", "0xa",           "0XA",       "0x0a.0p0",
        "0x.ap4",   "0xap+0", "0x1.4p3", "0x14.P-1", "0x00.0000ap20", "0xa000p-12"}) {
    const Number ten = number(text);
    INFO(text);
    CHECK((ten.kind == Number::Kind::finite && !ten.negative && ten.digits == "1" && ten.exponent == 2));
  }
  for (const auto* text : {"-.5859375", "-5859375E-7", "-0x.96p0", "-0x96p-8", "-0x4bp-7", "-0X1.2cp-1"}) {
    const Number fraction = number(text);
    INFO(text);
    CHECK((fraction.negative && fraction.digits == "5859375" && fraction.exponent == 0));
  }
  for (const auto* text : {"0", "000", "0.", ".0", "0e5", "0e-99999999999999999999", "0x0", "0x00.00p-7"}) {
    const Number zero = number(text);
    INFO(text);
    CHECK((zero.kind == Number::Kind::finite && zero.digits.empty() && zero.exponent == 0));
  }
  for (const auto* text : {"inf", "INF", "+iNfInItY"}) CHECK(round_to<double>(number(text)) == kInfinity);
  CHECK(round_to<double>(number("-Infinity")) == -kInfinity);
  CHECK(number("0xaBcDeF0123456789p4").digits == "19807701982203389352");
}

TEST_CASE("parse_number() refuses everything else") {
  const std::string text =
      GENERATE(as<std::string>{}, "", " 1", "1 ", "1x", "0x", "0x.", "0x.p1", "0x1p", "0x1p+", "0xg", "0x-1",
               "0x1e+1", "0x1pa", "\x10x1", "1e", "1e+", "1e+-1", "1e1.5", "e1", ".e1", "--1", "+-1", "-+1",
               "-", "+", "1,5", ".", "..1", "1.2.3", "1_0", "1f", "a", "in", "infi", "infinit", "infinityy",
               "nan0", "nan(1)", "1\n", "\xd9\xa1", std::string("1\0", 2), "@1");
  INFO("\"" << text << "\"");
  CHECK_FALSE(parse_number(text).has_value());
}

TEST_CASE("parse_number() keeps the sign of zero and NaN") {
  CHECK(number("-0").negative);
  CHECK(number("-nan").kind == Number::Kind::nan);
  CHECK(bits_of<Float16>("-0") == 0x8000);
  CHECK(bits_of<float>("-1e-99999") == 0x80000000);
  CHECK(bits_of<double>("-0x1p-99999") == 0x8000000000000000);
}

TEST_CASE("every NaN becomes a Number, quiet or signalling") {
  for (const std::uint64_t bits : {0x7ff8000000000000U, 0xfff8000000000000U, 0x7ff0000000000001U,
                                   0xfff0000000000001U, 0xffffffffffffffffU}) {
    const Number nan = from_bits<double>(bits);
    CHECK(nan.kind == Number::Kind::nan);
    CHECK(nan.negative == (bits >> 63U != 0));
  }
}

TEST_CASE("NaN converts to the positive quiet NaN") {
  CHECK(bits_of<Float16>("-nan") == 0x7e00);
  CHECK(bits_of<BFloat16>("NaN") == 0x7fc0);
  CHECK(bits_of<float>("-NAN") == 0x7fc00000);
  CHECK(bits_of<double>("nan") == 0x7ff8000000000000);
}

TEST_CASE("numbers with very many digits or huge exponents become infinity, zero or the nearest element") {
  const std::string zeros(100'000, '0');
  CHECK(number("1" + zeros + "e-100000") == number("1"));
  CHECK(number("0." + zeros + "1e100001") == number("1"));
  CHECK(number("0x1" + zeros + "p-400000") == number("1"));
  CHECK(number("0x0." + zeros + "1p400004") == number("1"));
  CHECK(bits_of<double>("1." + zeros + "1") == to_bits(1.0));
  CHECK(bits_of<double>("0x1.00000000000008" + zeros + "1") == to_bits(std::nextafter(1.0, 2.0)));
  CHECK(bits_of<double>("0x1.00000000000008" + zeros) == to_bits(1.0));
  for (const std::string huge : {"1e18446744073709551617", "0x1p99999999999999999999", "1e309", "0x1p1024"}) {
    INFO(huge);
    CHECK(bits_of<double>(huge) == to_bits(kInfinity));
    CHECK(bits_of<double>("-" + huge) == to_bits(-kInfinity));
    CHECK(number(huge) < number("inf"));
    CHECK(is_integer(number(huge)));
    CHECK(to_integer(number("-" + huge), Rounding::up) == -(Int128{1} << 100));
  }
  for (const std::string tiny :
       {"1e-18446744073709551617", "0x1p-99999999999999999999", "1e-325", "0x1p-1075"}) {
    INFO(tiny);
    CHECK(bits_of<double>(tiny) == 0);
    CHECK(number(tiny) > number("0"));
    CHECK_FALSE(is_integer(number(tiny)));
    CHECK(to_integer(number(tiny), Rounding::up) == 1);
    CHECK(to_integer(number(tiny), Rounding::down) == 0);
  }
}

TEST_CASE("numbers compare by their exact value") {
  std::vector<Number> ascending;
  for (const auto* text :
       {"-inf", "-1e400", "-1e2", "-99.99", "-99", "-1e-400", "0", "1e-400", "0.1", "0.10000000000000000001",
        "0x1.999999999999ap-4", "1", "9007199254740993", "9007199254740994", "1e400", "inf"})
    ascending.push_back(number(text));
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      INFO(text_of(ascending[i]) << " and " << text_of(ascending[j]));
      CHECK(((ascending[i] <=> ascending[j]) == (i <=> j)));
    }
  }
  CHECK(number("-0") == number("0"));
  CHECK(((number("nan") <=> number("nan")) == std::partial_ordering::unordered));
  CHECK_FALSE(number("nan") == number("nan"));
}

TEST_CASE("is_integer() depends on the value, not on the spelling") {
  for (const auto* text : {"0", "-0.0", "1.0", "-12", "1.5e1", "100e-2", "0x1.8p1", "1e400"})
    CHECK(is_integer(number(text)));
  for (const auto* text : {"0.5", "-1.5", "1e-1", "100e-3", "0x1.8p0", "inf", "nan"})
    CHECK_FALSE(is_integer(number(text)));
}

TEST_CASE("an integer converts to Number exactly") {
  CHECK(Number(0) == number("0"));
  CHECK_FALSE(Number(0).negative);
  CHECK(Number(-1200) == number("-1200"));
  CHECK(Number(std::int8_t{-128}) == number("-128"));
  CHECK(Number(std::numeric_limits<std::int64_t>::lowest()) == number("-9223372036854775808"));
  CHECK(Number(std::numeric_limits<std::uint64_t>::max()) == number("18446744073709551615"));
  CHECK(Number(-1200).digits == "12");
}

TEST_CASE("decimal_text() is short, and parses to the same number") {
  for (const std::string text :
       {"0", "-0", "7", "-1200", "0.5", "-0.00012", "1234.5", "9007199254740993.5", "1e+400", "-1.25e-99",
        "inf", "-inf", "nan", "18446744073709551615", "100000000000000000000", "1e+22"})
    CHECK(decimal_text(number(text)) == text);
}

TEST_CASE("a float converts to Number exactly") {
  CHECK(Number(0.1).digits == "1000000000000000055511151231257827021181583404541015625");
  CHECK(Number(std::numeric_limits<double>::denorm_min()) == number("0x1p-1074"));
  CHECK(Number(std::numeric_limits<double>::max()) == number("0x1.fffffffffffffp1023"));
  CHECK(Number(-2.5) == number("-2.5"));
  CHECK(Number(-0.0).negative);
  CHECK(Number(-kInfinity) == number("-inf"));
  CHECK(Number(std::nan("")).kind == Number::Kind::nan);

  const double longest = std::nextafter(2 * std::numeric_limits<double>::min(), 0.0);
  CHECK(Number(longest) == number("0x1.fffffffffffffp-1022"));
  CHECK(Number(longest).digits.size() == 767);
}

TEMPLATE_TEST_CASE("a number between two floats rounds to the nearer one, ties to even", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const auto check_above = [](TestType low) {
    const TestType high = std::nextafter(low, Limits::infinity());
    const bool even = (to_bits(low) & 1) == 0;
    // The middle has the significand of the lower value and one more hexadecimal digit.
    char text[64];
    const int exponent = std::max(std::ilogb(low), Limits::min_exponent - 1);
    const int scale = Limits::digits - 1 - exponent;
    const auto significand = static_cast<std::uint64_t>(std::ldexp(low, scale));
    std::snprintf(text, sizeof text, "0x%llx.8p%d", static_cast<unsigned long long>(significand), -scale);
    INFO(text);
    const Number middle = number(text);
    CHECK(round_to<TestType>(middle) == (even ? low : high));
    CHECK(round_to<TestType>(a_hair_above(middle)) == high);
    CHECK(round_to<TestType>(a_hair_below(middle)) == low);
    CHECK(round_to<TestType>(Number(static_cast<double>(low))) == low);
  };
  for (const TestType edge : {Limits::max(), Limits::min(), Limits::min() / 2, Limits::denorm_min()})
    check_above(edge);
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) check_above(from_bits<TestType>(random() % to_bits(Limits::infinity())));
}

TEMPLATE_TEST_CASE("every 16-bit value rounds to itself, and the middle of two values to the even one", "",
                   Float16, BFloat16) {
  std::size_t wrong = 0;
  const auto check = [&wrong](TestType actual, unsigned bits) { wrong += actual.bits != bits ? 1U : 0U; };
  for (unsigned bits = 0; bits < TestType::kInfinity; ++bits) {
    const double value = value_of<TestType>(bits);
    const double middle = (value + value_of<TestType>(bits + 1)) / 2;
    const unsigned even = bits + (bits & 1);
    for (const double sign : {1.0, -1.0}) {
      const unsigned sign_bit = sign < 0 ? 0x8000 : 0;
      Number exact = Number(sign * value);
      check(round_to<TestType>(exact), sign_bit | bits);
      check(narrow<TestType>(sign * value), sign_bit | bits);

      exact = Number(sign * middle);
      check(round_to<TestType>(exact), sign_bit | even);
      check(round_to<TestType>(a_hair_above(exact)), sign_bit | (bits + 1));
      check(round_to<TestType>(a_hair_below(exact)), sign_bit | bits);
      check(narrow<TestType>(sign * middle), sign_bit | even);
      check(narrow<TestType>(sign * std::nextafter(middle, kInfinity)), sign_bit | (bits + 1));
      check(narrow<TestType>(sign * std::nextafter(middle, 0.0)), sign_bit | bits);
    }
  }
  CHECK(wrong == 0);
  CHECK(narrow<TestType>(kInfinity).bits == TestType::kInfinity);
  CHECK(narrow<TestType>(-std::numeric_limits<double>::max()).bits == (0x8000 | TestType::kInfinity));
}

TEMPLATE_TEST_CASE("narrow_half() makes a NaN quiet and keeps its sign and upper payload", "", Float16,
                   BFloat16) {
  constexpr unsigned kQuietBit = 1U << (TestType::kFractionBits - 1);
  for (unsigned payload = 1; payload < 2 * kQuietBit; ++payload) {
    const std::uint32_t nan = 0x7f800000 | payload << (23 - TestType::kFractionBits);
    const unsigned expected = TestType::kInfinity | kQuietBit | payload;
    CHECK(narrow_half<TestType>(from_bits<float>(nan)).bits == expected);
    CHECK(narrow_half<TestType>(from_bits<float>(0x80000000 | nan)).bits == (0x8000 | expected));
  }
  CHECK(narrow_half<TestType>(from_bits<float>(0x7f800001)).bits == (TestType::kInfinity | kQuietBit));
}

TEST_CASE("narrow() to float rounds to nearest even") {
  CHECK(narrow<float>(0x1.000001p0) == 1.0F);
  CHECK(narrow<float>(0x1.0000010000001p0) == 0x1.000002p0F);
  CHECK(narrow<float>(1e39) == std::numeric_limits<float>::infinity());
}

TEST_CASE("to_integer() is exact and rounds fractions in the requested direction") {
  const auto check = [](std::string_view text, Int128 toward_zero, Int128 down, Int128 up) {
    INFO(text);
    CHECK((to_integer(number(text), Rounding::toward_zero) == toward_zero));
    CHECK((to_integer(number(text), Rounding::down) == down));
    CHECK((to_integer(number(text), Rounding::up) == up));
  };
  const auto check_integer = [&check](std::string_view text, Int128 value) {
    check(text, value, value, value);
  };
  constexpr Int128 kOne = 1;
  check_integer("0", 0);
  check_integer("120e-1", 12);
  check_integer("9007199254740993", (kOne << 53) + 1);
  check_integer("-9007199254740993", -(kOne << 53) - 1);
  check_integer("-9223372036854775809", -(kOne << 63) - 1);
  check_integer("18446744073709551615", (kOne << 64) - 1);

  check("0.2", 0, 0, 1);
  check("-0.2", 0, -1, 0);
  check("2.999999999999999999999", 2, 2, 3);
  check("-2.999999999999999999999", -2, -3, -2);
  check("9223372036854775807.5", (kOne << 63) - 1, (kOne << 63) - 1, kOne << 63);
  check("-9223372036854775808.5", -(kOne << 63), -(kOne << 63) - 1, -(kOne << 63));

  constexpr Int128 kLimit = kOne << 100;
  check_integer("1267650600228229401496703205375", kLimit - 1);
  check_integer("1267650600228229401496703205376", kLimit);
  check("1267650600228229401496703205375.5", kLimit - 1, kLimit - 1, kLimit);
  check_integer("1267650600228229401496703205376.5", kLimit);
  check_integer("9999999999999999999999999999999", kLimit);
  check_integer("-1e31", -kLimit);
  check_integer("inf", kLimit);
  check_integer("-inf", -kLimit);
}
