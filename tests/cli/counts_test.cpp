#include "cli/compare.hpp"
#include "simd/levels.hpp"
#include "support/archives.hpp"

/// What -v, --json and --fail-if-clipped count: x * scale + bias against the bounds, before it is rounded,
/// truncated or saturated to the dtype. And limits in percent that no float64 holds exactly.
namespace clipper::testing {
namespace {

/// Multiplied by 10, 80 of the 96 elements exceed 255.
const std::string kBytes = [] {
  std::string elements;
  for (int i = 0; i < 96; ++i) elements += static_cast<char>(i < 16 ? i : i + 10);
  return elements;
}();
const std::string kFile = npy_file("|u1", "False", "(96,)", kBytes);
const std::string kCounts = R"("raised":0,"lowered":80,"nan":0)";

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

TEST_CASE("every way counts an integer that its dtype cannot hold, with a bound and without") {
  for (const Words& bound : {Words{"--max", "255"}, Words{"--min", "0"}, Words{}})
    for (const SimdLevel level : simd_levels()) {
      const WorkingDirectory directory{{"x.npy", kFile}, {"a.npz", npz_file({{"x.npy", kFile}})}};
      const auto check = [&](const Words& more, const std::string& input = "") {
        Words words = joined({"--scale", "10", "--json", "--simd", std::string(to_string(level))}, bound);
        words.insert(words.end(), more.begin(), more.end());
        const Result result = directory.run(words, input);
        CAPTURE(words, result.error);
        CHECK(result.exit_code == 0);
        CHECK(contains(result.output, kCounts));
      };
      check({"x.npy", "y.npy"});
      check({"-", "z.npy"}, kFile);
      check({"--dry-run", "x.npy", "y.npy"});
      check({"--dry-run", "--in-place", "x.npy"});
      check({"a.npz", "b.npz"});
      check({"--output-dir", "out", "x.npy"});
      check({"--shard", "0/1", "x.npy", "s.npy"});
      check({"--fail-if-clipped", "84%", "x.npy", "y.npy"});
      check({"--in-place", "x.npy"});
    }
}

}  // namespace clipper::testing
