#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace clipper::testing {

/// Warns that a test needs a device that does not exist here, as in a changed root. No test can create one.
inline void skip_without(std::string_view device) {
  WARN("SKIPPED: there is no " + std::string(device) + " here");
}

/// Warns that a test needs something this machine lacks. A failure in CI, which runs as root and has
/// everything.
inline void skip_unless_possible(std::string_view what) {
  const char* const ci = std::getenv("CI");
  const std::string message = "SKIPPED: " + std::string(what) + " is not possible here";
  WARN(message);
  if (ci != nullptr && std::string_view(ci) == "true" && ::geteuid() == 0) FAIL_CHECK(message);
}

}  // namespace clipper::testing
