#include "clip/run_log.hpp"

#include <fmt/format.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/details/os.h>
#include <spdlog/formatter.h>

// spdlog's formatter of patterns, which nobody calls, takes 4 CPU seconds to compile: only its declaration.
#undef SPDLOG_HEADER_ONLY
#include <spdlog/pattern_formatter.h>
#define SPDLOG_HEADER_ONLY
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "console/ending.hpp"
#include "console/error_line.hpp"
#include "console/json.hpp"
#include "console/terminal.hpp"

namespace clipper {
namespace {

/// Writes to standard error without mixing with the progress line. Only the lines of -v are logged with
/// spdlog. Errors and warnings are not: if there is no memory, spdlog would print a line of its own instead.
class ProgressSink : public spdlog::sinks::sink {
 public:
  explicit ProgressSink(Progress& progress) : progress_(progress) {}

  void log(const spdlog::details::log_msg& message) override {
    progress_.print(stderr, fmt::format("clipper: {}\n", message.payload));
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  Progress& progress_;
};

/// --dry-run implies -v: the lines are its only result.
bool is_verbose(const Command& command) {
  return command.verbose || (command.dry_run && !command.quiet && !command.json);
}

std::string name_in_place(const ClipReport& report) {
  const std::string name = escape_for_terminal(report.job.output.value_or(report.job.input));
  if (!report.is_part) return name;
  return fmt::format("{}: shard {}/{}", name, report.shard->index, report.shard->count);
}

/// Whether the members have lines of JSON, so that the archive itself needs none.
bool has_members(const ClipReport& report) {
  return report.members && *report.members != ActionCounts{};
}

}  // namespace

RunLog::RunLog(const Command& command, const Engine& engine, Scope scope)
    : command_(command), engine_(engine), scope_(scope), progress_(command.progress, [this] {
        return Extent{engine_.done(), bytes_, files_done_, files_};
      }) {
  if (is_verbose(command))
    logger_ = std::make_unique<spdlog::logger>("clipper", std::make_shared<ProgressSink>(progress_));
}

RunLog::~RunLog() = default;

void RunLog::expect(std::size_t files, std::uint64_t bytes) {
  files_ = files_done_ + files;
  bytes_ = bytes;
  is_expected_ = true;
  if (scope_ == Scope::run) expect_files(files_);
}

ClipReport RunLog::report_of(const Job& job) const {
  ClipReport report;
  report.job = job;
  report.profile = command_.settings.request.profile->name;
  report.trial = command_.dry_run;
  return report;
}

void RunLog::warn(const std::string& line) {
  if (!command_.quiet) progress_.print(stderr, warning_line(line));
}

void RunLog::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (notes_.insert(line).second) warn(line);
}

void RunLog::sized(std::uint64_t bytes) noexcept {
  std::uint64_t unknown = 0;
  bytes_.compare_exchange_strong(unknown, bytes);
}

void RunLog::planned(const ClipReport& report) {
  sized(report.plan->input_size());
  for (const std::string& line : notes_on(*report.plan)) note(line);
  if (!command_.verbose) return;
  logger_->info(fmt::format("{}: {}, profile {}", escape_for_terminal(report.name), describe(*report.plan),
                            report.profile));
  if (report.member) return;
  const unsigned threads = engine_.threads();
  logger_->info(fmt::format("{} thread{}, {} KiB chunks, SIMD level {}", threads, threads == 1 ? "" : "s",
                            engine_.chunk_size() / 1024, to_string(command_.engine.level)));
}

void RunLog::add_member(const ClipReport& member, Lines& lines) const {
  if (is_verbose(command_)) lines.text.add(escape_for_terminal(as_text(member)));
  if (command_.json) lines.json.add(json_rest(member));
}

void RunLog::add(const ClipReport& report, Lines& lines) const {
  lines.written = report.written;
  if (report.written) lines.in_place = name_in_place(report);
  if (is_verbose(command_)) lines.text.add(escape_for_terminal(as_text(report)));
  if (!command_.json) return;
  lines.json.set_start(json_start(report));
  if (!has_members(report)) lines.json.add(json_rest(report));
}

/// Before anything is printed, because a signal may make that impossible.
void RunLog::count(bool failed, bool written, std::string_view in_place) noexcept {
  ++files_done_;
  if (failed) ++files_failed_;
  if (written) written_ = true;
  if (scope_ == Scope::part) return;
  count_done(failed);
  if (!in_place.empty()) count_in_place(in_place);
  if (is_expected_ && files_done_ == files_) end_work();
}

void RunLog::done(const Lines& lines) noexcept {
  const Finishing finishing;
  count(false, lines.written, lines.in_place);
  lines.text.for_each([&](std::string_view line) { logger_->info(line); });
  print_json(lines);
}

void RunLog::failed(ClipReport report, std::exception_ptr why) noexcept {
  const Finishing finishing;
  try {
    const Failure failure = explained(why);
    report.failed = failure;
    report.written = failure.kind == ErrorKind::not_durable;
    report.members.reset();
    count(true, report.written, report.written ? name_in_place(report) : "");
    if (command_.json) {
      Lines lines;
      add(report, lines);
      print_json(lines);
    }
    if (command_.keep_going) {
      progress_.print(stderr, line_of(failure));
      const std::lock_guard lock(mutex_);
      status_ = std::max(status_, static_cast<int>(failure.kind));
      return;
    }
    if (command_.json) why = std::make_exception_ptr(Reported(failure));
  } catch (...) {
    why = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(why);
}

void RunLog::stop_after_failure() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void RunLog::print_json(const Lines& lines) noexcept {
  lines.json.for_each([&](std::initializer_list<std::string_view> texts) {
    if (!progress_.print(json_stream(), texts)) json_lost_ = errno;
  });
}

void RunLog::announce_summary() const {
  const Finishing finishing;
  if (command_.json) set_summary(::fileno(json_stream()));
}

void RunLog::print_summary() {
  const std::size_t failed = files_failed_;
  const std::size_t ok = files_done_ - failed;
  if (command_.json) {
    const Json json{{"version", kJsonVersion}, {"summary", true}, {"status", status_},
                    {"files", ok + failed},    {"ok", ok},        {"failed", failed}};
    const std::string line = json.dump() + "\n";
    const Finishing finishing;
    set_summary(-1);
    if (!progress_.print(json_stream(), line)) json_lost_ = errno;
  } else if (command_.verbose || (failed != 0 && ok + failed > 1 && !command_.quiet)) {
    progress_.print(stderr,
                    fmt::format("clipper: {} file{}: {} ok{}\n", ok + failed, ok + failed == 1 ? "" : "s", ok,
                                failed == 0 ? "" : fmt::format(", {} failed", failed)));
  }
}

int RunLog::status() const {
  // not_durable says that an output was written: a caller that retries in place would scale the data twice.
  if (const int error = json_lost_; error != 0 && !has_given_up())
    throw Error(written_ ? ErrorKind::not_durable : ErrorKind::io,
                fmt::format("standard output: cannot write the lines of --json: {}",
                            std::generic_category().message(error)));
  return status_;
}

}  // namespace clipper
