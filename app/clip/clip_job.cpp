#include "clip/clip_job.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "error.hpp"
#include "files/place.hpp"

namespace clipper {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool is_stream(const std::string& path) {
  struct stat status {};
  return path == "-" || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

OutputFile::Existing existing_for(const Command& command, const Job& job) {
  const bool must_be_new = job.output_is_new && command.existing == OutputFile::Existing::replace;
  return must_be_new ? OutputFile::Existing::must_be_new : command.existing;
}

/// Clips one file and reports the result. For a file in place, the batch of replacements owns the job until
/// the batch is committed.
class ClipJob : public ClipObserver, public std::enable_shared_from_this<ClipJob> {
 public:
  ClipJob(const ClipRun& run, const Job& job) : run_(run), report_(run.log.report_of(job)) {
    report_.shard = run.way.shard;
  }

  void clip() {
    try {
      Job& job = report_.job;
      if (job.output && is_in_place(job.input, *job.output, existing())) job.output.reset();
      if ((run_.command.share || run_.way.shard) && !job.output)
        throw Error(
            ErrorKind::usage,
            fmt::format("{}: IN is OUT; with --shard, a second run would scale the data twice", job.input));
      if (run_.command.dry_run)
        try_out();
      else
        write();
    } catch (...) {
      run_.log.failed(std::move(report_), std::current_exception());
    }
    run_.log.stop_after_failure();
  }

 private:
  void write();
  void try_out();

  void opened(const InputFile& input) override;
  void sized(std::uint64_t bytes) override { run_.log.sized(bytes); }
  void planned(const ClipResult& result) override {
    run_.log.planned(result.member ? report_of(result) : report_);
  }
  void warn(const std::string& line) override { run_.log.warn(line); }
  void member(const ClipResult& result) override;
  void complete(const ClipResult& result) override;

  /// The report about a member.
  [[nodiscard]] ClipReport report_of(const ClipResult& result) const {
    ClipReport report = report_;
    static_cast<ClipResult&>(report) = result;
    return report;
  }

  [[nodiscard]] OutputFile::Existing existing() const { return existing_for(run_.command, report_.job); }
  [[nodiscard]] Clipping clipping() { return {run_.settings, run_.engine, *this}; }

  ClipRun run_;
  ClipReport report_;
  RunLog::Lines lines_;
  ActionCounts members_{};  ///< finished so far
  std::optional<ElementCounts> member_counts_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point member_start_ = start_;
};

/// A file that --recursive found is still below the directory that was given, unless the file itself is a
/// link: other programs may have moved its directory, or replaced the directory by a link, since the walk.
void ClipJob::opened(const InputFile& input) {
  if (!report_.job.is_walked) return;
  const Place named = Place::of(report_.job.input);
  const auto status = named.status();
  const bool is_link = status && S_ISLNK(status->st_mode);
  if (!(is_link ? named : input.place()).is_below(run_.jobs.root_ids()))
    refuse(
        input.path(),
        "refused to avoid data loss: is no longer below the input directory, because another program moved "
        "its directory or replaced it by a link; try again");
}

void ClipJob::member(const ClipResult& result) {
  ++members_.at(static_cast<std::size_t>(result.action));
  if (result.counts) {
    if (!member_counts_) member_counts_.emplace();
    *member_counts_ += *result.counts;
  }
  ClipReport report = report_of(result);
  report.seconds = seconds(Clock::now() - std::exchange(member_start_, Clock::now()));
  run_.log.add_member(report, lines_);
}

void ClipJob::complete(const ClipResult& result) {
  report_.seconds = seconds(Clock::now() - start_);
  if (!result.plan && !result.resumed) {
    report_.members = members_;
    report_.counts = member_counts_;
    const bool has_dropped = members_.at(static_cast<std::size_t>(MemberAction::dropped)) != 0;
    if (report_.counts && has_dropped) report_.counts->changed = true;
  }
  run_.log.add(report_, lines_);
}

void ClipJob::write() {
  const Job& job = report_.job;
  if (!job.output && run_.way.rewriting == Rewriting::with_second_file) {
    const auto done = [self = shared_from_this()](std::exception_ptr failure) {
      if (failure)
        self->run_.log.failed(self->report_, std::move(failure));
      else
        self->run_.log.done(self->lines_);
    };
    replace_file(clipping(), job.input, run_.replacements, done, report_);
    if (lines_.text.is_large() || lines_.json.is_large()) run_.replacements.commit();  // frees the lines
    return;
  }
  report_.is_part = run_.way.waits;
  if (job.output)
    run_.way.write(clipping(), job, existing(), report_);
  else
    rewrite_file(clipping(), job.input, report_);
  run_.log.done(lines_);
}

void ClipJob::try_out() {
  const Job& job = report_.job;
  Clipping clipping = this->clipping();
  if (run_.way.narrow) clipping.narrow = run_.way.narrow(job, existing());
  if (job.output)
    try_to_file(clipping, job.input, *job.output, existing(), run_.way.makes_directories, report_);
  else
    try_in_place(clipping, job.input, run_.way.rewriting, report_);
  run_.log.done(lines_);
}

}  // namespace

ClipSettings settings_of(const Command& command) {
  return {.request = command.request,
          .dtype = command.dtype,
          .ignore_trailing = command.ignore_trailing,
          .durability = command.durability,
          .counting = command.verbose || command.json,
          .max_clipped = command.max_clipped,
          .members = command.members};
}

void clip_job(const ClipRun& run, const Job& job) {
  std::make_shared<ClipJob>(run, job)->clip();
}

std::uint64_t check_job(const ClipRun& run, const Job& job) {
  if (!job.output) return check_in_place(run.settings, job.input, run.way.rewriting);
  if (!job.regular_file && is_stream(job.input)) return check_stream(run.settings);
  return check_to_file(run.settings, job.input, *job.output, existing_for(run.command, job),
                       run.way.makes_directories);
}

}  // namespace clipper
