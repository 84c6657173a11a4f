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

TEST_CASE("clipper profiles lists every profile") {
  for (const Words& words : {Words{"profiles"}, Words{"profiles", "--json"}}) {
    CAPTURE(words);
    const Result result = run_clipper(words);
    check_done(result);
    for (const Profile& profile : profiles()) CHECK(contains(result.output, profile.name));
    if (words.size() == 1) CHECK(contains(result.output, "  int8-int64 uint8 float16-float64 bfloat16  "));
    check_refused(run_in_shell("\"$@\" >/dev/full", words), 4, "standard output: ");
  }
  check_done(run_clipper({"profiles", "--help"}));
  check_refused(run_clipper({"profiles", "--jsn"}), 2, "--jsn");
  check_refused(run_clipper({"profiles", "in.npy", "more.npy"}), 2, "more.npy");
}

TEST_CASE(
    "clipper profiles FILE says what each profile makes of the bounds, and how it differs from native") {
  const WorkingDirectory directory{{"x.npy", float32_file({1})}, {"b.npy", tensor("uint8", "1")}};
  const auto line = [&](const std::string& profile, Words words) {
    const Result result = directory.run(joined({"profiles"}, words));
    check_done(result);
    const std::size_t begin = result.output.find("\n" + profile + " ") + 1;
    std::string text = result.output.substr(begin, result.output.find('\n', begin) - begin);
    text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
               text.end());
    return text.substr(profile.size() + 1);
  };
  const Words relu6{"--min", "0", "--max", "6", "x.npy"};
  CHECK(line("native", relu6) == "0 6 - -");
  CHECK(line("numpy-2", relu6) == "0 6 - zeros");
  CHECK(line("stablehlo-1", relu6) == "0 6 -0 NaN, subnormals");
  CHECK(line("tosa-1.0", relu6) == "0 6 NaN -");
  CHECK(line("tosa-1.0-ignore", relu6) == "0 6 NaN -");
  CHECK(line("directml-1.0", relu6) ==
        "refuses: DirectML feature level 1.0 takes tensors of exactly 4 dimensions; this tensor has 1 "
        "(DirectML feature level 3.0 takes it)");
  CHECK(line("onnx-13", {"--min", "-1", "x.npy"}) == "-1 3.4028235e+38 inf -");
  CHECK(line("tosa-1.0", {"--min", "-1", "--max", "0", "x.npy"}) == "-1 0 NaN, -0 -");
  CHECK(
      line("native", {"--min", "6", "--max", "0", "x.npy"}).starts_with("refuses: --min 6 exceeds --max 0"));
  CHECK(line("pytorch-2", {"--min", "6", "--max", "0", "x.npy"}) == "6 0 min > max zeros");
  CHECK(line("tensorflow-2", {"--min", "nan", "--max", "0", "x.npy"}) ==
        "nan 0 NaN as a bound NaN as a bound, zeros, subnormals");
  CHECK(line("webnn", {"--min", "1.5", "--max", "300", "b.npy"}) == "2 255 numbers -");
  CHECK(line("openvino", {"--min", "300", "--max", "400", "b.npy"}) == "255 255 bounds -");
  CHECK(line("onnx-13", {"--min", "1.5", "b.npy"}) ==
        "refuses: --min 1.5: ONNX Clip-13 requires a value of dtype uint8");

  directory.refused({"profiles", "--min", "0"}, 2, "--min needs FILE");
  directory.refused({"profiles", "--min", "1%", "x.npy"}, 2, "1%");
  directory.refused({"profiles", "missing.npy"}, 4, "missing.npy");
  directory.write("two.npy", float32_file({1, 2}));
  directory.refused({"profiles", "--min", "@two.npy", "x.npy"}, 2, "takes one number");
}

}  // namespace clipper::testing
