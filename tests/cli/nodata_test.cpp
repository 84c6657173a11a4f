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

}  // namespace
}  // namespace clipper::testing
