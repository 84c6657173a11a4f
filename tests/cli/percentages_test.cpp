#include <string>
#include <vector>

#include "cli/compare.hpp"
#include "support/tensors.hpp"

/// Percentages that no float64 holds exactly.
namespace clipper::testing {
namespace {

std::string with_ones(std::size_t ones, std::size_t count) {
  std::vector<float> elements(count);
  for (std::size_t i = 0; i < ones; ++i) elements[i] = 1;
  return float32_file(elements);
}

struct Row {
  std::string percent;
  std::size_t most;
  std::size_t count;
};

const std::vector<Row> kRows{{"0.57", 57, 10'000},
                             {"0.29", 29, 10'000},
                             {"1.1", 11, 1000},
                             {"0.07", 7, 10'000},
                             {"33.3333333333333333333", 0, 3},
                             {"33.3333333333333333334", 1, 3}};

}  // namespace

TEST_CASE("--max-mismatch P% accepts exactly P percent") {
  const WorkingDirectory directory;
  for (const Row& row : kRows) {
    CAPTURE(row.percent, row.count);
    directory.write("zeros.npy", with_ones(0, row.count));
    directory.write("a.npy", with_ones(row.most, row.count));
    check_same(directory, {"--max-mismatch", row.percent + "%", "a.npy", "zeros.npy"});
    directory.write("a.npy", with_ones(row.most + 1, row.count));
    CHECK(run_compare(directory, {"--max-mismatch", row.percent + "%", "a.npy", "zeros.npy"}).exit_code == 1);
  }
}

TEST_CASE("--fail-if-clipped P accepts exactly P percent") {
  const WorkingDirectory directory;
  for (const Row& row : kRows) {
    CAPTURE(row.percent, row.count);
    const Words words{"--max", "0", "--fail-if-clipped", row.percent, "a.npy", "out.npy"};
    directory.write("a.npy", with_ones(row.most, row.count));
    directory.done(words);
    directory.write("a.npy", with_ones(row.most + 1, row.count));
    directory.refused(words, 1, "% would be clipped, more than " + row.percent + " %\n");
  }
}

}  // namespace clipper::testing
