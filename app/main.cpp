#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "cli.hpp"
#include "clip_command.hpp"
#include "error.hpp"
#include "info_command.hpp"
#include "printable.hpp"
#include "profiles_command.hpp"
#include "temporaries.hpp"

namespace clipper {
namespace {

extern "C" void end_by_signal(int signal) {
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;  // nohup
    action.sa_handler = end_by_signal;
    action.sa_flags = SA_RESTART | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit then fails, and that is handled
}

/// The runtime library gives up like this when there is no memory even for an exception, and oneTBB when it
/// cannot get memory or a thread in the middle of the work.
[[noreturn]] void end_for_want_of_resources() {
  remove_temporaries();
  std::fputs("clipper: out of memory or threads\n", stderr);
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

int failed(ErrorKind kind, std::string_view message) {
  std::fputs(fmt::format("clipper: {}\n", printable(message)).c_str(), stderr);
  return static_cast<int>(kind);
}

int run(int argc, char** argv) {
  try {
    reserve_standard_streams();
    handle_signals();
    if (argc > 1 && argv[1] == std::string_view("profiles")) {
      list_profiles(argc - 1, argv + 1);
    } else if (argc > 1 && argv[1] == std::string_view("info")) {
      return show_info(argc - 1, argv + 1);
    } else if (const std::optional<Command> command = parse_command_line(argc, argv)) {
      clip_files(*command);
    }
    return 0;
  } catch (const Error& error) {
    return failed(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ErrorKind::io, "out of memory");
  } catch (const std::exception& error) {
    return failed(ErrorKind::io, error.what());
  }
}

}  // namespace
}  // namespace clipper

int main(int argc, char** argv) {
  return clipper::run(argc, argv);
}
