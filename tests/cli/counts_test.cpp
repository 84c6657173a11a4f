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
std::string json_of(const std::string& descr, const std::vector<T>& elements, Words words) {
  const WorkingDirectory directory{
      {"x.npy", npy_file(descr, "False", fmt::format("({},)", elements.size()), bytes_of(elements))}};
  words.insert(words.end(), {"--json", "x.npy", "y.npy"});
  const Result result = directory.run(words);
  CAPTURE(words, result.output, result.error);
  CHECK(result.exit_code == 0);
  return result.output;
}

template <class T>
std::string counts_of(const std::string& descr, const std::vector<T>& elements, const Words& words) {
  const std::string json = json_of(descr, elements, words);
  const std::size_t begin = json.find("\"raised\"");
  REQUIRE(begin != std::string::npos);
  return json.substr(begin, json.find(",\"nan\"") - begin);
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
  const Words cut{"--round", "trunc", "--to", "uint8"};
  CHECK(counts_of<std::int64_t>("<i8", {1, 2, 3, 4}, joined(cut, {"--bias", "-3", "--max", "-0.6"})) ==
        counts(2, 2));
  CHECK(counts_of<std::int64_t>("<i8", {254, 255, 256}, joined(cut, {"--bias", "0", "--min", "255.2"})) ==
        counts(2, 1));
  CHECK(counts_of<std::uint64_t>("<u8", {1, 1ULL << 63}, {"--scale", "2"}) == counts(0, 1));
  CHECK(counts_of<std::int32_t>("<i4", {0, 1, 2}, {"--scale", "10", "--min", "5", "--max", "5"}) ==
        counts(1, 2));
}

TEST_CASE("a replacement or a divisor changes neither the bounds nor what is counted") {
  const std::vector<std::uint16_t> x{0x6800, 0x6801, 0x6400};  // 2048, 2050, 1024
  for (const Words& more : {Words{"--scale", "1"}, Words{"--scale", "1/1"},
                            Words{"--scale", "1", "--replace-above", "0", "--replace-below", "0"}}) {
    CHECK(counts_of("<f2", x, joined(more, {"--min", "2049", "--max", "2049"})).starts_with(counts(1, 1)));
    CHECK(counts_of<std::int32_t>("<i4", {2, 3, 4}, joined(more, {"--min", "2.5", "--max", "3.5"}))
              .starts_with(counts(0, 1)));
    CHECK(counts_of<std::int64_t>("<i8", {2, 3, 4}, joined(more, {"--min", "2.5", "--max", "3.5"}))
              .starts_with(counts(0, 1)));
  }
}

