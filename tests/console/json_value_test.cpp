#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "console/json.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

/// What nlohmann-json makes of the same value.
template <class T>
std::string reference(const T& value) {
  return nlohmann::ordered_json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TEST_CASE("a scalar is written as nlohmann-json writes it") {
  CHECK(Json().dump() == "null");
  CHECK(Json(true).dump() == "true");
  CHECK(Json(false).dump() == "false");
  CHECK(Json(std::numeric_limits<std::int64_t>::min()).dump() == "-9223372036854775808");
  CHECK(Json(std::numeric_limits<std::uint64_t>::max()).dump() == "18446744073709551615");
  CHECK(Json(std::optional<int>()).dump() == "null");
  CHECK(Json(std::optional(7)).dump() == "7");
  for (const double number :
       {0.0, -0.0, 1.0, 0.1, 1e-7, 1e15, 1e16, 5e-324, 1.7976931348623157e308,
        std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    CHECK(Json(number).dump() == reference(number));
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
