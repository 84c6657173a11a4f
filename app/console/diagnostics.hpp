#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "error.hpp"

/// The lines for people: errors, warnings, and what -v tells. One spdlog logger gives them to standard error,
/// where they take the place of the progress line, and to the file of --log-file.
namespace clipper {

/// How much a message matters, in the order of kLogLevel's words after the default.
enum class Level : std::uint8_t { error, warning, info, debug, trace };

/// The levels that --quiet, -v, --log-level and --log-file ask for.
struct LogLevels {
  Level shown = Level::info;  ///< on standard error
  Level kept = Level::info;   ///< in the file

  /// Whether anything shows or keeps messages of this level.
  [[nodiscard]] bool want(Level level) const { return level <= std::max(shown, kept); }
};

/// The message for an exception, and the exit status.
struct Failure {
  ErrorKind kind;
  std::string message;  ///< one line
};

/// A failure that was printed as JSON, but not yet as a line on standard error.
class Reported : public Error {
 public:
  explicit Reported(const Failure& failure) : Error(failure.kind, failure.message) {}
};

/// The message with the names of options in place of those of parameters.
[[nodiscard]] std::string with_options(const Message& message);

/// The message and exit status for any exception. The message is "out of memory" if there is none for it.
[[nodiscard]] Failure explained(const std::exception_ptr& exception) noexcept;

/// Prints "clipper: message", with control characters escaped.
void print_error(const Failure& failure);

/// Prints "clipper: warning: message", with control characters escaped.
void print_warning(std::string_view message);

/// Prints "clipper: line". The line's control characters must be escaped already: this needs no memory, so
/// that what is done can be told.
void print_note(std::string_view line, Level level = Level::info) noexcept;

/// Standard error gets messages of this level and of those that matter more; until this is called, info.
void set_log_level(Level level);

/// A file gets messages, too: each line by one write() at its end, so that lines of several processes stay
/// whole. If that fails, one warning says so. Error{io} if the file cannot be opened.
void open_log(const std::string& path, Level level);
void take_log_back();  ///< closes it, and removes it if this process made it and no other one wrote to it
[[nodiscard]] const std::string& log_path();  ///< "" if no log is open

// How a signal ends the program. While a file gets its name and is reported, signals wait: afterwards, work
// that is left is given up, and the program ends by the signal. If none is left, SIGTERM and SIGHUP are
// forgotten, and any other signal ends the program after its last line. What is in place is always said: by
// exit status 0 or 6, by a line of --json, or by a line on standard error.

/// Handles all signals that would end the process, except those that are ignored.
void handle_signals();

/// Lets only the first thread that calls it end the process, and removes unfinished files. Never returns in
/// any other thread.
void become_the_last();

/// Signals wait from the construction of the thread's first Finishing to the end of its first one. Faults of
/// the program do not.
class Finishing {
 public:
  /// Right before the last look at a file that gets its name. Never returns if a signal waits already.
  Finishing() noexcept;
  Finishing(const Finishing&) = delete;
  Finishing& operator=(const Finishing&) = delete;
  ~Finishing();  ///< after the report
};

/// What a run has done, for what is printed if a signal ends it. The functions are called during a Finishing.
void expect_files(std::size_t files) noexcept;  ///< how many there are in all; 1 if never called
void count_done(bool failed) noexcept;

/// A result is in place: `name`, with control characters escaped, is printed if it is the only one.
void count_in_place(std::string_view name) noexcept;

/// What to do after an error that leaves results in place: a text without an end of life.
void set_way_on(std::string_view advice) noexcept;

/// "3 of 11 files are in place", and what to do, after an error that ends a run of several files; empty if
/// nothing is in place. Written to `memory`, because there may be none to get.
[[nodiscard]] std::string_view in_place_text(std::span<char> memory) noexcept;

/// A signal prints the closing count as JSON to this descriptor, or to none (-1).
void set_summary(int fd) noexcept;

/// No work is left: from now on only main() ends the program.
void end_work() noexcept;

/// The last step of main(): ends the program by a signal that has waited, unless that is forgotten.
void end_by_waiting_signal() noexcept;

/// Whether a report was not printed because a signal came, and nobody reads the pipe or terminal.
[[nodiscard]] bool has_given_up() noexcept;

/// Writes texts to a descriptor, 4 KiB at a time. Gives up if a signal waits and the writes would block.
class TextWriter {
 public:
  explicit TextWriter(int fd) noexcept : fd_(fd) {}

  bool add(std::string_view text) noexcept;  ///< false if a write fails: see errno
  bool finish() noexcept;                    ///< writes what is left
  bool write(std::initializer_list<std::string_view> texts) noexcept;

 private:
  int fd_;
  std::size_t size_ = 0;
  std::array<char, 4096> buffer_;
};

}  // namespace clipper
