#include <set>

#include "cli/clipper.hpp"
#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "support/tsv.hpp"

namespace clipper::testing {
namespace {

constexpr std::size_t kUsualHeader = 128;

/// The input of a row of data/goldens: `elements`, by default the first of edge/`dtype`.npy, in a shape.
std::string tensor(const std::string& dtype, const std::string& shape, std::string elements = "") {
  const std::string edge = read_file(source_path("data/edge/" + dtype + ".npy"));
  if (elements.empty()) elements = edge.substr(kUsualHeader);
  const std::size_t size = traits(dtype_named(dtype).value()).size;
  std::size_t count = 1;
  for (const std::int64_t dimension : tsv::shape(shape)) count *= static_cast<std::size_t>(dimension);
  const std::string text = fmt::format("({})", shape + (tsv::shape(shape).size() == 1 ? "," : ""));
  return npy_file(edge.substr(edge.find("': '") + 4, 3), "False", text, elements.substr(0, count * size));
}

Words arguments_of(const std::string& profile, const std::string& typed) {
  Words arguments{"--profile", profile};
  for (const std::string& word : tsv::split(typed, ' '))
    arguments.push_back(word.starts_with("@data") ? "@" + source_path("data") + word.substr(5) : word);
  arguments.insert(arguments.end(), {"in.npy", "out.npy"});
  return arguments;
}

}  // namespace

TEST_CASE("--profile gives the goldens of every profile") {
  std::set<std::string> seen;
  for (const auto& row : tsv::read("goldens/cases.tsv")) {
    const std::string& profile = row[0];
    const std::string& dtype = row[1];
    const bool four_dimensions = !row[5].empty();
    if (row[4] != "--min 0 --max 6" || !seen.insert(profile).second) continue;
    CAPTURE(profile, dtype);
    const WorkingDirectory directory;
    const std::string edge = read_file(source_path("data/edge/" + dtype + ".npy"));
    directory.write("in.npy", four_dimensions ? tensor(dtype, row[5]) : edge);
    check_done(run_clipper(arguments_of(profile, row[4]), {directory.path()}));
    const std::string output = directory.read("out.npy").substr(kUsualHeader);
    CHECK(output == read_file(source_path("data/goldens/" + profile + "/" + dtype + ".npy"))
                        .substr(kUsualHeader + std::stoul(row[2]) * output.size(), output.size()));
  }
  CHECK(seen.size() == profiles().size());
}

TEST_CASE("requests that a profile forbids are refused with exit code and reason") {
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& row : tsv::read("goldens/refused.tsv")) {
    if (!seen.insert({row[0], row[3]}).second) continue;
    CAPTURE(row);
    const WorkingDirectory directory{{"in.npy", tensor(row[1], row[2])}};
    directory.refused(arguments_of(row[0], row[4]), std::stoi(row[3]), row[5]);
  }
  CHECK(seen.size() == 2 * profiles().size());
}

}  // namespace clipper::testing
