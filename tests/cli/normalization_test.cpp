#include "cli/clipper.hpp"
#include "cli/manual_table.hpp"
#include "support/archives.hpp"
#include "support/tensors.hpp"

/// --subtract, --divide and --stretch.
namespace clipper::testing {
namespace {

TEST_CASE("The manual's table of steps after the clip is right") {
  check_rows(".SS After the clip", 10);
}

TEST_CASE("Every way to run clipper normalizes") {
  const WorkingDirectory dir;
  const std::string in = file_of("float32", "-1 0 3 9");
  const std::string out = file_of("float32", "0 0 0.5 1");
  const Words steps = {"--min", "0", "--max", "6", "--stretch", "0:1"};
  dir.write("in.npy", in);
  const auto done = [&](const Words& more, std::string_view input = "") {
    return dir.run(joined(steps, more), input);
  };
  CHECK(done({"-", "-"}, in).output == out);
  dir.write("place.npy", in);
  check_done(done({"--in-place", "place.npy"}));
  CHECK(dir.read("place.npy") == out);
  check_done(done({"--output-dir", "made", "in.npy"}));
  CHECK(dir.read("made/in.npy") == out);
  check_done(done({"in.npy", "--verify", "made/in.npy"}));
  check_done(done({"--shard", "0/2", "in.npy", "s.npy"}));
  check_done(done({"--shard", "1/2", "in.npy", "s.npy"}));
  dir.done({"--finalize", "s.npy"});
  CHECK(dir.read("s.npy") == out);
  check_refused(done({"--in-place", "--direct", "in.npy"}), 2, "--stretch");
}

TEST_CASE("-v and --json say what is subtracted and by what is divided") {
  const WorkingDirectory dir;
  dir.write("in.npy", file_of("float32", "1 2 9"));
  dir.write("s.npy", file_of("float64", "1 2 3"));
  const Result verbose =
      dir.run({"-v", "--max", "6", "--subtract", "@s.npy", "--divide", "0.5", "in.npy", "out.npy"});
  CHECK(contains(verbose.error, "(y - @s.npy (3,)) / 0.5 in float64"));
  CHECK(dir.read("out.npy") == file_of("float32", "0 0 6"));
  const Result json = dir.run({"--json", "--divide", "@s.npy", "in.npy", "out.npy"});
  CHECK(contains(json.output, R"("divide":{"file":"s.npy","shape":[3]})"));
  CHECK(contains(
      dir.run({"-v", "--min", "1%", "--max", "9", "--stretch", "0:255", "--to", "uint8", "in.npy", "out.npy"})
          .error,
      ", stretched to 0:255 in float64, rounded half-even, to uint8"));
}

TEST_CASE("Elements are counted once: by the bound, or by the dtype of the result") {
  const WorkingDirectory dir;
  dir.write("in.npy", file_of("float32", "-9 -1 1 2 3 300 900 nan"));
  const Result result = dir.run({"--json", "--min", "0", "--max", "400", "--subtract", "1.25", "--nan", "0",
                                 "--to", "uint8", "in.npy", "out.npy"});
  CHECK(dir.read("out.npy") == file_of("uint8", "0 0 0 1 2 255 255 0"));
  CHECK(contains(result.output, R"("raised":2,"lowered":2,"nan":1,)"));
  CHECK(contains(result.output, R"("became_infinite":0,"became_zero":1)"));
}

TEST_CASE("Normalizations that cannot be are refused") {
  const WorkingDirectory dir;
  dir.write("f.npy", file_of("float32", "1 2 inf"));
  dir.write("i.npy", file_of("int16", "1 2 3"));
  dir.write("zero.npy", file_of("float32", "1 0 3"));
  dir.write("one.npy", file_of("float32", "0"));
  dir.write("lo.npy", file_of("float32", "1 -inf 3"));
  struct Case {
    Words words;
    int exit_code;
    std::string_view word;
  };
  const std::vector<Case> cases{
      {{"--max", "6", "--stretch", "0:1", "f.npy"}, 2, "--stretch requires --min"},
      {{"--min", "0", "--stretch", "0:1", "f.npy"}, 2, "--stretch requires --max"},
      {{"--min", "0", "--max", "inf", "--stretch", "0:1", "f.npy"}, 2, "--max inf is infinite"},
      {{"--min", "0", "--max", "6", "--stretch", "0:1", "--divide", "2", "f.npy"}, 2, "--divide"},
      {{"--min", "0", "--max", "6", "--stretch", "0:1", "--subtract", "2", "f.npy"}, 2, "--subtract"},
      {{"--min", "0", "--max", "6", "--stretch", "0:1", "--min-above-max", "max", "f.npy"},
       2,
       "--min-above-max"},
      {{"--min", "0", "--max", "6", "--subtract", "1", "--min-above-max", "max", "f.npy"},
       2,
       "--subtract cannot be combined with --min-above-max"},
      {{"--min", "0", "--max", "6", "--stretch", "01", "f.npy"}, 2, "LO:HI"},
      {{"--min", "0", "--max", "6", "--stretch", "0:", "f.npy"}, 2, "is not a number"},
      {{"--min", "0", "--max", "6", "--stretch", "0:inf", "f.npy"}, 2, "--stretch inf"},
      {{"--min", "0", "--max", "6", "--stretch", "0:@one.npy", "f.npy"}, 2, "--stretch"},
      {{"--min", "0", "--max", "6", "--stretch", "0:256", "--to", "uint8", "f.npy"},
       2,
       "256 is not an integer from"},
      {{"--min", "0", "--max", "6", "--stretch", "0:0.5", "--to", "uint8", "f.npy"},
       2,
       "0.5 is not an integer"},
      {{"--min", "0", "--max", "6", "--stretch", "0:255", "--zero-point", "1", "--to", "uint8", "f.npy"},
       2,
       "255"},
      {{"--min", "0", "--max", "6", "--stretch", "0:1e39", "f.npy"},
       2,
       "1e39 is beyond the range of float32"},
      {{"--min", "0", "--max", "6", "--stretch", "0:1", "--nan", "7", "f.npy"}, 2, "--nan 7 must lie within"},
      {{"--min", "-1e308", "--max", "1e308", "--stretch", "0:1", "--to", "float64", "--scale", "1", "f.npy"},
       2,
       ""},
      {{"--min", "@lo.npy", "--max", "6", "--stretch", "0:1", "zero.npy"}, 2, "[1]"},
      {{"--min", "0%", "--max", "100%", "--stretch", "0:1", "f.npy"}, 3, "infinite"},
      {{"--min", "0", "--replace-below", "nan", "--subtract", "1", "--to", "int8", "f.npy"},
       2,
       "--replace-below nan"},
      {{"--subtract", "1", "i.npy"},
       2,
       "--subtract makes fractions of int16 elements; this requires --to or --round"},
      {{"--divide", "3", "i.npy"}, 2, "--divide"},
      {{"--min", "1", "--max", "2", "--stretch", "0:1", "i.npy"}, 2, "--stretch"},
      {{"--divide", "0", "f.npy"}, 2, "--divide 0: the divisor must not be 0"},
      {{"--divide", "@one.npy", "f.npy"}, 3, "the divisor must not be 0"},
      {{"--divide", "@zero.npy", "f.npy"}, 3, "[1]"},
      {{"--divide", "inf", "f.npy"}, 2, "--divide inf is not a finite float64 number"},
      {{"--subtract", "nan", "f.npy"}, 2, "--subtract nan"},
      {{"--subtract", "1%", "f.npy"}, 2, "only --min and --max can be percentiles"},
      {{"--profile", "numpy", "--min", "0", "--subtract", "1", "f.npy"}, 2, "only profile native has it"},
  };
  for (const Case& each : cases) dir.refused(joined(each.words, {"out.npy"}), each.exit_code, each.word);
}

TEST_CASE("A min above max is refused without advice that the other options refuse") {
  const WorkingDirectory dir;
  dir.write("f.npy", file_of("float32", "1 2 3"));
  dir.write("i.npy", file_of("int64", "1 2 3"));
  dir.write("hi.npy", file_of("float32", "9 8 7"));
  const std::vector<Words> cases{
      {"--min", "99%", "--max", "1%", "--stretch", "0:1", "f.npy"},
      {"--min", "6", "--max", "0", "--subtract", "1", "f.npy"},
      {"--min", "6", "--max", "0", "--replace-below", "7", "f.npy"},
      {"--min", "@hi.npy", "--max", "0", "--stretch", "0:1", "f.npy"},
      {"--bias", "1", "--min", "6", "--max", "0", "--divide", "2", "--to", "float64", "i.npy"}};
  for (const Words& words : cases) {
    const Result result = dir.run(joined(words, {"out.npy"}));
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 2);
    CHECK(contains(result.error, " exceeds --max "));
    CHECK_FALSE(contains(result.error, "--min-above-max"));
  }
}

TEST_CASE("A bound that float64 lacks is stretched to, beside a percentile and a replacement") {
  const WorkingDirectory dir;
  dir.write("x.npy", file_of("int64", "1 9007199254740993 9007199254740996"));
  dir.done({"--min", "9007199254740993", "--max", "100%", "--stretch", "0:1", "--replace-below",
            "9007199254740996", "--to", "float32", "x.npy", "out.npy"});
  CHECK(dir.read("out.npy") == file_of("float32", "1 0 1"));
}

TEST_CASE("A member of an archive without numbers is not stretched, and a warning says so") {
  const WorkingDirectory dir;
  dir.write("a.npz",
            npz_file({{"n.npy", file_of("float32", "nan nan")}, {"x.npy", file_of("float32", "1 3")}}));
  const Result result = dir.run({"--min", "0%", "--max", "100%", "--stretch", "0:1", "a.npz", "out.npz"});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.error, "a.npz:n: --min 0% is no bound"));
  dir.done({"--round", "floor", "out.npz:x", "x.npy"});
  CHECK(dir.read("x.npy") == file_of("float32", "0 1"));
}

}  // namespace
}  // namespace clipper::testing
