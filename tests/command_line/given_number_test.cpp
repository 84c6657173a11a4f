#include "command_line/given_number.hpp"

#include <string>
#include <vector>

#include "contract/parameter_array.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper {

TEST_CASE("a text that is not a number is refused with its flag") {
  const auto refused = [](const char* flag, const std::string& text) {
    return refusal(ErrorKind::usage, [&] { return parse_given(flag, text); });
  };
  CHECK(refused("--min", "") == "--min: '' is not a number");
  CHECK(refused("--min", "--max") == "--min: '--max' is not a number");
  CHECK(refused("--max", "1,5") == "--max: '1,5' is not a number");
  CHECK(refused("--scale", "0.5x") == "--scale: '0.5x' is not a number");
  CHECK(refused("--bias", " 1") == "--bias: ' 1' is not a number");
  CHECK(refused("--min", "@") == "--min @ has no file name (is a shell variable empty?)");
  CHECK(refused("--min", "@-") == "--min @-: cannot be read from standard input; use a file");
  CHECK(refusal(ErrorKind::usage, [] { static_cast<void>(parse_on_nan("Keep")); }) ==
        "--nan: unknown value 'Keep'; did you mean 'keep'?");
  for (const std::string text : {"nan", "", "@lo.npy"})
    CHECK(refusal(ErrorKind::usage, [&] { return parse_on_nan(text); }) ==
          "--nan: '" + text + "' is not keep, error, min, max or a number");
}

TEST_CASE("a file name without @ is refused with advice to write @") {
  const testing::TemporaryDirectory directory;
  testing::write_file(directory / "bound", "");
  for (const std::string& name : {std::string("lo.npy"), directory / "bound"})
    CHECK(refusal(ErrorKind::usage, [&] { static_cast<void>(parse_given("--min", name)); }) ==
          "--min: '" + name + "' is not a number; to read the number from a file, write @" + name);
  CHECK(refusal(ErrorKind::usage, [&] {
          static_cast<void>(parse_given("--min", directory / "none"));
        }).ends_with(" is not a number"));
}

TEST_CASE("--nan accepts its words and numbers") {
  CHECK(parse_on_nan("keep").action == OnNan::keep);
  CHECK(parse_on_nan("error").action == OnNan::error);
  CHECK(parse_on_nan("min").action == OnNan::min);
  CHECK(parse_on_nan("max").action == OnNan::max);
  CHECK(parse_on_nan("-7e1").action == OnNan::replace);
  CHECK(parse_on_nan("-7e1").number->number == Number(-70));
  CHECK(parse_on_nan("-7e1").number->text == "-7e1");
}

TEST_CASE("parsing @FILE reads the file and remembers its name") {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "lo.npy";
  testing::write_file(path, testing::float32_file({1.5F}));
  const Request request{.min = parse_given("--min", "@" + path), .max = parse_given("--max", "7")};
  testing::write_file(path, testing::float32_file({1, 2}));
  CHECK(request.min->number == Number(1.5));
  CHECK(request.min->dtype == DType::float32);
  const Given array = parse_given("--bias", "@" + path);
  CHECK(array.array->layout().shape == std::vector<std::int64_t>{2});
  const std::vector<OptionFile> files = number_files({.min = request.min, .bias = array});
  REQUIRE(files.size() == 2);
  CHECK(files[0].option == "--min");
  CHECK(files[0].path == path);
  CHECK(files[1].option == "--bias");
  CHECK(refusal(ErrorKind::io, [&] {
          return parse_given("--min", "@" + path + "x");
        }).starts_with("--min @" + path + "x: "));
}

}  // namespace clipper
