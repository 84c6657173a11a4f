#include "cli/clipper.hpp"
#include "cli/manual_table.hpp"
#include "support/archives.hpp"
#include "support/tensors.hpp"

/// Numbers that are found in the elements: percentiles and statistics, --per-axis and --pooled.
namespace clipper::testing {
namespace {

/// A float32 tensor of this shape.
std::string tensor_of(const std::string& shape, const std::string& elements) {
  const std::string flat = file_of("float32", elements);
  return npy_file("<f4", "False", shape, flat.substr(flat.size() - 4 * words_of(elements).size()));
}

TEST_CASE("--subtract and --divide take the mean, deviation, minimum and maximum of the clipped elements") {
  const WorkingDirectory dir;
  dir.write("in.npy", file_of("float32", "1 3 nan 9 inf"));
  const auto made = [&](const Words& options) {
    dir.done(joined(options, {"in.npy", "out.npy"}));
    return dir.read("out.npy");
  };
  CHECK(made({"--max", "5", "--subtract", "mean"}) == file_of("float32", "-2.5 -0.5 nan 1.5 1.5"));
  CHECK(made({"--subtract", "min", "--divide", "2"}) == file_of("float32", "0 1 nan 4 inf"));
  CHECK(made({"--max", "9", "--divide", "max"}) ==
        file_of("float32", "0.1111111111111111 0.3333333333333333 nan 1 1"));
  CHECK(made({"--max", "3", "--min", "3", "--subtract", "mean", "--nan", "5"}) ==
        file_of("float32", "-0.4 -0.4 1.6 -0.4 -0.4"));
  dir.write("in.npy", file_of("int16", "-5 100 300"));
  CHECK(made({"--min", "0", "--max", "200", "--subtract", "mean", "--to", "float32"}) ==
        file_of("float32", "-100 0 100"));
}

TEST_CASE("Every way to run clipper finds figures") {
  const WorkingDirectory dir;
  const std::string in = tensor_of("(2, 3)", "1 3 8 10 30 80");
  const std::string out = tensor_of("(2, 3)", "-1 -1 -1 1 1 1");
  const Words steps = {"--subtract", "mean", "--divide", "std", "--per-axis", "1"};
  dir.write("in.npy", in);
  dir.write("place.npy", in);
  const auto done = [&](const Words& more) { return dir.run(joined(steps, more)); };
  check_done(done({"in.npy", "out.npy"}));
  CHECK(dir.read("out.npy") == out);
  check_done(done({"--in-place", "place.npy"}));
  CHECK(dir.read("place.npy") == out);
  check_done(done({"--output-dir", "made", "in.npy"}));
  CHECK(dir.read("made/in.npy") == out);
  check_done(done({"in.npy", "--verify", "made/in.npy"}));
  check_done(done({"--pooled", "in.npy", "--verify", "made/in.npy"}));
  const Result json = done({"--json", "in.npy", "out.npy"});
  CHECK(contains(json.output, R"("subtract":{"values":[5.5,16.5,44],"shape":[1,3]})"));
  CHECK(
      contains(done({"-v", "in.npy", "out.npy"}).error, "(y - mean (1, 3) [5.5, 16.5, 44]) / std (1, 3) ["));
}

TEST_CASE("--per-axis counts the axes of the shape, from the end if it is negative") {
  const WorkingDirectory dir;
  dir.write("in.npy", tensor_of("(2, 3)", "1 3 8 10 30 80"));
  const auto made = [&](const Words& axes) {
    dir.done(joined(axes, {"--subtract", "min", "in.npy", "out.npy"}));
    return dir.read("out.npy");
  };
  CHECK(made({"--per-axis", "0"}) == tensor_of("(2, 3)", "0 2 7 0 20 70"));
  CHECK(made({"--per-axis", "-1"}) == tensor_of("(2, 3)", "0 0 0 9 27 72"));
  CHECK(made({"--per-axis", "-1", "--per-axis", "0"}) == tensor_of("(2, 3)", "0 0 0 0 0 0"));
  const std::string flat = tensor_of("(2, 3)", "1 3 8 10 30 80");
  dir.write("in.npy", npy_file("<f4", "True", "(2, 3)", flat.substr(flat.size() - 24)));  // 1 8 30, 3 10 80
  dir.done({"--per-axis", "0", "--max", "50%", "in.npy", "out.npy"});
  CHECK(contains(dir.run({"-v", "--per-axis", "0", "--max", "50%", "in.npy", "o.npy"}).error,
                 "max 50% (2, 1) [8, 10]"));
}

TEST_CASE(
    "--pooled finds the figures of all inputs and members, and prints numbers that give the same bytes") {
  const WorkingDirectory dir;
  dir.write("a.npy", file_of("float32", "0 1 2"));
  dir.write("b.npz", npz_file({{"x.npy", file_of("float32", "3 4 14")}, {"i.npy", file_of("int8", "99")}}));
  const Words steps = {"--pooled", "--max", "50%", "--subtract", "mean", "--only", "float"};
  const Result dry = dir.run(joined(steps, {"--dry-run", "--output-dir", "made", "a.npy", "b.npz"}));
  CHECK(contains(dry.error, "clipper: pooled: --max 50% is 2.5, --subtract mean is 1.75\n"));
  dir.done(joined(steps, {"--output-dir", "made", "a.npy", "b.npz"}));
  CHECK(dir.read("made/a.npy") == file_of("float32", "-1.75 -0.75 0.25"));
  dir.done({"--max", "2.5", "--subtract", "1.75", "b.npz:x", "x.npy"});
  CHECK(dir.read("x.npy") == file_of("float32", "0.75 0.75 0.75"));
  dir.done({"made/b.npz:x", "same.npy", "--min", "-100"});
  CHECK(dir.read("same.npy") == dir.read("x.npy"));
}

TEST_CASE("Figures that cannot be are refused, and nothing is written") {
  const WorkingDirectory dir;
  dir.write("f.npy", tensor_of("(2, 2)", "1 2 nan 2"));
  dir.write("n.npy", tensor_of("(2, 2)", "1 2 nan nan"));
  dir.write("i.npy", file_of("float32", "1 inf"));
  dir.write("d.npy", file_of("float64", "1 2"));
  dir.write("t.npy", tensor_of("(3, 2)", "1 2 3 4 5 6"));
  dir.write("bool.npy", npy_file("|b1", "False", "(1,)", std::string(1, '\1')));
  dir.write("bad.npy", "bad");
  struct Case {
    Words words;
    int exit_code;
    std::string_view word;
  };
  const std::vector<Case> cases{
      {{"--subtract", "mean", "--per-axis", "2", "f.npy"},
       3,
       "f.npy: --per-axis 2: the tensor has no such axis"},
      {{"--subtract", "mean", "--per-axis", "-3", "f.npy"}, 3, "(2, 2)"},
      {{"--subtract", "mean", "--per-axis", "0", "n.npy"},
       3,
       "--subtract mean: all elements are NaN at [1, 0]"},
      {{"--max", "50%", "--per-axis", "0", "n.npy"}, 3, "--max 50%: all elements are NaN at [1, 0]"},
      {{"--min", "1.5", "--max", "0%", "--per-axis", "0", "f.npy"},
       2,
       "at [0, 0]: --min 1.5 exceeds --max 0% (1)"},
      {{"--divide", "std", "--max", "0", "f.npy"}, 3, "f.npy: --divide std: the divisor must not be 0"},
      {{"--divide", "std", "--per-axis", "1", "f.npy"}, 3, "the divisor must not be 0 at [0, 0]"},
      {{"--subtract", "max", "i.npy"}, 3, "--subtract max: is infinite"},
      {{"--subtract", "meen", "f.npy"}, 2, "did you mean 'mean'?"},
      {{"--min", "mean", "f.npy"}, 2, "--min: 'mean' is not a number"},
      {{"--per-axis", "1.5", "--max", "50%", "f.npy"}, 2, "--per-axis: '1.5' is not an axis"},
      {{"--per-axis", "0", "--max", "5", "f.npy"}, 2, "--per-axis requires a percentile as --min"},
      {{"--pooled", "--max", "5", "f.npy"}, 2, "--pooled requires a percentile as --min"},
      {{"--per-axis", "0", "--max", "50%", "--profile", "numpy", "f.npy"}, 2, "only profile native has it"},
      {{"--subtract", "mean", "--profile", "numpy", "f.npy"}, 2, "only profile native has it"},
      {{"--subtract", "mean", "bool.npy"}, 2, "bool"},
      {{"--per-axis", "0", "--max", "50%", "bool.npy"}, 2, "--per-axis: not for a tensor of bool"},
      {{"--subtract", "mean", "--shard", "0/2", "f.npy"},
       2,
       "--subtract mean: a statistic needs all elements"},
      {{"--pooled", "--subtract", "mean", "--shard", "0/2", "f.npy"}, 2, "--shard and --pooled"},
      {{"--pooled", "--subtract", "mean", "--skip-existing", "f.npy"}, 2, "--skip-existing"},
      {{"--pooled", "--subtract", "mean", "--newer", "f.npy"}, 2, "--newer"},
      {{"--subtract", "mean", "-"}, 2, "--subtract mean: IN must be a file"},
      {{"--pooled", "--subtract", "mean", "-"}, 2, "--subtract mean: IN must be a file"},
      {{"--pooled", "--subtract", "mean", "--output-dir", "made", "f.npy", "d.npy"},
       3,
       "d.npy: is float64, but f.npy is float32"},
      {{"--pooled", "--subtract", "mean", "--per-axis", "0", "--output-dir", "made", "f.npy", "t.npy"},
       3,
       "t.npy: has shape (3, 2), but f.npy has (2, 2)"},
      {{"--pooled", "--subtract", "mean", "--keep-going", "--output-dir", "made", "f.npy", "bad.npy"},
       3,
       "bad.npy"},
      {{"--pooled", "--subtract", "mean", "--in-place", "f.npy"},
       2,
       "type the numbers that --dry-run prints"},
  };
  for (const Case& row : cases) {
    CAPTURE(row.words);
    const bool has_output = row.words.at(row.words.size() - 2) == "--in-place" ||
                            std::ranges::find(row.words, "--output-dir") != row.words.end();
    check_refused(
        dir.run(joined(row.words, has_output ? Words{} : Words{"out.npy"}), file_of("float32", "1 2")),
        row.exit_code, row.word);
    CHECK(!std::filesystem::exists(dir / "out.npy"));
    CHECK(!std::filesystem::exists(dir / "made/f.npy"));
  }
}

TEST_CASE("A member without numbers is clipped without the steps that need its figures") {
  const WorkingDirectory dir;
  dir.write("a.npz",
            npz_file({{"x.npy", file_of("float32", "1 3")}, {"n.npy", file_of("float32", "nan nan")}}));
  const Result result = dir.run({"--subtract", "mean", "a.npz", "out.npz"});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.error, "a.npz:n: --subtract mean is left out: all elements are NaN"));
  dir.done({"out.npz:x", "x.npy", "--min", "-9"});
  CHECK(dir.read("x.npy") == file_of("float32", "-1 1"));
}

