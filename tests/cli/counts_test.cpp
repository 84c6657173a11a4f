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

template <class T>
std::string counts_of(const std::string& descr, const std::vector<T>& elements, Words words) {
  const WorkingDirectory directory{
      {"x.npy", npy_file(descr, "False", fmt::format("({},)", elements.size()), bytes_of(elements))}};
  words.insert(words.end(), {"--json", "x.npy", "y.npy"});
  const Result result = directory.run(words);
  CAPTURE(words, result.output, result.error);
  CHECK(result.exit_code == 0);
  const std::size_t begin = result.output.find("\"raised\"");
  REQUIRE(begin != std::string::npos);
  return result.output.substr(begin, result.output.find(",\"nan\"") - begin);
}

std::string counts(int raised, int lowered) {
  return fmt::format(R"("raised":{},"lowered":{})", raised, lowered);
}

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

TEST_CASE("--fail-if-clipped and -v use the same counts") {
  const WorkingDirectory directory{{"x.npy", kFile}};
  check_refused(directory.run({"--scale", "10", "--max", "255", "--fail-if-clipped", "0", "x.npy", "y.npy"}),
                1, "83.3 % would be clipped, more than 0 %");
  CHECK(directory.entries() == Words{"x.npy"});
  const Result result = directory.run({"-v", "--scale", "10", "x.npy", "y.npy"});
  CHECK(contains(result.error, "clipped 83.3 % (0 % raised, 83.3 % lowered)"));
}

TEST_CASE("a number beyond a bound counts although the truncation would bring it back") {
  const std::vector<std::int16_t> x{-145, 144, 145, 146};  // -72.5, 72, 72.5, 73
  CHECK(counts_of("<i2", x, {"--scale", "0.5", "--max", "72"}) == counts(0, 2));
  CHECK(counts_of("<i2", x, {"--scale", "0.5", "--min", "-72"}) == counts(1, 0));
  CHECK(counts_of("<i2", x, {"--scale", "-0.5", "--min", "-72", "--max", "71"}) == counts(2, 1));
  CHECK(counts_of<std::uint8_t>("|u1", {0, 1, 2}, {"--scale", "-1", "--bias", "0.5"}) == counts(2, 0));
  CHECK(counts_of<std::int64_t>("<i8", {1LL << 53, (1LL << 53) + 2},
                                {"--scale", "1.0", "--bias", "0.5", "--min", "9007199254740993"}) ==
        counts(1, 0));
  CHECK(counts_of<std::uint64_t>("<u8", {1, 1ULL << 63}, {"--scale", "2"}) == counts(0, 1));
  CHECK(counts_of<std::int32_t>("<i4", {0, 1, 2}, {"--scale", "10", "--min", "5", "--max", "5"}) ==
        counts(1, 2));
}

TEST_CASE("min above max counts the elements that the bound moves") {
  const std::vector<std::uint8_t> x{1, 5, 6};  // 10, 50, 60
  const Words crossed{"--scale", "10", "--min", "50", "--max", "20", "--min-above-max"};
  Words max = crossed;
  max.emplace_back("max");
  CHECK(counts_of("|u1", x, max) == counts(1, 2));
  Words min = crossed;
  min.emplace_back("min");
  CHECK(counts_of("|u1", x, min) == counts(1, 1));
}

TEST_CASE("a float that overflows without a bound is not clipped") {
  const std::vector<float> x{3e38F, -3e38F, 1};
  CHECK(counts_of("<f4", x, {"--scale", "10"}) == counts(0, 0));
  CHECK(counts_of("<f4", x, {"--scale", "10", "--max", "3e38"}) == counts(0, 1));
  CHECK(counts_of<std::uint16_t>("<f2", {0x7bff}, {"--scale", "2"}) == counts(0, 0));  // 131008
  CHECK(counts_of<std::uint16_t>("<f2", {0x7bff}, {"--scale", "2", "--max", "65504"}) == counts(0, 1));
}

TEST_CASE("with min above max, the bounds as converted are reported, not what the kernels take") {
  const WorkingDirectory directory{{"x.npy", kFile}, {"f.npy", float32_file({1, 20, 60})}};
  for (const char* const which : {"min", "max"})
    for (const char* const file : {"x.npy", "f.npy"}) {
      const Result result = directory.run(
          {"--min", "50", "--max", "10", "--min-above-max", which, "--json", "-v", file, "y.npy"});
      CAPTURE(result.output, result.error);
      CHECK(contains(result.output, "\"min\":50,\"max\":10,"));
      CHECK(contains(result.error, "min 50, max 10,"));
    }
}

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
