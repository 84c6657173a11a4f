#pragma once

#if !defined(_WIN32)
#include <grp.h>
#include <sys/wait.h>
#endif

#include "files/descriptor.hpp"
#include "support/skip.hpp"

/// Runs code in a new process, for code that changes its process permanently.
namespace clipper::testing {

#if defined(_WIN32)
inline void in_a_process(const std::function<bool()>& /*work*/) {
  needs_posix("fork()");
}
inline void become_user() {}  // a function for Process, which does not call it
#else
/// Calls the function in a new process. The check fails if it returns false or throws.
inline void in_a_process(const std::function<bool()>& work) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    bool done = false;
    try {
      done = work();
    } catch (...) {  // Catch's exceptions, too: only the parent may continue with tests
      ::_exit(2);
    }
    ::_exit(done ? 0 : 1);
  }
  int status = 0;
  REQUIRE(retry_interrupted([&] { return ::waitpid(pid, &status, 0); }) == pid);
  CHECK(status == 0);
}

/// Changes root to another user. Call it in a new process.
inline void become(uid_t user) {
  if (::geteuid() != 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(125);
}

/// Changes root to user nobody, because permissions do not restrict root. Call it in a new process.
inline void become_user() {
  become(65534);
}
#endif

}  // namespace clipper::testing
