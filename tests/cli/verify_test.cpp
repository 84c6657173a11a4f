#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "support/archives.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::json;

Result run_in(const WorkingDirectory& directory, const Words& arguments, std::string_view input = "") {
  return directory.run(arguments, input);
}

/// Checks that clipper succeeds, prints nothing and changes no file.
void check_same(const WorkingDirectory& directory, const Words& arguments, std::string_view input = "") {
  CAPTURE(arguments);
  const auto before = directory.snapshot();
  const Result result = run_in(directory, arguments, input);
  CAPTURE(result.output);
  check_done(result);
  CHECK(result.output.empty());
  CHECK(directory.snapshot() == before);
}

/// The transpose of an m x n matrix, both in C order.
std::vector<float> transposed(const std::vector<float>& elements, std::size_t m, std::size_t n) {
  std::vector<float> result(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) result[i % n * m + i / n] = elements[i];
  return result;
}

}  // namespace

TEST_CASE("--verify accepts a golden file with another memory order, byte order and header") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(210'000);
  std::vector<float> golden = clipped(elements, 0, 6);
  directory.write("in.npy", npy_file("<f4", "False", "(700, 300)", bytes_of(elements)));
  const auto write_golden = [&] {
    const std::string swapped = byte_swapped(bytes_of(transposed(golden, 700, 300)), 4);
    directory.write("golden.npy", npy_file(">f4", "True", "(700, 300)", swapped, 16));
  };
  write_golden();
  const Words words{"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy"};
  check_same(directory, words);
  golden[5105] = 100;  // [17, 5]
  write_golden();
  const Result result = run_in(directory, words);
  CHECK(result.exit_code == 1);
  CHECK(result.output.starts_with("FAIL in.npy: 1 of 210000 differ (0.000476 %); first [17, 5] actual "));
}

TEST_CASE("--verify finds one changed element of many with any number of threads") {
  const WorkingDirectory directory;
  const std::vector<float> elements = scattered_floats(500'000);
  directory.write("in.npy", float32_file(elements));
  for (const std::size_t at : {0u, 31'999u, 32'768u, 499'999u}) {
    std::vector<float> golden = clipped(elements, 0, 6);
    golden[at] = std::nextafter(golden[at], 100.0F);
    directory.write("golden.npy", float32_file(golden));
    for (const char* const threads : {"1", "2", "5"}) {
      const Result result = run_in(directory, {"--min", "0", "--max", "6", "in.npy", "--verify", "golden.npy",
                                               "--json", "--threads", threads});
      CAPTURE(at, threads);
      CHECK(result.exit_code == 1);
      const Json json = Json::parse(result.output);
      CHECK(json["mismatches"] == 1);
      CHECK(json["first"][0]["index"][0] == at);
    }
  }
}

TEST_CASE("--verify takes NaN as equal to NaN, and compares nothing after --nan error") {
  const WorkingDirectory directory;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> elements = scattered_floats(300'000);
  elements[70'000] = elements[250'000] = nan;
  directory.write("in.npy", float32_file(elements));
  directory.write("golden.npy", float32_file(elements));
  check_same(directory, {"--max", "20", "in.npy", "--verify", "golden.npy"});
  const Words words{"--max", "20", "--nan", "error", "in.npy", "--verify", "golden.npy"};
  directory.refused(words, 3, "in.npy: NaN at [70000]\n");
  Words updating = words;
  updating.emplace_back("--update-golden");
  directory.refused(updating, 3, "in.npy: NaN at [70000]\n");
  directory.write("golden.npy", float32_file({1}));
  directory.refused(updating, 3, "in.npy: NaN at [70000]");
}

}  // namespace clipper::testing
