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

#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "contract/fields.hpp"
#include "files/descriptor.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// The program's words for a term of the library: a flag, or advice that names a flag. A member of a request
/// becomes its option (contract/fields.hpp).
struct Wording {
  std::string_view field;
  std::string_view library;
  std::string_view program;
};

constexpr Wording kWordings[] = {
    {"nan", "nan=0", "--nan 0"},
    {"to", "another dtype", "--to"},
    {"min_above_max", "", "; to allow this, add --min-above-max max (as numpy) or min"},
    {"dtype", "if it is, say so", "if it is, add --dtype bfloat16"},
    {"dtype", "if it is, say which one", "if it is, add --dtype and this name"},
    {"dtype", "the request says", "--dtype says"},
    {"convert", "", "; clipper --to converts tensors"},
    {"percentile", "",
     "; first run clipper info --percentile 1,99 IN (for 1% and 99%), then use the numbers it prints as "
     "bounds"},
    {"statistic", "",
     "; first clip with --to float64 and run clipper info --stats, then use the number it prints"},
    {"divide_zero", "", "; --divide-zero keep leaves such elements undivided"},
    {"member", "a choice of members", "--member"},
    {"member", " and choose the member", " --member"},
    {"exclude_member", "an exclusion of members", "--exclude-member"},
    {"only", "only=", "--only "},
    {"only", "only", "--only"},
    {"unclipped", "the choice of members forbids", "--unclipped error forbids"},
    {"shard", "a shard", "--shard"},
    {"temporary_directory", "name another directory", "set TMPDIR to another directory"},
    {"pattern", "", "; without quotes the shell expands it"},
    {"trailing", "", "; to allow this, set --trailing ignore"},
    {"raw", "raw", "--raw"},
    {"raw", "", "; --raw DTYPE:SHAPE reads files without a header"},
    {"to_raw", "to_raw", "--to-raw"},
    {"to_raw", ", which to_raw writes", ", which --to-raw writes"},
    {"gzip", "; compress the result", "; compress what goes to standard output: clipper ... - | gzip >OUT"},
    {"zstd", "; compress the result", "; compress what goes to standard output: clipper ... - | zstd >OUT"},
    {"input", "the input", "IN"},
    {"input", "input", "IN"},
    {"input", "", " | clipper ... - OUT"},
    {"output", "the output", "OUT"},
    {"output", "output", "OUT"},
    {"max_clipped", "a limit", "--fail-if-clipped"},
    {"fit", "fit", "--fit"},
    {"then", "then", "--then"},
    {"value", "value", "--value"},
    {"bytes", "a comparison of bytes", "--bytes"},
    {"diff_out", "the difference file", "--diff-out"},
    {"split_output", "a slab", "--split-output"},
    {"in_place", "a change in place", "--in-place"},
    {"in_place", "change the archive", "use --in-place"},
    {"direct", "a direct change", "--in-place --direct"},
    {"direct", "another direct change", "another --in-place --direct"},
    {"direct", "change", "command"},
    {"direct", "changing a file directly", "--direct"},
    {"direct", "replace the file", "leave --direct out"},
    {"existing", "", " (--no-clobber or --flat)"},
    {"existing", "replacing no file", "--no-clobber"},
    {"existing", " that replace nothing", " with -n"},
    {"backup", "keeping the old file", "--backup"},
    {"finalize", "another process", "another clipper --finalize"},
    {"finalize", "a shard or the process that joins them", "a shard or --finalize"},
    {"finalize", "join them", "clipper --finalize"},
    {"finalize", "join them again", "clipper --finalize again"},
};

std::string_view program_words(const Term& term) {
  const auto* const row = std::ranges::find_if(
      kWordings, [&](const Wording& w) { return w.field == term.field && w.library == term.words; });
  if (row != std::end(kWordings)) return row->program;
  const Field* const field = term.words == term.field ? field_named(term.field) : nullptr;
  return field != nullptr ? field->option : term.words;
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
