#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/clipper.hpp"
#include "support/tensors.hpp"

/// Warnings about bounds that the dtype cannot hold.
namespace clipper::testing {
namespace {

using Json = nlohmann::json;

constexpr const char* kNote = "--min 1.5 becomes 1 for int32";
const std::string kWarning = std::string("clipper: warning: ") + kNote + "\n";

std::string int32_file(const std::vector<std::int32_t>& elements) {
  return npy_file("<i4", "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

/// Standard error of a run that must succeed.
std::string said(const WorkingDirectory& directory, const Words& words) {
  const Result result = directory.run(words);
  CAPTURE(words, result.error);
  CHECK(result.exit_code == 0);
  return result.error;
}

}  // namespace

TEST_CASE("a bound whose fraction is cut off is warned about in one line") {
  const WorkingDirectory directory{{"x.npy", int32_file({0, 1, 2, 9})}};
  CHECK(said(directory, {"--min", "1.5", "x.npy", "out.npy"}) == kWarning);
  CHECK(directory.read("out.npy") == int32_file({1, 1, 2, 9}));
  CHECK(said(directory, {"--min", "1.5", "--dry-run", "-k", "--json", "x.npy", "out.npy"}) == kWarning);
  CHECK(said(directory, {"-q", "--min", "1.5", "x.npy", "out.npy"}).empty());
  CHECK(said(directory, {"--min", "-2.5", "--max", "-1.5", "x.npy", "out.npy"}) ==
        "clipper: warning: --max -1.5 becomes -1 for int32\n");
  CHECK(said(directory, {"--min", "-1.5", "--max", "6.5", "x.npy", "out.npy"}).empty());
  CHECK(said(directory, {"--profile=openvino", "--min", "1.5", "--max", "6.5", "x.npy", "out.npy"}).empty());
  directory.write("x.npy", float32_file({0, 1, 2, 9}));
  CHECK(said(directory, {"--min", "0.1", "x.npy", "out.npy"}).empty());
}

TEST_CASE("a changed bound is warned about once for all files of a dtype") {
  const WorkingDirectory directory;
  for (const char* const name : {"a.npy", "b.npy", "c.npy", "d.npy"})
    directory.write(name, int32_file({0, 1, 2, 9}));
  directory.write("u.npy", npy_file("|u1", "False", "(1,)", "\1"));
  CHECK(said(directory, {"--min", "1.5", "--output-dir", "o", "a.npy", "b.npy", "c.npy", "d.npy"}) ==
        kWarning);
  const std::string both =
      said(directory, {"--min", "1.5", "-i", "a.npy", "u.npy", "b.npy", "c.npy", "d.npy"});
  CHECK(contains(both, kWarning));
  CHECK(contains(both, "--min 1.5 becomes 1 for uint8"));
  CHECK(std::count(both.begin(), both.end(), '\n') == 2);
}

TEST_CASE("--json contains the warnings about bounds") {
  const WorkingDirectory directory{{"x.npy", int32_file({0, 1, 2, 9})},
                                   {"golden.npy", int32_file({1, 1, 2, 9})}};
  const auto notes = [&](Words words) {
    words.insert(words.begin(), {"--json", "-q"});
    const Json json = Json::parse(directory.run(words).output);
    return json.contains("notes") ? json["notes"] : Json();
  };
  const Json expected = Json::array({kNote});
  CHECK(notes({"--min", "1.5", "x.npy", "out.npy"}) == expected);
  CHECK(notes({"--min", "1.5", "--fail-if-clipped", "0", "x.npy", "out.npy"}) == expected);
  CHECK(notes({"--min", "1", "x.npy", "out.npy"}).is_null());
  CHECK(notes({"--min", "1.5", "x.npy", "--verify", "golden.npy"}) == expected);
  CHECK(notes({"--min", "1", "x.npy", "--verify", "golden.npy"}).is_null());
}

TEST_CASE("--verify warns once about a changed bound") {
  const WorkingDirectory directory{{"x.npy", int32_file({0, 1, 2, 9})},
                                   {"golden.npy", int32_file({1, 1, 2, 9})}};
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "golden.npy"}) == kWarning);
  CHECK(said(directory, {"-q", "--min", "1.5", "x.npy", "--verify", "golden.npy"}).empty());
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "golden.npy", "--update-golden"}) == kWarning);
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "new.npy", "--update-golden"}) ==
        kWarning + "clipper: new.npy: created\n");
  const Result different = directory.run({"--min", "2.5", "x.npy", "--verify", "golden.npy"});
  CHECK(different.exit_code == 1);
  CHECK(different.error == "clipper: warning: --min 2.5 becomes 2 for int32\n");
}

}  // namespace clipper::testing
