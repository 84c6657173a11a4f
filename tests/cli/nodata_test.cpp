#include "cli/manual_table.hpp"

/// --nodata and --nodata-to.
namespace clipper::testing {
namespace {

TEST_CASE("The manual's table of nodata is right") {
  check_rows(".SS Nodata", 7);
}

}  // namespace
}  // namespace clipper::testing
