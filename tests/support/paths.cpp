#include "support/paths.hpp"

#include <cstdlib>

namespace clipper::testing {

std::string source_path(std::string_view path) {
  return std::string(CLIPPER_SOURCE_DIR "/").append(path);
}

std::string clipper_binary() {
  const char* const named = std::getenv("CLIPPER");
  return named == nullptr ? CLIPPER_BINARY : named;
}

std::string debian_python() {
  return CLIPPER_PYTHON;
}

}  // namespace clipper::testing