TEST_CASE("every way counts the numbers that become infinite and 0") {
  const std::string file = float32_file({1e6F, -1e6F, 1e-9F, INFINITY, 0, 7, 70'000, -0.0F, NAN, 1e-30F});
  const std::string lossy = R"("became_infinite":3,"became_zero":2,)";
  const WorkingDirectory directory{{"x.npy", file}, {"a.npz", npz_file({{"x.npy", file}})}};
  const auto check = [&](const Words& more, const std::string& input = "") {
    const Result result = directory.run(joined({"--to", "float16", "--json"}, more), input);
    CAPTURE(more, result.error);
    CHECK(result.exit_code == 0);
    CHECK(contains(result.output, lossy));
  };
  check({"x.npy", "y.npy"});
  check({"-", "z.npy"}, file);
  check({"--dry-run", "x.npy", "y.npy"});
  check({"a.npz", "b.npz"});
  check({"--output-dir", "out", "x.npy"});
  check({"--shard", "0/1", "x.npy", "s.npy"});
  check({"--in-place", "x.npy"});
  directory.write("x.npy", file);
  check_refused(directory.run({"--to", "float16", "--fail-if-clipped", "29.9%", "x.npy", "y.npy"}), 1,
                "30 % would be clipped or become infinite, more than 29.9 %");
  directory.done({"--to", "float16", "--fail-if-clipped", "30%", "x.npy", "y.npy"});
  CHECK(contains(directory.run({"-v", "--to", "float16", "x.npy", "y.npy"}).error,
                 "(0 % raised, 0 % lowered), 3 became infinite, 2 became 0, 1 NaN kept"));
  CHECK_FALSE(contains(directory.run({"--max", "6", "--json", "x.npy", "y.npy"}).output, "became"));
}

TEST_CASE("a bound or a bias that makes 0 is no loss; a product and a cut fraction are") {
  const auto losses = [](const std::string& descr, const auto& x, const Words& words) {
    const std::string json = json_of(descr, x, words);
    const std::size_t begin = json.find("\"became_infinite\"");
    return json.substr(begin, json.find(",\"seconds\"") - begin);
  };
  const auto lost = [](int infinite, int zeros) {
    return fmt::format(R"("became_infinite":{},"became_zero":{})", infinite, zeros);
  };
  const std::vector<float> x{3e38F, -3e38F, 1, 1e-30F, 0};
  CHECK(losses("<f4", x, {"--scale", "10"}) == lost(2, 0));
  CHECK(losses("<f4", x, {"--scale", "10", "--max", "3e38"}) == lost(1, 0));
  CHECK(losses("<f4", x, {"--scale", "10", "--max", "0"}) == lost(1, 0));
  CHECK(losses("<f4", x, {"--scale", "1e-30"}) == lost(0, 1));
  CHECK(losses("<f4", x, {"--bias", "-1"}) == lost(0, 0));
  CHECK(losses("<f4", x, {"--scale", "0"}) == lost(0, 0));
  CHECK(losses("<i2", std::vector<std::int16_t>{-3, -1, 0, 1, 3}, {"--scale", "0.5"}) == lost(0, 2));
  CHECK(losses("<i2", std::vector<std::int16_t>{-3, -1, 0, 1, 3}, {"--scale", "0.5", "--min", "0"}) ==
        lost(0, 1));
  CHECK(losses("<u8", std::vector<std::uint64_t>{65'519, 65'520}, {"--to", "float16"}) == lost(1, 0));
  CHECK(losses("<u8", std::vector<std::uint64_t>{65'519, 65'520}, {"--to", "float16", "--saturate"}) ==
        lost(0, 0));
}

TEST_CASE("JSON says the bounds of integer arithmetic that were applied") {
  const WorkingDirectory directory{{"x.npy", float32_file({1})}};
  directory.done({"--to", "int64", "x.npy", "l.npy"});
  const auto said = [&](const Words& words) {
    return directory.run(joined(words, {"--json", "l.npy", "y.npy"})).output;
  };
  CHECK(contains(said({"--scale", "3", "--to", "float64"}), R"("min":"-inf","max":"inf",)"));
  CHECK(contains(said({"--scale", "3", "--to", "float64", "--max", "6"}), R"("min":"-inf","max":6,)"));
  CHECK(contains(said({"--scale", "3"}), R"("min":"-9223372036854775808","max":"9223372036854775807",)"));
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

TEST_CASE("what --fail-if-clipped prints is more than the limit") {
  const WorkingDirectory directory{{"a.npy", float32_file({0, 1, 0})}};
  const auto refused = [&](const std::string& limit, const std::string& percent) {
    check_refused(directory.run({"--max", "0", "--fail-if-clipped", limit + "%", "a.npy", "out.npy"}), 1,
                  percent + " % would be clipped, more than " + limit + " %");
  };
  refused("33", "33.3");
  refused("33.3", "33.33");
  refused("33.333333333333333333333", "33.3333333333333333333333");
}

TEST_CASE("--fail-if-clipped P% accepts exactly P percent") {
  const WorkingDirectory directory;
  for (const Row& row : kRows) {
    CAPTURE(row.percent, row.count);
    const Words words{"--max", "0", "--fail-if-clipped", row.percent + "%", "a.npy", "out.npy"};
    directory.write("a.npy", with_ones(row.most, row.count));
    directory.done(words);
    directory.write("a.npy", with_ones(row.most + 1, row.count));
    directory.refused(words, 1, "% would be clipped, more than " + row.percent + " %\n");
  }
}

}  // namespace clipper::testing
