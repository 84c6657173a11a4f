#include "cli/clipper.hpp"
#include "cli/manual_table.hpp"
#include "element/element.hpp"
#include "support/archives.hpp"
#include "support/tensors.hpp"

/// --to, --round, --zero-point, --saturate, --replace-below, --replace-above, and --scale 1/S.
namespace clipper::testing {

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

}  // namespace clipper::testing
