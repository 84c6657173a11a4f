#include <nlohmann/json.hpp>

#include "console/json.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a JSON reader that keeps numbers as doubles gets for a printed element.
Number read_back(DType dtype, const nlohmann::json& printed) {
  if (printed.is_string()) return parse_number(printed.get<std::string>()).value();
  const auto value = printed.get<double>();
  return is_floating(dtype) ? number_of(dtype, nearest_element(dtype, value)) : value;
}

bool is_same(const Number& a, const Number& b) {
  const bool both_nan = a.kind == Number::Kind::nan && b.kind == Number::Kind::nan;
  return both_nan || (a == b && a.negative == b.negative);
}

/// What nlohmann-json prints for the same value.
template <class T>
std::string reference(const T& value) {
  return nlohmann::ordered_json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TEST_CASE("a scalar is written as JSON") {
  CHECK(Json().dump() == "null");
  CHECK(Json(true).dump() == "true");
  CHECK(Json(false).dump() == "false");
  CHECK(Json(std::optional<int>()).dump() == "null");
  CHECK(Json(std::optional(7)).dump() == "7");
}

TEST_CASE("a name that is not UTF-8 is printed with its bytes in base64") {
  const auto printed = [](std::string_view name) { return Json::object().add_name("input", name).dump(); };
  CHECK(printed("a.npy") == R"({"input":"a.npy"})");
  CHECK(printed("") == R"({"input":""})");
  CHECK(printed("gr\u00f6\u00dfe \ufffd") == "{\"input\":\"gr\u00f6\u00dfe \ufffd\"}");
  CHECK(printed("\xff") == "{\"input\":\"\ufffd\",\"input_bytes\":\"/w==\"}");
  CHECK(printed("a\xff") == "{\"input\":\"a\ufffd\",\"input_bytes\":\"Yf8=\"}");
  CHECK(printed("a\xff\xfe") == "{\"input\":\"a\ufffd\ufffd\",\"input_bytes\":\"Yf/+\"}");
  CHECK(printed("a\xff.npy") == "{\"input\":\"a\ufffd.npy\",\"input_bytes\":\"Yf8ubnB5\"}");
}

TEST_CASE("an integer beyond 2^53 is a string") {
  constexpr std::int64_t kLargest = 9'007'199'254'740'992;
  CHECK(Json(kLargest).dump() == "9007199254740992");
  CHECK(Json(-kLargest).dump() == "-9007199254740992");
  CHECK(Json(static_cast<std::uint64_t>(kLargest)).dump() == "9007199254740992");
  CHECK(Json(kLargest + 1).dump() == R"("9007199254740993")");
  CHECK(Json(-kLargest - 1).dump() == R"("-9007199254740993")");
  CHECK(Json(std::numeric_limits<std::int64_t>::min()).dump() == R"("-9223372036854775808")");
  CHECK(Json(std::numeric_limits<std::uint64_t>::max()).dump() == R"("18446744073709551615")");
  CHECK(Json(std::vector<std::uint64_t>{0, 1ULL << 63}).dump() == R"([0,"9223372036854775808"])");
}

TEST_CASE("a double is printed as its shortest decimal, or as a string if it is not finite") {
  CHECK(Json(0.0).dump() == "0");
  CHECK(Json(-0.0).dump() == "-0.0");
  CHECK(Json(20.0).dump() == "20");
  CHECK(Json(0.1).dump() == "0.1");
  CHECK(Json(1e-320).dump() == "1e-320");
  CHECK(Json(9007199254740994.0).dump() == "9007199254740994");
  CHECK(Json(1.7976931348623157e308).dump() == "1.7976931348623157e+308");
  CHECK(Json(kInfinity).dump() == R"("inf")");
  CHECK(Json(-kInfinity).dump() == R"("-inf")");
  CHECK(Json(std::numeric_limits<double>::quiet_NaN()).dump() == R"("nan")");
  CHECK(Json(-std::numeric_limits<double>::quiet_NaN()).dump() == R"("nan")");
}

TEST_CASE("the text of a number becomes a JSON number if a double holds it") {
  const auto of_float = [](const char* text) { return Json::number(DType::float64, text).dump(); };
  CHECK(of_float("0.1") == "0.1");
  CHECK(of_float("+.5e1") == "5");
  CHECK(of_float("0x1p-1") == "0.5");
  CHECK(of_float("-0") == "-0.0");
  CHECK(of_float("1e17") == "1e+17");
  CHECK(of_float("1e-320") == "1e-320");
  CHECK(of_float("9007199254740994") == "9007199254740994");
  CHECK(of_float("9007199254740993") == R"("9007199254740993")");
  CHECK(of_float("0.1000000201165676116943359375") == "0.1000000201165676116943359375");
  CHECK(of_float("1e400") == R"("1e+400")");
  CHECK(of_float("1e-400") == R"("1e-400")");
  CHECK(of_float("-Infinity") == R"("-inf")");
  CHECK(of_float("-nan") == R"("nan")");
  const auto of_integer = [](const char* text) { return Json::number(DType::int64, text).dump(); };
  CHECK(of_integer("-0") == "0");
  CHECK(of_integer("010") == "10");
  CHECK(of_integer("1.5") == "1.5");
  CHECK(of_integer("9007199254740992") == "9007199254740992");
  CHECK(of_integer("9007199254740993") == R"("9007199254740993")");
  CHECK(of_integer("1e17") == R"("100000000000000000")");
  CHECK(of_integer("1e400") == R"("1e+400")");
  CHECK(of_integer("9223372036854775807.5") == R"("9223372036854775807.5")");
}

TEST_CASE("an element that is read back from JSON is the same element") {
  for (const DTypeTraits& row : kDTypes) {
    CAPTURE(row.name);
    std::uint64_t random = 1;
    for (std::uint64_t i = 0; i < (1U << 16); i += 17) {
      random = random * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
      const ElementBits bits = row.size <= 2 ? i : (random ^ random >> 32) >> i % 64;
      const ElementBits element = bits & (~ElementBits{0} >> (64 - 8 * row.size));
      const std::string text = Json::number(row.dtype, element_text(row.dtype, element)).dump();
      if (!is_same(read_back(row.dtype, nlohmann::json::parse(text)), number_of(row.dtype, element)))
        FAIL_CHECK(text);
      Json::NumberText room;
      if (Json::print(row.dtype, element, room) != text) FAIL_CHECK(text);
    }
  }
}

TEST_CASE("bytes of a text that are not UTF-8 become U+FFFD") {
  CHECK(Json("a\xff"
             "b")
            .dump() ==
        "\"a\xef\xbf\xbd"
        "b\"");
  constexpr std::array<char, 12> kBytes{'a',    '"',    '\n',   '\0',   '\x7f', '\x80',
                                        '\xbf', '\xc3', '\xe2', '\xed', '\xf0', '\xf5'};
  for (const char first : kBytes)
    for (const char second : kBytes)
      for (const char third : kBytes) {
        const std::string text{first, second, third};
        CHECK(Json(text).dump() == reference(text));
      }
}

TEST_CASE("an object keeps the order in which its members were added") {
  Json inner{{"z", 1}, {"a", std::vector<std::int64_t>{3, -2}}};
  inner.add("empty", Json::list());
  Json json{{"text", "x"}, {"inner", inner}};
  json.add("list", std::vector<std::string>{"p", "q"}).add("flag", true);
  CHECK(json.dump() == R"({"text":"x","inner":{"z":1,"a":[3,-2],"empty":[]},"list":["p","q"],"flag":true})");
  for (const int indent : {1, 2})
    CHECK(json.dump(static_cast<std::size_t>(indent)) ==
          nlohmann::ordered_json::parse(json.dump()).dump(indent));
}

}  // namespace
}  // namespace clipper
