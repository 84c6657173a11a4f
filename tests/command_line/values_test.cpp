#include "command_line/values.hpp"

#include <string>

#include "clip/clip_option_table.hpp"
#include "command_line/command_line.hpp"
#include "command_line/shard_option.hpp"
#include "command_line/shared_options.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace clipper {
namespace {

template <class Parse>
std::string refused(const Parse& parse) {
  return refusal(ErrorKind::usage, [&] { static_cast<void>(parse()); });
}

std::size_t word(const Option& option, const std::string& text) {
  return word_of(RawOptions({{&option, {true, text, {text}}}}), option);
}

}  // namespace

TEST_CASE("an unknown value is refused with the nearest value or with all values") {
  CHECK(word(kColor, "auto") == 0);
  CHECK(word(kColor, "never") == 2);
  CHECK(word_of(RawOptions({{&kColor, RawOption()}}), kColor) == 0);
  CHECK(refused([&] { return word(kColor, "alway"); }) ==
        "--color: unknown value 'alway'; did you mean 'always'?");
  CHECK(refused([&] { return word(kTrailing, "drop"); }) ==
        "--trailing: unknown value 'drop'; expected one of: error, ignore");
  CHECK(refused([&] { return word(clip_options::kDtype, "bfloat61"); }) ==
        "--dtype: unknown value 'bfloat61'; did you mean 'bfloat16'?");
}

TEST_CASE("dtypes and SIMD levels are found by their names") {
  for (const DTypeTraits& row : kDTypes)
    CHECK(static_cast<DType>(word(clip_options::kDtype, std::string(row.name))) == row.dtype);
  for (const SimdLevel level : kSimdLevels)
    CHECK(kSimdLevels.at(word(clip_options::kSimd, std::string(to_string(level)))) == level);
  for (const std::string text : {"V3", "v", "v5"})
    CHECK(refused([&] { return word(clip_options::kSimd, text); }).starts_with("--simd: unknown value"));
}

TEST_CASE("a percentage may end with a percent sign") {
  CHECK(parse_percentage("--limit", "10").text() == "10");
  CHECK(parse_percentage("--limit", "0.5%").text() == "0.5");
  for (const std::string text : {"", "%", "10%%", "101%", "-1", "x%", "10 %"})
    CHECK(refused([&] { return parse_percentage("--limit", text); }) ==
          "--limit: '" + text + "' is not a percentage from 0 to 100");
}

TEST_CASE("a shard's index is less than the number of shards") {
  CHECK(parse_shard("3/4").index == 3);
  CHECK(refused([] { return parse_shard("5/4"); }) == "--shard: shard index 5 out of range (0 to 3)");
  CHECK(refused([] { return parse_shard("5"); }) == "--shard: '5' is neither K/N, for example 0/4, nor auto");
}

}  // namespace clipper
