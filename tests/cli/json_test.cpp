#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "support/archives.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::ordered_json;

/// The objects in the lines, without `seconds`, which differs between runs.
std::vector<Json> parsed(const std::string& lines) {
  std::vector<Json> objects;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    objects.push_back(Json::parse(line));
    if (objects.back().contains("summary")) {
      objects.pop_back();
      continue;
    }
    CHECK(objects.back().at("seconds").is_number());
    objects.back().erase("seconds");
  }
  return objects;
}

}  // namespace

TEST_CASE("--json prints integers beyond 2^53 as strings and names as UTF-8") {
  const WorkingDirectory directory{{"\xff\n.npy", npy_file(">i8", "True", "(1, 1)", std::string(8, '\0'))}};
  const Result result = directory.run({"--json", "--max", "9007199254740993", "\xff\n.npy", "o.npy"});
  check_done(result);
  const Json line = parsed(result.output).at(0);
  CHECK(line.at("input") == "\xef\xbf\xbd\n.npy");
  CHECK(line.at("max") == "9007199254740993");
  CHECK(line.at("min") == "-9223372036854775808");
  CHECK(line.at("byte_order") == "big");
  CHECK(line.at("fortran_order") == true);
  CHECK(line.at("shape") == Json{1, 1});
}

}  // namespace clipper::testing
