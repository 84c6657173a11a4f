#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

/// How a signal ends the program. While a file gets its name and is reported, signals wait: afterwards, work
/// that is left is given up, and the program ends by the signal. If none is left, SIGTERM and SIGHUP are
/// forgotten, and any other signal ends the program after its last line. What is in place is always said: by
/// exit status 0 or 6, by a line of --json, or by a line on standard error.
namespace clipper {

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
