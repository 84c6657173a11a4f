#pragma once

#include <chrono>

#include "support/catch.hpp"

/// Runs programs as processes.
namespace clipper::testing {

/// How a process ended, and what it wrote to its standard streams.
struct Result {
  int exit_code = -1;  ///< -1 if a signal ended it
  int signal = 0;      ///< 0 if it exited
  std::string output;
  std::string error;
};

/// How a process starts.
struct ProcessSettings {
  std::string directory = ".";
  /// Called in the new process before the program starts: limits, umask, user, redirections.
  std::function<void()> prepare = nullptr;
};

/// Waits until the condition is true. Fails if it is still false after a very long time.
template <class Condition>
void wait_until(Condition condition) {
  using namespace std::chrono_literals;
  for (int tries = 0; tries < 60'000 && !condition(); ++tries) std::this_thread::sleep_for(1ms);
  REQUIRE(condition());
}

}  // namespace clipper::testing

#if defined(_WIN32)
#include "support/process_windows.hpp"
#else
#include "support/process_linux.hpp"
#endif
