#include "cli/clipper.hpp"
#include "cli/manual_table.hpp"
#include "support/archives.hpp"
#include "support/tensors.hpp"

/// --nodata and --nodata-to.
namespace clipper::testing {
namespace {

TEST_CASE("The manual's table of nodata is right") {
  check_rows(".SS Nodata", 7);
}

TEST_CASE("Every way to run clipper leaves nodata alone") {
  const WorkingDirectory dir;
  const std::string in = file_of("float32", "-9999 -1 3 9");
  const std::string out = file_of("float32", "-9999 0 3 6");
  const Words steps = {"--nodata", "-9999", "--min", "0", "--max", "6"};
  dir.write("in.npy", in);
  const auto done = [&](const Words& more, std::string_view input = "") {
    return dir.run(joined(steps, more), input);
  };
  CHECK(done({"-", "-"}, in).output == out);
  for (const Words& how : {Words{"--in-place"}, Words{"--in-place", "--direct"}}) {
    dir.write("place.npy", in);
    check_done(done(joined(how, {"place.npy"})));
    CHECK(dir.read("place.npy") == out);
  }
  check_done(done({"--output-dir", "made", "in.npy"}));
  CHECK(dir.read("made/in.npy") == out);
  check_done(done({"in.npy", "--verify", "made/in.npy"}));
  check_done(done({"--shard", "0/2", "in.npy", "s.npy"}));
  check_done(done({"--shard", "1/2", "in.npy", "s.npy"}));
  dir.done({"--finalize", "s.npy"});
  CHECK(dir.read("s.npy") == out);
  dir.write("lo.npy", file_of("float32", "5 0 4 4"));
  dir.done({"--nodata", "-9999", "--min", "@lo.npy", "in.npy", "out.npy"});
  CHECK(dir.read("out.npy") == file_of("float32", "-9999 0 4 9"));
}

TEST_CASE("Nodata is counted, and so are other elements that become nodata") {
  const WorkingDirectory dir;
  dir.write("in.npy", file_of("float32", "-9999 -1 3 9 nan"));
  const Result json = dir.run({"--json", "--nodata", "-9999", "--nodata", "nan", "--nodata-to", "0", "--min",
                               "0", "--max", "6", "in.npy", "out.npy"});
  CHECK(
      contains(json.output, R"("raised":1,"lowered":1,"nan":0,"nodata":2,"became_nodata":1,"changed":true)"));
  CHECK(contains(json.error, "warning: in.npy: 1 of the other elements become 0, which marks nodata"));
  CHECK(contains(dir.run({"-v", "--nodata", "-9999", "--max", "6", "in.npy", "out.npy"}).error,
                 "clipped 25 % (0 % raised, 25 % lowered), 1 NaN kept, 1 nodata"));
  const Words limited = {"--nodata", "-9999", "--max", "6", "in.npy", "out.npy", "--fail-if-clipped"};
  check_done(dir.run(joined(limited, {"25%"})));
  CHECK(dir.run(joined(limited, {"24%"})).exit_code == 1);
  const Result info = dir.run({"info", "--json", "--nodata", "-9999", "--percentile", "50", "in.npy"});
  CHECK(contains(info.output, R"("median":3)"));
  CHECK(contains(info.output, R"("nodata":1)"));
}

TEST_CASE("A percentile of nothing but nodata is no bound, and every other step applies") {
  const WorkingDirectory dir;
  const std::string in = file_of("float32", "7 7");
  dir.write("in.npy", in);
  const Result result = dir.run({"--nodata", "7", "--min", "1%", "--max", "9", "in.npy", "out.npy"});
  CHECK(contains(result.error, "--min 1% is no bound: all elements are nodata or NaN"));
  CHECK(dir.read("out.npy") == in);
}

TEST_CASE("What cannot be nodata is refused") {
  const WorkingDirectory dir;
  dir.write("f.npy", file_of("float32", "-9999 nan 1"));
  dir.write("i.npy", file_of("int16", "1 2"));
  const auto refused = [&](const Words& words, std::string_view why) {
    check_refused(dir.run(joined(words, {"out.npy"})), 2, why);
  };
  refused({"--nodata", "-9999", "--nan", "0", "--to", "uint8", "f.npy"},
          "--nodata -9999 cannot become uint8");
  refused({"--nodata", "nan", "--to", "uint8", "f.npy"}, "--nodata nan cannot become uint8");
  refused({"--nodata", "1", "--nodata-to", "256", "--to", "uint8", "f.npy"}, "--nodata-to 256");
  refused({"--nodata", "1", "--nodata-to", "1e39", "f.npy"}, "--nodata-to 1e39 cannot become float32");
  refused({"--nodata-to", "1", "f.npy"}, "--nodata-to requires --nodata");
  refused({"--nodata", "1%", "--max", "1", "f.npy"}, "'1%' is not a number");
  refused({"--nodata", "@f.npy", "--max", "1", "f.npy"}, "'@f.npy' is not a number");
  refused({"--nodata", "1", "--max", "1", "--profile", "numpy", "f.npy"},
          "--nodata is not supported by NumPy");
  check_refused(dir.run({"--nodata", "1", "--nodata-to", "2", "--in-place", "--direct", "f.npy"}), 2,
                "--nodata-to");
  dir.done({"--nodata", "nan", "--nodata", "0.5", "--max", "1", "--to", "uint8", "i.npy", "out.npy"});
  CHECK(dir.read("out.npy") == file_of("uint8", "1 1"));
}

}  // namespace
}  // namespace clipper::testing
