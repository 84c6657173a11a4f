#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace clipper::testing {

/// Says that a test needs a device that this machine lacks, as a changed root may: no test can make one.
inline void skip_without(std::string_view device) {
  WARN("SKIPPED: there is no " + std::string(device) + " here");
}

/// Says that a test needs what this machine lacks; a failure in CI, which is root and has it all.
inline void skip_unless_possible(std::string_view what) {
  const char* const ci = std::getenv("CI");
  const std::string message = "SKIPPED: " + std::string(what) + " is not possible here";
  WARN(message);
  if (ci != nullptr && std::string_view(ci) == "true" && ::geteuid() == 0) FAIL_CHECK(message);
}

}  // namespace clipper::testing
