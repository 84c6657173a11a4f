#include "clip/clip_option_table.hpp"
#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "contract/arrays.hpp"
#include "element/dtype.hpp"
#include "request_text.hpp"
#include "simd/levels.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper {
namespace {

template <class Parse>
std::string refused(const Parse& parse) {
  return refusal(ErrorKind::usage, [&] { return parse(); });
}

std::size_t word(const Option& option, const std::string& text) {
  RawOptions raw(kClipSpec);
  raw.add(option, text);
  return word_of(raw, option);
}

}  // namespace

TEST_CASE("an unknown value is refused with the nearest value or with all values") {
  CHECK(word(kColor, "auto") == 0);
  CHECK(word(kColor, "never") == 2);
  CHECK(word_of(RawOptions(kClipSpec), kColor) == 0);
  CHECK(refused([&] { return word(kColor, "alway"); }) ==
        "--color: unknown value 'alway'; did you mean 'always'?");
  CHECK(refused([&] { return word(kTrailing, "drop"); }) ==
        "--trailing: unknown value 'drop'; expected one of: error, ignore");
  CHECK(refused([&] { return word(kDtype, "bfloat61"); }) ==
        "--dtype: unknown value 'bfloat61'; did you mean 'bfloat16'?");
}

TEST_CASE("dtypes and SIMD levels are found by their names") {
  for (const DTypeTraits& row : kDTypes)
    CHECK(static_cast<DType>(word(kDtype, std::string(row.name))) == row.dtype);
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

TEST_CASE("a text that is not a number is refused with its name") {
  const auto refused = [](const char* name, const std::string& text) {
    return refusal(ErrorKind::usage, [&] { return number_of_text(name, text); });
  };
  CHECK(refused("min", "") == "min: '' is not a number");
  CHECK(refused("min", "--max") == "min: '--max' is not a number");
  CHECK(refused("max", "1,5") == "max: '1,5' is not a number");
  CHECK(refused("scale", "0.5x") == "scale: '0.5x' is not a number");
  CHECK(refused("bias", " 1") == "bias: ' 1' is not a number");
  CHECK(refused("min", "@") == "min @ has no file name (is a shell variable empty?)");
  CHECK(refused("min", "@-") == "min @-: cannot be read from standard input; use a file");
  CHECK(refusal(ErrorKind::usage, [] { return nan_of_text("Keep"); }) ==
        "nan: unknown value 'Keep'; did you mean 'keep'?");
  for (const std::string text : {"nan", "", "@lo.npy"})
    CHECK(refusal(ErrorKind::usage, [&] { return nan_of_text(text); }) ==
          "nan: '" + text + "' is not keep, error, min, max or a number");
}

TEST_CASE("a file name without @ is refused with advice to write @") {
  const testing::TemporaryDirectory directory{{"bound", ""}};
  for (const std::string& name : {std::string("lo.npy"), directory / "bound"})
    CHECK(refusal(ErrorKind::usage, [&] { return number_of_text("min", name); }) ==
          "min: '" + name + "' is not a number; to read the number from a file, write @" + name);
  CHECK(refusal(ErrorKind::usage, [&] {
          return number_of_text("min", directory / "none");
        }).ends_with(" is not a number"));
}

TEST_CASE("nan accepts its words and numbers") {
  CHECK(nan_of_text("keep").action == OnNan::keep);
  CHECK(nan_of_text("error").action == OnNan::error);
  CHECK(nan_of_text("min").action == OnNan::min);
  CHECK(nan_of_text("max").action == OnNan::max);
  CHECK(nan_of_text("-7e1").action == OnNan::replace);
  CHECK(nan_of_text("-7e1").number->number == Number(-70));
  CHECK(nan_of_text("-7e1").number->text == "-7e1");
}

TEST_CASE("parsing @FILE reads the file and remembers its name") {
  const testing::TemporaryDirectory directory{{"lo.npy", testing::float32_file({1.5F})}};
  const std::string path = directory / "lo.npy";
  const Request request{.min = number_of_text("min", "@" + path), .max = number_of_text("max", "7")};
  testing::write_file(path, testing::float32_file({1, 2}));
  CHECK(request.min->number == Number(1.5));
  CHECK(request.min->dtype == DType::float32);
  const Parameter array = number_of_text("bias", "@" + path);
  CHECK(array.array->layout().shape == std::vector<std::int64_t>{2});
  const std::vector<ReadFile> files = number_files({.min = request.min, .bias = array});
  REQUIRE(files.size() == 2);
  CHECK(files[0].reader == "--min");
  CHECK(files[0].path == path);
  CHECK(files[1].reader == "--bias");
  CHECK(refusal(ErrorKind::io, [&] {
          return number_of_text("min", "@" + path + "x");
        }).starts_with("min @" + path + "x: "));
}

}  // namespace clipper
