#include "cli/clipper.hpp"
#include "cli/manual_table.hpp"
#include "element/element.hpp"
#include "support/archives.hpp"
#include "support/tensors.hpp"

/// --to, --round, --zero-point, --saturate, --replace-below, --replace-above, and --scale 1/S.
namespace clipper::testing {
namespace {

const std::string kFloats = file_of("float32", "-300 -1.5 0.5 1.5 254.5 300");
const std::string kBytes = file_of("uint8", "0 0 0 2 254 255");

}  // namespace

TEST_CASE("the manual's examples of casts are what clipper does") {
  const std::vector<Words> rows = manual_rows(".SS Other dtypes");
  CHECK(rows.size() >= 13);
  for (const Words& row : rows) {
    CAPTURE(row);
    REQUIRE(row.size() == 4);
    const Words options = words_of(row[2]);
    const auto to = std::ranges::find(options, "--to");
    const WorkingDirectory directory{{"in.npy", file_of(row[0], row[1])}};
    directory.done(joined(options, {"in.npy", "out.npy"}));
    CHECK(directory.read("out.npy") == file_of(to == options.end() ? row[0] : *(to + 1), row[3]));
  }
}

TEST_CASE("every way to run writes the other dtype") {
  const WorkingDirectory directory{{"in.npy", kFloats}, {"copy.npy", kFloats}};
  const Words cast{"--to", "uint8"};
  CHECK(directory.run(joined(cast, {"-", "-"}), kFloats).output == kBytes);
  directory.done(joined(cast, {"-i", "copy.npy"}));
  CHECK(directory.read("copy.npy") == kBytes);
  directory.done(joined(cast, {"--output-dir", "out", "in.npy"}));
  CHECK(directory.read("out/in.npy") == kBytes);
  for (const std::string shard : {"0/2", "1/2"}) {
    directory.done(joined(cast, {"--shard", shard, "in.npy", "joined.npy"}));
    directory.done(joined(cast, {"--shard", shard, "--split-output", "in.npy", "slab.npy"}));
  }
  directory.done({"--finalize", "joined.npy"});
  CHECK(directory.read("joined.npy") == kBytes);
  CHECK(directory.read("slab.00000-of-00002.npy") == file_of("uint8", "0 0 0"));
  CHECK(directory.read("slab.00001-of-00002.npy") == file_of("uint8", "2 254 255"));
  directory.done(joined(cast, {"in.npy", "--verify", "joined.npy"}));
  CHECK(directory.run(joined(cast, {"copy.npy", "--verify", "joined.npy"})).exit_code == 0);
  CHECK(directory.run({"--min", "1", "--to", "uint8", "in.npy", "--verify", "joined.npy"}).exit_code == 1);
  CHECK(directory.run({"--to", "int8", "in.npy", "--verify", "joined.npy"})
            .output.find("dtype int8, expected uint8") != std::string::npos);
}

TEST_CASE("a tensor without elements gets the other dtype in place") {
  const WorkingDirectory directory{{"in.npy", npy_file("<f4", "False", "(0,)", "")}};
  directory.done({"--to", "uint8", "--in-place", "in.npy"});
  CHECK(directory.read("in.npy") == npy_file("|u1", "False", "(0,)", ""));
}

}  // namespace clipper::testing
