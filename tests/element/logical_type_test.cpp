#include "element/logical_type.hpp"

#include "support/catch.hpp"

namespace clipper {
namespace {

using Base = TimeUnit::Base;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("Dates have the texts of numpy, as precise as their unit") {
  struct Row {
    std::string_view unit;
    std::int64_t ticks;
    std::string_view text;  // str(np.datetime64(ticks, unit)), except where numpy overflows
  };
  constexpr Row kRows[] = {
      {"Y", 50, "2020"},
      {"Y", -1971, "-001"},
      {"Y", -1969, "0001"},
      {"7Y", -1, "1963"},
      {"Y", kMax, "9223372036854777777"},
      {"M", -1, "1969-12"},
      {"3M", 1, "1970-04"},
      {"W", -1, "1969-12-25"},
      {"D", 18321, "2020-02-29"},
      {"D", -719'528, "0000-01-01"},
      {"D", -719'529, "-001-12-31"},
      {"D", 11'016, "2000-02-29"},
      {"D", -25'509, "1900-02-28"},
      {"D", -25'508, "1900-03-01"},
      {"h", -1, "1969-12-31T23"},
      {"m", -1, "1969-12-31T23:59"},
      {"25s", -1, "1969-12-31T23:59:35"},
      {"ms", -1, "1969-12-31T23:59:59.999"},
      {"us", 1, "1970-01-01T00:00:00.000001"},
      {"ns", kMax, "2262-04-11T23:47:16.854775807"},
      {"ps", -1, "1969-12-31T23:59:59.999999999999"},
      {"fs", 1, "1970-01-01T00:00:00.000000000000001"},
      {"as", -kMax, "1969-12-31T23:59:50.776627963145224193"},
      {"D", kNaT, "NaT"},
      {"generic", 7, "7"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.unit, row.ticks);
    CHECK(date_text(row.ticks, parse_unit(row.unit).value()) == row.text);
  }
}

TEST_CASE("Units are those that numpy writes") {
  for (const std::string_view text :
       {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "25s", "2147483647as"})
    CHECK(unit_text(parse_unit(text).value()) == fmt::format("[{}]", text));
  CHECK(unit_text(parse_unit("1s").value()) == "[s]");
  CHECK(unit_text(parse_unit("generic").value()).empty());
  for (const std::string_view text :
       {"", "0s", "01s", "-1s", "+1s", " s", "s ", "S", "s/3", "2147483648s", "3generic", "3", "D]"})
    CHECK_FALSE(parse_unit(text));
}

TEST_CASE("Types have the names of numpy") {
  using Kind = LogicalType::Kind;
  CHECK(type_name(DType::float32, {}) == "float32");
  CHECK(type_name(DType::uint8, {Kind::boolean}) == "bool");
  CHECK(type_name(DType::int64, {Kind::datetime, {Base::nano}}) == "datetime64[ns]");
  CHECK(type_name(DType::int64, {Kind::timedelta, {Base::second, 25}}) == "timedelta64[25s]");
  CHECK(type_name(DType::int64, {Kind::timedelta}) == "timedelta64");
  CHECK(type_name(DType::float32, {Kind::complex}) == "complex64");
  CHECK(type_name(DType::float64, {Kind::complex}) == "complex128");
}

TEST_CASE("durations are converted if the other unit has them exactly") {
  const auto converted = [](std::int64_t ticks, std::string_view from, std::string_view to) {
    return ticks_of(ticks, *parse_unit(from), *parse_unit(to));
  };
  CHECK(converted(-3, "W", "h") == -504);
  CHECK(converted(-504, "h", "W") == -3);
  CHECK(converted(-503, "h", "W") == std::nullopt);
  CHECK(converted(5, "20s", "25s") == 4);
  CHECK(converted(2, "Y", "3M") == 8);
  CHECK(converted(1, "M", "D") == std::nullopt);
  CHECK(converted(0, "D", "M") == std::nullopt);
  CHECK(converted(1, "generic", "D") == std::nullopt);
  CHECK(converted(9, "s", "as") == 9'000'000'000'000'000'000);
  CHECK(converted(10, "s", "as") == std::nullopt);
  CHECK(converted(std::numeric_limits<std::int64_t>::max(), "2147483647W", "as") == std::nullopt);
  CHECK(converted(std::numeric_limits<std::int64_t>::max(), "ns", "ns") ==
        std::numeric_limits<std::int64_t>::max());
}

}  // namespace clipper
