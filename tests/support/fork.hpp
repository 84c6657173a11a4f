#pragma once

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "files/descriptor.hpp"
#include "support/catch.hpp"

/// What can only be done in a process that ends with it.
namespace clipper::testing {

/// Does this in a new process. False, and no exception, is what fails.
inline void in_a_process(const std::function<bool()>& work) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    bool done = false;
    try {
      done = work();
    } catch (...) {  // Catch's own, too: only the parent goes on with tests
      ::_exit(2);
    }
    ::_exit(done ? 0 : 1);
  }
  int status = 0;
  REQUIRE(retry_interrupted([&] { return ::waitpid(pid, &status, 0); }) == pid);
  CHECK(status == 0);
}

/// In a new process: permissions do not bind root, so root becomes nobody.
inline void be_no_root() {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(125);
}

}  // namespace clipper::testing
