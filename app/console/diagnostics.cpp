#include "console/diagnostics.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>

#include "console/json.hpp"
#include "console/terminal.hpp"
#include "element/tensor_layout.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

struct Wording {
  std::string_view field;
  std::string_view words;
};

/// What is not called "--" and its name.
constexpr Wording kNames[] = {
    {"input", "IN"},
    {"output", "OUT"},
    {"max_clipped", "--fail-if-clipped"},
    {"existing", "--no-clobber"},
    {"direct", "--in-place --direct"},
};

constexpr Wording kAdvice[] = {
    {"min_above_max", "; to allow this, add --min-above-max max (as numpy) or min"},
    {"convert", "; clipper --to converts tensors"},
    {"percentile",
     "; first run clipper info --percentile 1,99 IN (for 1% and 99%), then use the numbers it prints as "
     "bounds"},
    {"statistic",
     "; first clip with --to float64 and run clipper info --stats, then use the number it prints"},
    {"divide_zero", "; --divide-zero keep leaves such elements undivided"},
    {"temporary_directory", "set TMPDIR to another directory"},
    {"pattern", "; without quotes the shell expands it"},
    {"trailing", "; to allow this, set --trailing ignore"},
    {"raw", "; --raw DTYPE:SHAPE reads files without a header"},
    {"to_raw", ", which --to-raw writes"},
    {"gzip", "; compress what goes to standard output: clipper ... - | gzip >OUT"},
    {"zstd", "; compress what goes to standard output: clipper ... - | zstd >OUT"},
    {"input", " | clipper ... - OUT"},
    {"existing", " (--no-clobber or --flat)"},
    {"in_place", "use --in-place"},
    {"direct", "command"},
    {"not_direct", "leave --direct out"},
    {"finalize", "clipper --finalize"},
};

/// The program's words for a term of the library.
std::string program_words(const Term& term) {
  if (term.field.empty() || term.field == kTypeField) return std::string(term.words);
  const bool is_advice = term.says == Says::advice;
  const auto rows = is_advice ? std::span<const Wording>(kAdvice) : std::span<const Wording>(kNames);
  const auto row = std::ranges::find(rows, term.field, &Wording::field);
  if (row != rows.end()) return std::string(row->words);
  std::string option = "--" + std::string(term.field) + (term.says == Says::setting ? " " : "");
  std::ranges::replace(option, '_', '-');
  return option;
}

constexpr std::string_view kName = "clipper: ";

/// A note that is printed also where only errors are.
constexpr auto kNoteOfError = spdlog::level::critical;

/// Begins each line with the program's name, and ends it. Notes need no memory for that.
class StandardError : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (message.level == spdlog::level::err)
      print_above_progress(stderr, {paint_for(STDERR_FILENO)(Ink::error, "clipper:"), " ", text, "\n"});
    else if (message.level == spdlog::level::warn)
      print_above_progress(stderr,
                           {kName, paint_for(STDERR_FILENO)(Ink::warning, "warning:"), " ", text, "\n"});
    else
      print_above_progress(stderr, {kName, text, "\n"});
  }
  void flush_() override {}
};

/// spdlog's sinks for files write by stdio, which divides long lines.
class LogFile : public spdlog::sinks::sink {
 public:
  explicit LogFile(const std::string& path)
      : path_(path), file_(open_file(path, kFlags | O_EXCL, 0666)), is_new_(file_.get() >= 0) {
    if (!is_new_) file_ = open_file(path, kFlags, 0666);
    if (file_.get() < 0) throw_system_error(path, "cannot be opened");
  }

  /// Removes the file if this process made it and no other one has written to it.
  void remove_new() const {
    os::Status status{};
    if (is_new_ && os::fstat(file_.get(), &status) == 0 && status.st_size == size_)
      std::ignore = remove_name(AT_FDCWD, path_.c_str(), id_of(status));
  }

  void log(const spdlog::details::log_msg& message) override {
    {
      const std::lock_guard lock(mutex_);
      if (has_failed_ || write(message)) return;
      has_failed_ = true;
    }
    print_warning(
        fmt::format("{}: cannot be written: {}; messages are missing in it", path_, os::error_text(errno)));
  }
  void flush() override {}
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}

 private:
  bool write(spdlog::details::log_msg message) {
    if (message.level == kNoteOfError) message.level = spdlog::level::info;
    spdlog::memory_buf_t line;
    formatter_.format(message, line);
    const ssize_t put = retry_interrupted([&] { return os::write(file_.get(), line.data(), line.size()); });
    if (put >= 0) errno = ENOSPC;
    if (put > 0) size_ += put;
    return put == static_cast<ssize_t>(line.size());
  }

  static constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND;
  const std::string path_;
  Descriptor file_;
  const bool is_new_;
  off_t size_ = 0;  ///< of what this process has written
  std::mutex mutex_;
  bool has_failed_ = false;
  spdlog::pattern_formatter formatter_{"%Y-%m-%dT%H:%M:%S.%e%z %P %l %v", spdlog::pattern_time_type::local,
                                       "\n"};
};

constexpr std::array kLevels{spdlog::level::err, spdlog::level::warn, spdlog::level::info,
                             spdlog::level::debug, spdlog::level::trace};

spdlog::level::level_enum level_of(Level level) {
  return kLevels.at(static_cast<std::size_t>(level));
}

std::string& path_of_log() {
  static std::string path;
  return path;
}

spdlog::logger& logger() {
  static spdlog::logger logger = [] {
    auto standard_error = std::make_shared<StandardError>();
    standard_error->set_level(spdlog::level::info);
    spdlog::logger made("clipper", std::move(standard_error));
    made.set_level(spdlog::level::trace);
    return made;
  }();
  return logger;
}

void print_line(spdlog::level::level_enum level, std::string_view text) {
  logger().log(level, spdlog::string_view_t(text.data(), text.size()));
}

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

std::string with_options(const Message& message) {
  return message.text_with(program_words);
}

Failure explained(const std::exception_ptr& exception) noexcept {
  Failure failure{ErrorKind::io, "out of memory"};  // short enough for a string that allocates nothing
  try {
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      failure.kind = error.kind();
      failure.message = with_options(error.message());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      failure.message = error.what();
    }
  } catch (const std::bad_alloc&) {  // of the work, or of the message
  }
  return failure;
}

void set_log_level(Level level) {
  logger().sinks().front()->set_level(level_of(level));
}

void open_log(const std::string& path, Level level) {
  auto file = std::make_shared<LogFile>(path);
  file->set_level(level_of(level));
  logger().sinks().push_back(std::move(file));
  path_of_log() = path;
}

void take_log_back() {
  if (log_path().empty()) return;
  static_cast<const LogFile&>(*logger().sinks().back()).remove_new();
  logger().sinks().resize(1);
  path_of_log().clear();
}

const std::string& log_path() {
  return path_of_log();
}

void print_error(const Failure& failure) {
  print_line(spdlog::level::err, escape_for_terminal(failure.message));
}

void print_warning(std::string_view message) {
  print_line(spdlog::level::warn, escape_for_terminal(message));
}

void print_note(std::string_view line, Level level) noexcept try {
  print_line(level == Level::error ? kNoteOfError : level_of(level), line);
} catch (const std::bad_alloc&) {
  print_above_progress(stderr, {kName, line, "\n"});
}

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
