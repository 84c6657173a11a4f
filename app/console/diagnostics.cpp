#include "console/diagnostics.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <span>

#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "element/tensor_layout.hpp"
#include "files/descriptor.hpp"
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
      : path_(path), file_(retry_interrupted([&] {
          return os::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        })) {
    if (file_.get() < 0) throw_system_error(path, "cannot be opened");
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
    return put == static_cast<ssize_t>(line.size());
  }

  const std::string path_;
  const Descriptor file_;
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

}  // namespace clipper