TEST_CASE("Figures leave nodata out; without other elements they are dropped and named") {
  const WorkingDirectory dir;
  dir.write("in.npy", tensor_of("(2, 3)", "1 9 8 3 9 30"));
  dir.write("none.npy", tensor_of("(2, 3)", "9 9 9 9 9 9"));
  const auto made = [&](const Words& options) {
    dir.done(joined(options, {"--nodata", "9", "in.npy", "out.npy"}));
    return dir.read("out.npy");
  };
  CHECK(made({"--subtract", "mean", "--max", "8"}) == tensor_of("(2, 3)", "-4 9 3 -2 9 3"));
  CHECK(made({"--min", "0%", "--max", "100%", "--stretch", "1:30"}) == tensor_of("(2, 3)", "1 9 8 3 9 30"));
  CHECK(made({"--max", "50%", "--per-axis", "0"}) == tensor_of("(2, 3)", "1 9 4.5 3 9 16.5"));
  check_refused(dir.run({"--nodata", "9", "--max", "50%", "--per-axis", "1", "in.npy", "o.npy"}), 3,
                "in.npy: --max 50%: all elements are nodata or NaN at [0, 1]");
  check_refused(dir.run({"--nodata", "9", "--divide", "std", "--per-axis", "1", "in.npy", "o.npy"}), 3,
                "in.npy: --divide std: all elements are nodata or NaN at [0, 1]");
  const Words pooled{"--nodata", "9", "--pooled", "--output-dir", "made"};
  const Words stretched{"--min", "0%", "--max", "100%", "--stretch", "0:29", "in.npy", "none.npy"};
  dir.done(joined(pooled, stretched));
  CHECK(dir.read("made/in.npy") == tensor_of("(2, 3)", "0 9 7 2 9 29"));
  CHECK(dir.read("made/none.npy") == dir.read("none.npy"));
  const auto named = [&](const Words& words, std::string_view text) {
    const Result result = dir.run(joined({"--nodata", "9"}, words));
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 0);
    CHECK(contains(result.error, text));
  };
  named({"--divide", "std", "--subtract", "5", "none.npy", "out.npy"},
        "warning: none.npy: --divide std is left out: all elements are nodata or NaN\n");
  named({"--pooled", "--max", "1%", "--output-dir", "none", "none.npy"},
        "warning: pooled: --max 1% is no bound: all elements are nodata or NaN\n");
  named({"--pooled", "--divide", "max", "--dry-run", "none.npy", "out.npy"},
        "pooled: --divide max is none\n");
}

