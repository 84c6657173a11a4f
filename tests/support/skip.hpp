#pragma once

#include "os/os.hpp"
#include "support/catch.hpp"

namespace clipper::testing {

/// Warns that a test is skipped because something does not exist in a chroot, such as a device.
inline void skip_without(std::string_view what) {
  WARN("SKIPPED: there is no " + std::string(what) + " here");
}

/// On Windows, ends the test case, of which the rest needs something that Windows or wine lacks.
inline void needs_posix(std::string_view what) {
#if defined(_WIN32)
  WARN("SKIPPED: needs " + std::string(what));
  throw Catch::TestFailureException();  // the case does not count as failed without a failed assertion
#else
  static_cast<void>(what);
#endif
}

/// Warns that a test is skipped because this machine lacks something. Fails in CI as root, where nothing may
/// be missing.
inline void skip_unless_possible(std::string_view what) {
  needs_posix(what);
  const char* const ci = std::getenv("CI");
  const std::string message = "SKIPPED: " + std::string(what) + " is not possible here";
  WARN(message);
  if (ci != nullptr && std::string_view(ci) == "true" && os::geteuid() == 0) FAIL_CHECK(message);
}

/// Whether the shell finds the program. If not, the test is skipped.
inline bool has_program(const std::string& program) {
  needs_posix(program);
  const bool found = std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
  if (!found) skip_unless_possible(program);
  return found;
}

}  // namespace clipper::testing
