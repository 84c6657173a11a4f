#include "clip/clip_job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "clip/slabs.hpp"
#include "error.hpp"
#include "shards/clip_shard.hpp"

namespace clipper {
namespace {

OutputFile::Existing existing_for(const Command& command, const Job& job) {
  const bool must_be_new = job.output_is_new && command.existing == OutputFile::Existing::replace;
  return must_be_new ? OutputFile::Existing::must_be_new : command.existing;
}

Rewriting rewriting_of(const Command& command) {
  return command.direct ? Rewriting::direct : Rewriting::with_second_file;
}

/// One file on its way, and what is said of it.
class ClipJob : public ClipObserver, public std::enable_shared_from_this<ClipJob> {
 public:
  ClipJob(const ClipRun& run, const Job& job) : run_(run), report_(run.log.report_of(job)) {
    if (is_shard()) report_.shard = run_.command.shard;
  }

  void clip() {
    try {
      Job& job = report_.job;
      if (job.output && is_in_place(job.input, *job.output, existing())) job.output.reset();
      if (run_.command.shard && !job.output)
        throw Error(ErrorKind::usage,
                    fmt::format("{}: IN is OUT; a shard that runs again would scale twice", job.input));
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

  void planned(const ClipResult& /*result*/) override { run_.log.planned(report_); }
  void warn(const std::string& line) override { run_.log.warn(line); }
  void complete(const ClipResult& /*result*/) override {
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    lines_ = run_.log.lines(report_);
  }

  [[nodiscard]] bool is_shard() const { return run_.command.shard && run_.command.output; }
  [[nodiscard]] OutputFile::Existing existing() const { return existing_for(run_.command, report_.job); }
  [[nodiscard]] ShardJob shard_job() const {
    return {report_.job.input, *run_.command.output, *run_.command.shard, existing()};
  }
  [[nodiscard]] Clipping clipping() { return {run_.settings, run_.engine, *this}; }

  ClipRun run_;
  ClipReport report_;
  RunLog::Lines lines_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void ClipJob::write() {
  const Job& job = report_.job;
  if (!job.output && !run_.command.direct) {
    const auto done = [self = shared_from_this()](std::exception_ptr failure) {
      if (failure)
        self->run_.log.failed(self->report_, std::move(failure));
      else
        self->run_.log.done(self->lines_);
    };
    return replace_file(clipping(), job.input, run_.replacements, done, report_);
  }
  if (!job.output) {
    rewrite_file(clipping(), job.input, report_);
  } else if (!is_shard()) {
    clip_to_file(clipping(), job.input, *job.output, existing(), report_);
  } else if (run_.command.split_output) {
    const auto index_text = [&](const npy::Header& whole) {
      return slab_index_text(whole, *run_.command.output, run_.command.shard->count);
    };
    clip_slab(clipping(), shard_job(), index_text, report_);
  } else {
    report_.is_part = true;
    clip_shard(clipping(), shard_job(), report_);
  }
  run_.log.done(lines_);
}

void ClipJob::try_out() {
  const Job& job = report_.job;
  Clipping clipping = this->clipping();
  if (is_shard())
    clipping.narrow = run_.command.split_output ? narrow_to_slab(shard_job()) : narrow_to_part(shard_job());
  if (job.output)
    try_to_file(clipping, job.input, *job.output, existing(), run_.command.makes_directories(), report_);
  else
    try_in_place(clipping, job.input, rewriting_of(run_.command), report_);
  run_.log.done(lines_);
}

}  // namespace

ClipSettings settings_of(const Command& command) {
  return {.request = command.request,
          .dtype = command.dtype,
          .ignore_trailing = command.ignore_trailing,
          .durability = command.durability,
          .counting = command.verbose || command.json,
          .max_clipped = command.max_clipped};
}

void clip_job(const ClipRun& run, const Job& job) {
  std::make_shared<ClipJob>(run, job)->clip();
}

std::uint64_t check_job(const ClipRun& run, const Job& job) {
  if (!job.output) return check_in_place(run.settings, job.input, rewriting_of(run.command));
  return check_to_file(run.settings, job.input, *job.output, existing_for(run.command, job),
                       run.command.makes_directories());
}

}  // namespace clipper