TEST_CASE("info shows the figures of each index, and of all tensors together") {
  const WorkingDirectory dir;
  dir.write("a.npy", tensor_of("(2, 3)", "1 3 8 10 30 nan"));
  dir.write("b.npz", npz_file({{"x.npy", tensor_of("(2, 3)", "5 -1 9 9 9 9")}}));
  dir.write("d.npy", file_of("float64", "1"));
  const Result index = dir.run({"info", "--per-axis", "0", "--max", "9", "a.npy"});
  check_done(index);
  CHECK(contains(index.output, "a.npy[0, :]\n  dtype     float32, little-endian\n  elements  3\n"));
  CHECK(contains(index.output, "a.npy[1, :]\n"));
  CHECK(contains(index.output, "  mean      20 of 2 finite elements\n"));
  CHECK(contains(index.output, "  above 9   2 (66.7 %)\n"));
  const Result json =
      dir.run({"info", "--json", "--per-axis", "-1", "--percentile", "100", "--nodata", "9", "b.npz"});
  CHECK(contains(json.output, R"("member":"x.npy","status":0,"compression":"stored")"));
  CHECK(contains(json.output, R"("index":[null,2])"));
  CHECK(contains(json.output, R"("min":null,"max":null,"mean":null)"));
  CHECK(contains(json.output, R"("nodata":2)"));
  const Result total = dir.run({"info", "--total", "--nodata", "9", "a.npy", "b.npz"});
  check_done(total);
  CHECK(contains(total.output, "2 tensors\n  dtype     float32\n  elements  12\n"));
  CHECK(contains(total.output, "  mean      8 of 7 finite elements\n"));
  CHECK(contains(total.output, "  median    5\n"));
  CHECK(contains(total.output, "  nodata    4\n"));
  const Result both = dir.run({"info", "--json", "--total", "--per-axis", "1", "a.npy", "b.npz"});
  CHECK(contains(both.output, R"("status":0,"index":[null,1],"total":2,"dtype":"float32","elements":4)"));
  CHECK(contains(both.output, R"("median":6)"));
  check_refused(dir.run({"info", "--per-axis", "2", "a.npy"}), 3, "a.npy: --per-axis 2: the tensor has no");
  check_refused(dir.run({"info", "--total", "a.npy", "d.npy"}), 3, "d.npy: is float64, but a.npy is float32");
  check_refused(dir.run({"info", "--total", "-"}), 2, "must be a file, not a stream");
  check_refused(dir.run({"info", "--total", "--max", "@a.npy", "a.npy"}), 2, "--max and --total");
}

}  // namespace
}  // namespace clipper::testing
