#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "commands.hpp"
#include "console/error_line.hpp"
#include "console/progress.hpp"
#include "error.hpp"
#include "files/cleanup_registry.hpp"
#include "files/temporary_file.hpp"
#include "parallel/pool.hpp"

namespace clipper {
namespace {

/// Whether the signal's default action ends the process (signal(7)).
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

/// Lets only the first thread that calls it end the process: blocks all signals in the calling thread, and
/// never returns in any other thread. If the first thread then faults, the kernel ends the process at once,
/// because the signal is blocked.
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
  ::_exit(128 + signal);  // PID 1 of a container survives its own signals
}

/// Handles the signals that would end the process. Others' actions, SIG_IGN from nohup or a sanitizer's
/// handler, are put back: to ask for each action first would take twice as many calls. Signals wait
/// meanwhile.
void handle_signals() {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond RLIMIT_FSIZE then fails with EFBIG
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, &action.sa_mask, &blocked);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction before {};
    if (ends_process(signal) && ::sigaction(signal, &action, &before) == 0 && before.sa_handler != SIG_DFL)
      ::sigaction(signal, &before, nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

/// The terminate handler. The C++ runtime calls it if there is no memory even for an exception, oneTBB if it
/// cannot get memory or a thread in the middle of the work.
[[noreturn]] void end_out_of_resources() {
  constexpr std::string_view kLine = "clipper: out of memory or threads\n";
  become_the_last();
  // write(), because a waiting thread may hold the lock of stdio.
  if (::write(STDERR_FILENO, kLine.data(), kLine.size()) < 0) ::_exit(static_cast<int>(ErrorKind::io));
  ::_exit(static_cast<int>(ErrorKind::io));
}

/// Runs before all constructors of the program.
[[gnu::constructor(101)]] void handle_out_of_resources() {
  std::set_terminate(end_out_of_resources);
}

/// Opens /dev/null in place of each closed standard stream. Otherwise the next opened file would get the
/// stream's descriptor, and messages would be written into the file.
void reserve_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      return;
}

int run(int argc, char** argv) {
  try {
    reserve_standard_streams();
    handle_signals();
    Pool::own_process();
    if (const char* const directory = std::getenv("TMPDIR"); directory != nullptr && *directory != '\0')
      set_temporary_directory(directory);
    return run_command(argc, argv);
  } catch (...) {
    const Failure failure = explained(std::current_exception());
    try {
      std::fputs(line_of(failure).c_str(), stderr);
    } catch (const std::bad_alloc&) {
      std::fputs("clipper: out of memory\n", stderr);
    }
    return static_cast<int>(failure.kind);
  }
}

}  // namespace
}  // namespace clipper

int main(int argc, char** argv) {
  return clipper::run(argc, argv);
}
