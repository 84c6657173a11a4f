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

}  // namespace
}  // namespace clipper::testing
