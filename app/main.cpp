#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "commands.hpp"
#include "console/error_line.hpp"
#include "console/progress.hpp"
#include "error.hpp"
#include "files/cleanup_registry.hpp"

namespace clipper {
namespace {

/// What a signal does that nobody handles. All others end the process, unless it is told to ignore them.
constexpr bool ends_process(int signal) {
  switch (signal) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU: return false;
    default: return true;
  }
}

/// From here on the calling thread alone ends the process: no signal comes to it, and every other thread that
/// gets here waits for the end. A fault in it does not come back here: the system ends the process at once.
void become_the_last() {
  static std::atomic_flag has_begun;
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  if (has_begun.test_and_set())
    for (;;) ::pause();
  remove_temporaries();
}

extern "C" void end_by_signal(int signal) {
  become_the_last();
  erase_progress();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  sigset_t own;
  ::sigemptyset(&own);
  ::sigaddset(&own, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  ::_exit(128 + signal);  // the first process of a container survives its own signals
}

void handle_signals() {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit then fails, and that is handled
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (!ends_process(signal) || ::sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler != SIG_DFL) continue;  // ignored, as by nohup, or a sanitizer's
    action.sa_handler = end_by_signal;
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

/// The runtime library gives up like this when there is no memory even for an exception, and oneTBB when it
/// cannot get memory or a thread in the middle of the work.
[[noreturn]] void end_for_want_of_resources() {
  constexpr std::string_view kLine = "clipper: out of memory or threads\n";
  become_the_last();
  // Not by stdio, whose lock a waiting thread may hold.
  if (::write(STDERR_FILENO, kLine.data(), kLine.size()) < 0) ::_exit(static_cast<int>(ErrorKind::io));
  ::_exit(static_cast<int>(ErrorKind::io));
}

/// Before all constructors of the program.
[[gnu::constructor(101)]] void expect_want_of_resources() {
  std::set_terminate(end_for_want_of_resources);
}

/// With a standard stream closed, the next file to be opened would get its number and its output.
void reserve_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      return;
}

int run(int argc, char** argv) {
  try {
    reserve_standard_streams();
    handle_signals();
    return run_command(argc, argv);
  } catch (...) {
    const Failure failure = explained(std::current_exception());
    std::fputs(line_of(failure).c_str(), stderr);
    return static_cast<int>(failure.kind);
  }
}

}  // namespace
}  // namespace clipper

int main(int argc, char** argv) {
  return clipper::run(argc, argv);
}
