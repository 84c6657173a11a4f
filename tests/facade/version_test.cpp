#include "clipper.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace clipper::testing {
namespace {

TEST_CASE("version() is the version of the CMake project") {
  const std::string project = "project(clipper VERSION " + std::string(version()) + " ";
  CHECK(read_file(source_path("CMakeLists.txt")).find(project) != std::string::npos);
}

}  // namespace
}  // namespace clipper::testing
