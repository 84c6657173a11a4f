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
std::string said(const TemporaryDirectory& directory, const Words& words) {
  const Result result = run_clipper(words, {directory.path()});
  CAPTURE(words, result.error);
  CHECK(result.exit_code == 0);
  return result.error;
}

}  // namespace

TEST_CASE("a bound whose fraction is cut off is warned about in one line") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", int32_file({0, 1, 2, 9}));
  CHECK(said(directory, {"--min", "1.5", "x.npy", "out.npy"}) == kWarning);
  CHECK(read_file(directory / "out.npy") == int32_file({1, 1, 2, 9}));
  CHECK(said(directory, {"--min", "1.5", "--dry-run", "-k", "--json", "x.npy", "out.npy"}) == kWarning);
  CHECK(said(directory, {"-q", "--min", "1.5", "x.npy", "out.npy"}).empty());
  CHECK(said(directory, {"--min", "-2.5", "--max", "-1.5", "x.npy", "out.npy"}) ==
        "clipper: warning: --max -1.5 becomes -1 for int32\n");
  CHECK(said(directory, {"--min", "-1.5", "--max", "6.5", "x.npy", "out.npy"}).empty());
  CHECK(said(directory, {"--profile=openvino", "--min", "1.5", "--max", "6.5", "x.npy", "out.npy"}).empty());
  write_file(directory / "x.npy", float32_file({0, 1, 2, 9}));
  CHECK(said(directory, {"--min", "0.1", "x.npy", "out.npy"}).empty());
}

TEST_CASE("a changed bound is warned about once for all files of a dtype") {
  const TemporaryDirectory directory;
  for (const char* const name : {"a.npy", "b.npy", "c.npy", "d.npy"})
    write_file(directory / name, int32_file({0, 1, 2, 9}));
  write_file(directory / "u.npy", npy_file("|u1", "False", "(1,)", "\1"));
  CHECK(said(directory, {"--min", "1.5", "--output-dir", "o", "a.npy", "b.npy", "c.npy", "d.npy"}) ==
        kWarning);
  const std::string both =
      said(directory, {"--min", "1.5", "-i", "a.npy", "u.npy", "b.npy", "c.npy", "d.npy"});
  CHECK(both.find(kWarning) != std::string::npos);
  CHECK(both.find("--min 1.5 becomes 1 for uint8") != std::string::npos);
  CHECK(std::count(both.begin(), both.end(), '\n') == 2);
}

TEST_CASE("--json contains the warnings about bounds") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", int32_file({0, 1, 2, 9}));
  write_file(directory / "golden.npy", int32_file({1, 1, 2, 9}));
  const auto notes = [&](Words words) {
    words.insert(words.begin(), {"--json", "-q"});
    const Json json = Json::parse(run_clipper(words, {directory.path()}).output);
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
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", int32_file({0, 1, 2, 9}));
  write_file(directory / "golden.npy", int32_file({1, 1, 2, 9}));
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "golden.npy"}) == kWarning);
  CHECK(said(directory, {"-q", "--min", "1.5", "x.npy", "--verify", "golden.npy"}).empty());
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "golden.npy", "--update-golden"}) == kWarning);
  CHECK(said(directory, {"--min", "1.5", "x.npy", "--verify", "new.npy", "--update-golden"}) ==
        kWarning + "clipper: new.npy: created\n");
  const Result different =
      run_clipper({"--min", "2.5", "x.npy", "--verify", "golden.npy"}, {directory.path()});
  CHECK(different.exit_code == 1);
  CHECK(different.error == "clipper: warning: --min 2.5 becomes 2 for int32\n");
}

}  // namespace clipper::testing
