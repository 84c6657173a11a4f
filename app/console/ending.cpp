#include "console/ending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "console/json.hpp"
#include "console/progress.hpp"
#include "files/replacement.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

std::atomic<int> finishing = 0;  ///< threads that have a Finishing
std::atomic<int> waiting = 0;    ///< the signal that waits
std::atomic<bool> work_left = true;
std::atomic<bool> is_over = false;  ///< main() has ended
std::atomic<bool> given_up = false;
thread_local int depth = 0;  ///< Finishing objects of this thread

/// Changed during a Finishing, read when there is none.
struct Tally {
  std::atomic<std::size_t> files = 1;
  std::atomic<std::size_t> done = 0;
  std::atomic<std::size_t> failed = 0;
  std::atomic<std::size_t> in_place = 0;
  std::atomic<int> summary = -1;
  std::string_view way_on;
  std::array<char, 8192> line{};  ///< names the first result
  std::size_t line_size = 0;
} tally;

/// Whether the signal asks for an end that the program was about to reach. SIGINT is not: a shell ends a loop
/// only if the program ends by it.
constexpr bool is_forgotten(int signal) {
  return signal == SIGTERM || signal == SIGHUP;
}

bool wait_until_writable(int fd) noexcept {
  constexpr int kEach = 100;  // a signal may interrupt another thread's poll()
  for (int wait = 0; !os::is_writable(fd, wait); wait = kEach) {
    if (waiting == 0) continue;
    given_up = true;
    return false;
  }
  return true;
}

/// Writes at most PIPE_BUF bytes at once, for which a writable pipe has room.
bool write_all(int fd, std::string_view text) noexcept {
  constexpr std::size_t kMax = 4096;
  while (!text.empty()) {
    if (!wait_until_writable(fd)) return false;
    const ssize_t put = os::write(fd, text.data(), std::min(kMax, text.size()));
    if (put < 0 && errno != EINTR && errno != EAGAIN) return false;
    text.remove_prefix(put < 0 ? 0 : static_cast<std::size_t>(put));
  }
  return true;
}

/// Prints what is done and in place. Uses neither the heap nor locks, because a handler may call it.
void print_last_words(int signal) noexcept try {
  std::array<char, 512> text{};
  const auto print = [&](int fd, auto format, auto... values) {
    const auto end = fmt::format_to_n(text.begin(), text.size(), format, values...).out;
    if (os::is_writable(fd, 0)) write_all(fd, {text.begin(), end});
  };
  const std::size_t done = tally.done;
  const std::size_t failed = tally.failed;
  if (tally.summary >= 0 && done != 0)
    print(tally.summary,
          FMT_STRING("{{\"object\":\"clip_summary\",\"version\":{},\"status\":{},\"files\":{},\"ok\":{},"
                     "\"failed\":{}}}\n"),
          kJsonVersion, 128 + signal, done, done - failed, failed);
  if (tally.in_place == 0) return;
  if (tally.in_place == 1 && os::is_writable(STDERR_FILENO, 0))
    write_all(STDERR_FILENO, {tally.line.data(), tally.line_size});
  else
    print(STDERR_FILENO, FMT_STRING("clipper: {} of {} files are in place; ended by a signal\n"),
          tally.in_place.load(), std::max(tally.files.load(), done));
} catch (...) {  // fmt's, for a format that it would have refused when this was compiled
}

/// Ends the process as if it did not handle the signal. In another thread than the first that calls this,
/// waits for the end.
void end_by_signal(int signal) noexcept {
  become_the_last();
  end_progress();
  print_last_words(signal);
  os::end_by_signal(signal);
}

/// A reader that has gone comes as SIGPIPE in the middle of a report.
void take_signal(int signal) {
  if (os::is_fault(signal)) return end_by_signal(signal);
  if (is_over && is_forgotten(signal)) return;
  if (signal == SIGPIPE) given_up = true;
  int before = waiting;
  while ((before == 0 || is_forgotten(before)) && !waiting.compare_exchange_weak(before, signal)) {
  }
  if (is_over || (work_left && finishing == 0)) end_by_signal(signal);
}

}  // namespace

void become_the_last() {
  static std::atomic_flag has_begun;
  os::block_signals();  // a fault in this thread then ends the process at once
  if (has_begun.test_and_set())
    for (;;) os::pause();
  remove_temporaries();
}

void handle_signals() {
  os::handle_ending_signals(take_signal);
}

/// The handler stores the signal before it looks for a Finishing: one of the two sees the other.
Finishing::Finishing() noexcept {
  if (depth++ > 0) return;
  ++finishing;
  if (waiting == 0 || !work_left) return;
  if (--finishing == 0) end_by_signal(waiting);
  for (;;) os::pause();  // the last Finishing of the other threads ends the process
}

Finishing::~Finishing() {
  if (--depth == 0 && --finishing == 0 && work_left && waiting != 0) end_by_signal(waiting);
}

void expect_files(std::size_t files) noexcept {
  tally.files = files;
}

void count_done(bool failed) noexcept {
  ++tally.done;
  if (failed) ++tally.failed;
}

void count_in_place(std::string_view name) noexcept try {
  if (tally.in_place++ != 0) return;
  const auto end = fmt::format_to_n(tally.line.begin(), tally.line.size(),
                                    FMT_STRING("clipper: {}: is in place; ended by a signal\n"), name);
  tally.line_size = std::min(end.size, tally.line.size());
} catch (...) {  // as in print_last_words()
}

void set_way_on(std::string_view advice) noexcept {
  tally.way_on = advice;
}

std::string_view in_place_text(std::span<char> memory) noexcept try {
  const std::size_t in_place = tally.in_place;
  const std::size_t files = tally.files;
  if (in_place == 0 || files < 2) return "";
  const auto end = fmt::format_to_n(memory.begin(), memory.size(), FMT_STRING("{} of {} files {} in place{}"),
                                    in_place, files, in_place == 1 ? "is" : "are", tally.way_on);
  return {memory.data(), std::min(end.size, memory.size())};
} catch (...) {  // as in print_last_words()
  return "";
}

void set_summary(int fd) noexcept {
  tally.summary = fd;
}

void end_work() noexcept {
  work_left = false;
}

void end_by_waiting_signal() noexcept {
  is_over = true;
  const int signal = waiting;
  if (signal != 0 && (given_up || !is_forgotten(signal))) end_by_signal(signal);
}

bool has_given_up() noexcept {
  return given_up;
}

bool TextWriter::add(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t part = std::min(text.size(), buffer_.size() - size_);
    std::copy_n(text.begin(), part, buffer_.begin() + size_);
    text.remove_prefix(part);
    size_ += part;
    if (size_ == buffer_.size() && !finish()) return false;
  }
  return true;
}

bool TextWriter::finish() noexcept {
  return write_all(fd_, {buffer_.data(), std::exchange(size_, 0)});
}

bool TextWriter::write(std::initializer_list<std::string_view> texts) noexcept {
  return std::ranges::all_of(texts, [&](std::string_view text) { return add(text); }) && finish();
}

}  // namespace clipper
