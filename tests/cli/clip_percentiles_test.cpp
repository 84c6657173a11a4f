#include "cli/clipper.hpp"
#include "support/archives.hpp"

/// --min 1% --max 99%: bounds that are percentiles of the input's elements.
namespace clipper::testing {
namespace {

/// 0 to 1000 in a scattered order: the percentile P is 10 * P.
std::vector<float> thousand(float first = 0) {
  std::vector<float> elements;
  for (int i = 0; i <= 1000; ++i) elements.push_back(first + static_cast<float>(i * 5 % 1001));
  return elements;
}

const std::string kThousand = float32_file(thousand());
const std::string kClipped = float32_file(clipped(thousand(), 10, 990));

Words percent(const Words& more) {
  return joined({"--min", "1%", "--max", "99%"}, more);
}

}  // namespace

TEST_CASE("the bounds of a file are the percentiles of its elements") {
  const WorkingDirectory directory{{"x.npy", kThousand}};
  directory.done(percent({"x.npy", "y.npy"}));
  CHECK((directory.read("y.npy") == kClipped));
  directory.done(percent({"--verify", "y.npy", "x.npy"}));
  CHECK(directory.run(percent({"--verify", "x.npy", "x.npy"})).exit_code == 1);
  const Result trial = directory.run(percent({"--dry-run", "--json", "-i", "x.npy"}));
  CHECK(contains(trial.output, "\"min\":10,\"max\":990"));
  CHECK(contains(trial.output, "\"raised\":10,\"lowered\":10"));
  check_refused(directory.run(percent({"--fail-if-clipped", "1%", "x.npy", "z.npy"})), 1,
                "2 % would be clipped, more than 1 %");
  directory.done(percent({"-i", "x.npy"}));
  CHECK((directory.read("x.npy") == kClipped));
  CHECK(directory.entries() == Words{"x.npy", "y.npy"});
}

TEST_CASE("each file of a batch has its own percentiles") {
  const WorkingDirectory directory;
  Words words = percent({"--threads", "3", "--output-dir", "out"});
  for (int i = 0; i < 20; ++i) {
    words.push_back(std::to_string(i) + ".npy");
    directory.write(words.back(), float32_file(thousand(static_cast<float>(i * 1000))));
  }
  directory.done(words);
  for (int i = 0; i < 20; ++i) {
    const auto first = static_cast<float>(i * 1000);
    CHECK((directory.read("out/" + std::to_string(i) + ".npy") ==
           float32_file(clipped(thousand(first), first + 10, first + 990))));
  }
}

TEST_CASE("--nan min replaces NaN by the percentile") {
  const WorkingDirectory directory;
  std::vector<float> elements = thousand();
  elements.push_back(std::numeric_limits<float>::quiet_NaN());
  directory.write("x.npy", float32_file(elements));
  directory.done(percent({"--nan", "min", "x.npy", "y.npy"}));
  elements.back() = 10;
  CHECK((directory.read("y.npy") == float32_file(clipped(elements, 10, 990))));
}

TEST_CASE("profiles convert a percentile as they convert a number") {
  const WorkingDirectory directory{{"x.npy", npy_file("|u1", "False", "(3,)", std::string("\0\x03\xff", 3))}};
  const auto clip_to = [&](const Words& words) {
    return directory.run(joined({"--json", "x.npy", "y.npy", "--profile"}, words));
  };
  for (const auto& [profile, bounds] :
       {std::pair("native", "\"min\":1,\"max\":3,"), std::pair("directml-3.0", "\"min\":1,\"max\":3,"),
        std::pair("openvino", "\"min\":2,\"max\":3,")}) {
    const Result result = clip_to({profile, "--min", "25%", "--max", "50%"});  // 1.5 and 3
    CAPTURE(profile, result.error);
    CHECK(result.exit_code == 0);
    CHECK(result.error.empty());
    CHECK(contains(result.output, bounds));
  }
  for (const char* const profile : {"onnx-12", "onnx-13"}) {
    CHECK(clip_to({profile, "--min", "0%", "--max", "50%"}).exit_code == 0);
    check_refused(clip_to({profile, "--min", "25%"}), 2, "--min 25% (1.5): ONNX Clip-1");
  }
  check_refused(clip_to({"openvino", "--min", "20%", "--max", "25%"}), 2,
                "no uint8 value lies between --min 20% (1.2) and --max 25% (1.5)");
  // The percentile, 1 + 2^-24 + 2^-53, rounds to 1 if it is rounded to float64 first.
  const std::vector<double> nearby{1, 1 + 0x1p-23 + 0x1p-52};
  directory.write("x.npy", npy_file("<f8", "False", "(2,)", bytes_of(nearby)));
  CHECK(contains(clip_to({"onnx-6", "--min", "50%"}).output, "\"min\":1.0000001192092896,"));
}

TEST_CASE("percentiles that cannot be bounds are refused") {
  const WorkingDirectory directory;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  directory.write("x.npy", kThousand);
  directory.write("nan.npy", float32_file({std::numeric_limits<float>::quiet_NaN()}));
  directory.write("empty.npy", float32_file({}));
  directory.write("inf.npy", float32_file({-kInfinity, kInfinity}));
  const auto refused = [&](Words words, int exit_code, const char* message, const std::string& input = "") {
    directory.refused(words, exit_code, message, input);
  };
  refused({"--min", "1%", "nan.npy", "y.npy"}, 3, "nan.npy: --min 1%: all elements are NaN");
  refused({"--max", "1%", "empty.npy", "y.npy"}, 3, "empty.npy: --max 1%: the tensor has no elements");
  refused({"--max", "50%", "inf.npy", "y.npy"}, 3,
          "inf.npy: --max 50%: the percentile lies between -inf and inf");
  refused({"--min", "1%", "-", "y.npy"}, 2, "--min 1%: IN must be a file, not a stream", kThousand);
  refused({"--max", "1%", "--output", "z.npy", "-"}, 2, "--max 1%: IN must be a file, not a stream",
          kThousand);
  refused({"--min", "1%", "--scale", "2", "x.npy", "y.npy"}, 2,
          "x.npy: --min 1%: a percentile cannot be combined with --scale");
  refused({"--min", "1%", "--bias", "2", "--output-dir", "out", "x.npy"}, 2,
          "cannot be combined with --bias");
  for (const char* const shards : {"--shard", "--split-output"}) {
    Words words{"--min", "1%", "--shard", "0/2", "x.npy", "y.npy"};
    if (shards != words[2]) words.emplace_back(shards);
    refused(words, 2,
            "x.npy: --min 1%: a percentile needs all elements of the tensor; first run clipper info");
  }
  refused({"--min", "101%", "x.npy", "y.npy"}, 2, "--min 101%: a percentile is a number from 0% to 100%");
  refused({"--max", "-1%", "x.npy", "y.npy"}, 2, "--max -1%: a percentile is a number from 0% to 100%");
  refused({"--max", "nan%", "x.npy", "y.npy"}, 2, "--max nan%: a percentile is a number from 0% to 100%");
  refused({"--max", "1e-17%", "x.npy", "y.npy"}, 2, "--max 1e-17%: a percentile has max 16 decimal places");
  refused({"--max", "%", "x.npy", "y.npy"}, 2, "--max: '%' is not a number");
  refused({"--scale", "1%", "x.npy", "y.npy"}, 2,
          "--scale: '1%' is not a number; only --min and --max can be percentiles");
  refused({"--nan", "1%", "x.npy", "y.npy"}, 2, "--nan: '1%' is not keep, error, min, max or a number");
  refused({"info", "--min", "1%", "x.npy"}, 2, "clipper info --percentile 1 prints that percentile");
  refused({"--min", "99%", "--max", "1%", "x.npy", "y.npy"}, 2,
          "x.npy: --min 99% (990) exceeds --max 1% (10); to allow this, add --min-above-max max (as numpy) "
          "or min\n");
}

TEST_CASE("a member of an archive that has no percentile is named, and clipped without this bound") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto archive = [](const std::vector<float>& w, const std::vector<float>& nans) {
    return npz_file(
        {{"w.npy", float32_file(w)}, {"empty.npy", float32_file({})}, {"nan.npy", float32_file(nans)}});
  };
  const WorkingDirectory directory{{"a.npz", archive({1, 2, 9}, {nan, nan})}};
  const auto check = [&](const Words& words, const std::string& expected) {
    CAPTURE(words);
    const Result result = directory.run(joined(words, {"a.npz", "out.npz"}));
    CHECK(result.exit_code == 0);
    CHECK(result.error ==
          "clipper: warning: a.npz:empty: --min 50% is no bound: the tensor has no elements\n"
          "clipper: warning: a.npz:nan: --min 50% is no bound: all elements are NaN\n");
    CHECK(directory.read("out.npz") == expected);
  };
  check({"--min", "50%", "--max", "5"}, archive({2, 2, 5}, {nan, nan}));
  check({"--min", "50%", "--nan", "7"}, archive({2, 2, 9}, {7, 7}));
  check({"--min", "50%", "--nan", "min"}, archive({2, 2, 9}, {nan, nan}));
  check({"--min", "50%", "--nan", "3", "--max", "4", "--round", "floor"}, archive({2, 2, 4}, {3, 3}));
  CHECK(directory.run({"--min", "50%", "a.npz", "--verify", "out.npz", "-q"}).exit_code == 1);
  directory.refused({"--min", "50%", "a.npz:nan", "out.npy"}, 3, "all elements are NaN");
}

TEST_CASE("a list of files is checked before the first output, also with percentiles") {
  const WorkingDirectory directory{{"x.npy", kThousand}, {"bad.npy", "not a tensor"}};
  directory.refused(percent({"--output-dir", "out", "x.npy", "bad.npy"}), 3, "bad.npy");
}

}  // namespace clipper::testing
