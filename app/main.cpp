#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <tuple>

#include "command_line/command_spec.hpp"
#include "console/diagnostics.hpp"
#include "error.hpp"
#include "files/replacement.hpp"
#include "os/os.hpp"
#include "parallel/pool.hpp"

namespace clipper {
namespace {

constexpr std::size_t kLastLine = 512;  // bytes of what in_place_text() says

/// The terminate handler. The C++ runtime calls it if there is no memory even for an exception, oneTBB if it
/// cannot get memory or a thread in the middle of the work.
[[noreturn]] void end_out_of_resources() {
  constexpr std::string_view kLine = "clipper: out of memory or threads\n";
  become_the_last();
  // write(), because a waiting thread may hold the lock of stdio.
  std::array<char, kLastLine> memory{};
  const std::string_view in_place = in_place_text(memory);
  if (os::write(STDERR_FILENO, kLine.data(), kLine.size()) >= 0 && !in_place.empty())
    TextWriter(STDERR_FILENO).write({"clipper: ", in_place, "\n"});
  os::_exit(static_cast<int>(ErrorKind::io));
}

/// Runs before all constructors of the program.
[[gnu::constructor(101)]] void handle_out_of_resources() {
  std::set_terminate(end_out_of_resources);
}

/// Opens /dev/null in place of each closed standard stream. Otherwise the next opened file would get the
/// stream's descriptor, and messages would be written into the file.
void reserve_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (os::fcntl(fd, F_GETFD) == -1 && os::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      return;
}

/// The kernel ends a process whose stack is full by SIGSEGV. An exception would need more than the smallest
/// stack.
bool has_stack() {
  constexpr std::uint64_t kMin = 256UL * 1024;
  constexpr std::string_view kLine = "clipper: the stack is too small (ulimit -s); clipper needs 256 KiB\n";
  if (os::limit_of(os::Limit::stack).value_or(kMin) >= kMin) return true;
  std::ignore = os::write(STDERR_FILENO, kLine.data(), kLine.size());
  return false;
}

int run(int argc, char** argv) {
  try {
    reserve_standard_streams();
    handle_signals();
    Pool::own_process();
    if (const char* const directory = std::getenv("TMPDIR"); directory != nullptr && *directory != '\0')
      set_temporary_directory(os::with_slashes(directory));
    return run_command(argc, argv);
  } catch (...) {
    const Failure failure = explained(std::current_exception());
    try {
      print_error(failure);
      std::array<char, kLastLine> memory{};
      if (const std::string_view text = in_place_text(memory); !text.empty()) print_note(text, Level::error);
    } catch (const std::bad_alloc&) {
      TextWriter(STDERR_FILENO).write({"clipper: out of memory\n"});
    }
    return static_cast<int>(failure.kind);
  }
}

}  // namespace
}  // namespace clipper

int main(int argc, char** argv) {
  clipper::os::begin(argc, argv);
  if (!clipper::has_stack()) return static_cast<int>(clipper::ErrorKind::io);
  const int status = clipper::run(argc, argv);
  clipper::end_by_waiting_signal();
  return status;
}
