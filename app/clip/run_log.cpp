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
  for (const std::string& line : notes_on(*report.plan, report.name)) note(line);
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
  lines.reasons = report.reasons;
  if (report.action != MemberAction::clipped) {
    lines.became = what_became(report);
    lines.reasons = {report.reason};
  } else if (!report.reasons.empty()) {
    lines.members = report.others;
    lines.closing = escape_for_terminal(as_text(report));
  }
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
  tally(lines);
  count(false, lines.written, lines.in_place);
  lines.text.for_each([&](std::string_view line) { logger_->info(line); });
  print_json(lines);
}

/// A lack of memory here must not turn a file that is in place into a failure.
void RunLog::tally(const Lines& lines) try {
  if (lines.reasons.empty()) return;
  const std::lock_guard lock(mutex_);
  Others& others = lines.became.empty() ? members_ : others_[lines.became];
  others.count += lines.became.empty() ? lines.members : 1;
  others.reasons.insert(lines.reasons.begin(), lines.reasons.end());
  closing_ = lines.closing;
} catch (const std::bad_alloc&) {
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

/// ", 2 copied (bool), 1 failed; 12 members not converted (int64)".
std::string RunLog::others_text() const {
  std::string text;
  for (const auto& [became, others] : others_)
    text += fmt::format(", {} {} {}", others.count, became, text_of(others.reasons));
  if (files_failed_ != 0) text += fmt::format(", {} failed", files_failed_.load());
  const bool are_dropped = command_.settings.selection.other == Selection::Other::drop;
  if (members_.count != 0)
    text += fmt::format("; {} member{} {} {}", members_.count, members_.count == 1 ? "" : "s",
                        are_dropped ? "dropped" : "not converted", text_of(members_.reasons));
  return text;
}

void RunLog::announce_summary() const {
  const Finishing finishing;
  if (command_.json) set_summary(::fileno(json_stream()));
}

void RunLog::print_summary(bool is_batch) {
  if (!is_batch) {
    const bool is_printed = is_verbose(command_) || command_.quiet || command_.json;
    if (!closing_.empty() && !is_printed) progress_.print(stderr, fmt::format("clipper: {}\n", closing_));
    return;
  }
  const std::size_t failed = files_failed_;
  const std::size_t ok = files_done_ - failed;
  std::uint64_t others = 0;
  for (const auto& [became, files] : others_) others += files.count;
  if (command_.json) {
    const Json json{{"version", kJsonVersion}, {"summary", true}, {"status", status_},
                    {"files", ok + failed},    {"ok", ok},        {"failed", failed},
                    {"other", others}};
    const std::string line = json.dump() + "\n";
    const Finishing finishing;
    set_summary(-1);
    if (!progress_.print(json_stream(), line)) json_lost_ = errno;
  } else if (command_.verbose ||
             ((others + members_.count != 0 || (failed != 0 && ok + failed > 1)) && !command_.quiet)) {
    progress_.print(stderr, fmt::format("clipper: {} file{}: {} clipped{}\n", ok + failed,
                                        ok + failed == 1 ? "" : "s", ok - others, others_text()));
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
