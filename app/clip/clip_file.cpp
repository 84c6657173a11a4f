#include "clip/clip_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "clip/one_file.hpp"
#include "clip/slabs.hpp"
#include "error.hpp"
#include "files/directory.hpp"
#include "files/journaled_file.hpp"
#include "shards/shard.hpp"
#include "shards/shard_files.hpp"
#include "shards/shard_output.hpp"

namespace clipper {
namespace {

OutputFile::Existing existing_for(const Command& command, const Job& job) {
  const bool must_be_new = job.output_is_new && command.existing == OutputFile::Existing::replace;
  return must_be_new ? OutputFile::Existing::must_be_new : command.existing;
}

/// One file on its way.
class FileClipping {
 public:
  FileClipping(const Clipping& clipping, const Job& job)
      : command_(clipping.command),
        engine_(clipping.engine),
        replacements_(clipping.replacements),
        log_(clipping.log),
        report_(log_.report_of(job)) {
    if (command_.shard && command_.output) report_.shard = command_.shard;
  }

  void clip() {
    try {
      if (is_in_place(report_.job)) {
        expect_one_place(report_.job);
        report_.job.output.reset();
      }
      if (command_.shard && !report_.job.output)
        throw Error(ErrorKind::usage, fmt::format("{}: IN is OUT; a shard that runs again would scale twice",
                                                  report_.job.input));
      if (command_.dry_run)
        dry_run();
      else if (command_.shard && command_.output && !command_.split_output)
        clip_shard(*report_.job.output);
      else if (report_.job.output)
        clip_to(*report_.job.output);
      else if (command_.direct)
        clip_directly();
      else
        clip_in_place();
    } catch (...) {
      log_.failed(std::move(report_), std::current_exception());
    }
    log_.stop_after_failure();
  }

 private:
  void clip_to(const std::string& path);
  void clip_in_place();
  void clip_directly();
  void clip_shard(const std::string& path);
  void dry_run();

  void plan(InputFile& input, std::vector<std::byte>* header = nullptr,
            std::optional<std::byte> version = std::nullopt);
  void cut();
  void check_clip_limit() const;
  [[nodiscard]] RunLog::Lines lines(bool written);

  [[nodiscard]] bool is_in_place(const Job& job) const {
    return job.output && existing() == OutputFile::Existing::replace && is_same_file(job.input, *job.output);
  }
  [[nodiscard]] OutputFile::Existing existing() const { return existing_for(command_, report_.job); }

  [[nodiscard]] Counting counting() const {
    const bool on = command_.verbose || command_.json || command_.max_clipped;
    return on ? Counting::on : Counting::off;
  }

  const Command& command_;
  Engine& engine_;
  ReplacementBatch& replacements_;
  RunLog& log_;
  Report report_;
  Plan whole_;  ///< with --shard of one tensor; the report has the plan for its part
  Part part_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

InputFile open_to_change(const std::string& path, RunLog& log) {
  InputFile input = InputFile::open_to_change(path);
  if (!input.is_locked()) log.warn(fmt::format("{}: cannot be locked on this file system", path));
  return input;
}

Plan plan_for(const Command& command, InputFile& input, std::vector<std::byte>* header,
              std::optional<std::byte> version) {
  if (command.ignore_trailing) input.ignore_trailing();
  const npy::Header parsed = read_header(input, command.dtype, header, version);
  return with_path(input.path(), [&] { return make_plan(command.request, parsed); });
}

/// What OutputFile::create() would refuse, as far as that can be known before the directories are made.
void check_output(const Command& command, const Job& job) {
  const bool may_lack_directory =
      command.makes_directories() && ::access(directory_of(*job.output).c_str(), F_OK) != 0;
  if (!may_lack_directory) OutputFile::check(*job.output, existing_for(command, job));
}

void FileClipping::plan(InputFile& input, std::vector<std::byte>* header, std::optional<std::byte> version) {
  report_.name = input.path();
  report_.plan = plan_for(command_, input, header, version);
  if (command_.shard && command_.output) cut();
  if (command_.split_output) check_slab_index(*command_.output, *command_.shard, command_.existing, input);
  engine_.prepare(report_.plan->header.data_size());
  log_.planned(report_);
}

void FileClipping::cut() {
  const Shard& shard = *command_.shard;
  whole_ = *std::move(report_.plan);
  if (command_.split_output) {
    const Rows rows = with_path(report_.name, [&] { return rows_of(shard, whole_.header); });
    report_.plan = plan_for(whole_, rows);
  } else {
    part_ = part_of(shard, whole_.header, npy::format(whole_.header).size());
    report_.plan = plan_for(whole_, part_);
  }
}

/// --fail-if-clipped, once everything is counted.
void FileClipping::check_clip_limit() const {
  if (!command_.max_clipped || !report_.counts) return;
  const Counts& counts = *report_.counts;
  if (command_.max_clipped->is_exceeded_by(counts.raised + counts.lowered, report_.plan->header.count))
    throw Error(ErrorKind::different,
                fmt::format("{}: {:.3g} % would be clipped, more than {} %", report_.name,
                            clipped_percent(*report_.plan, counts), command_.max_clipped->text()));
}

RunLog::Lines FileClipping::lines(bool written) {
  report_.written = written;
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return log_.lines(report_);
}

void FileClipping::clip_to(const std::string& path) {
  InputFile input = InputFile::open(report_.job.input);
  plan(input);

  OutputFile output = OutputFile::create(path, existing(), command_.durability);
  expect_other_file(input, output);
  if (command_.max_clipped && !output.is_regular()) {
    if (!input.is_regular())
      throw Error(ErrorKind::usage, "--fail-if-clipped: IN or OUT must be a file, not a stream");
    report_.counts = engine_.scan(*report_.plan, input, Counting::on);
    check_clip_limit();
  }
  const std::string header = npy::format(report_.plan->header);
  const Counts counts =
      engine_.run(*report_.plan, input, output, std::as_bytes(std::span(header)), counting());
  if (counting() == Counting::on) report_.counts = counts;
  check_clip_limit();
  if (input.is_regular()) input.expect_unwritten();
  const RunLog::Lines lines = this->lines(true);
  std::optional<OutputFile> index;
  if (command_.split_output && command_.shard->index == 0)
    index.emplace(
        write_slab_index(*command_.output, whole_.header, command_.shard->count, command_.existing));
  output.commit();
  if (index) index->commit();
  log_.done(lines);
}

void FileClipping::clip_in_place() {
  InputFile input = open_to_change(report_.job.input, log_);
  std::vector<std::byte> header;
  plan(input, &header);

  if (OutputFile::space_beside(input) < input.size())
    replacements_.commit();  // those take space twice until then
  OutputFile output = OutputFile::create_in_place(input);
  report_.counts = engine_.scan(*report_.plan, input);
  if (!report_.counts->changed) {
    input.expect_unchanged();
    return log_.done(lines(false));
  }
  const Counts counts = engine_.run(*report_.plan, input, output, header, counting());
  if (counting() == Counting::on) {
    report_.counts = counts;
    check_clip_limit();
  } else {
    report_.counts.reset();
  }
  auto done = [&log = log_, report = report_, lines = lines(true)](std::exception_ptr failure) {
    if (failure)
      log.failed(report, std::move(failure));
    else
      log.done(lines);
  };
  replacements_.add({std::move(input), std::move(output), std::move(done)});
}

void FileClipping::clip_directly() {
  InputFile input = open_to_change(report_.job.input, log_);
  JournaledFile file(input);
  const bool is_fresh = !file.version();
  plan(input, nullptr, file.version());

  if (is_fresh && (report_.plan->refuse_nan || command_.max_clipped)) {
    report_.counts = engine_.scan(*report_.plan, input, Counting::on);
    check_clip_limit();
  }
  RunLog::Lines lines;
  bool has_name = true;
  try {
    report_.counts = engine_.rewrite(*report_.plan, input, file);
    report_.resumed = file.has_resumed();
    lines = this->lines(report_.resumed || report_.counts->changed);
    has_name = input.place().is(id_of(input.status()));
    file.commit();
  } catch (const Error& error) {
    if (!file.is_unfinished() || error.kind() == ErrorKind::refused) throw;
    throw Error(error.kind(), fmt::format("{}; unreadable until the same command finishes it", error.what()));
  }
  if (!has_name)
    log_.warn(fmt::format("{}: renamed or replaced meanwhile; the file that had the name is complete",
                          input.path()));
  log_.done(lines);
}

void FileClipping::clip_shard(const std::string& path) {
  const Shard& shard = *command_.shard;
  InputFile input = InputFile::open_regular(report_.job.input);
  report_.is_part = true;
  plan(input);
  ShardOutput output = ShardOutput::create(
      path, make_run(shard.count, existing() == OutputFile::Existing::refuse, whole_, input), shard.index,
      input, command_.durability);
  OutputFile part = output.begin_part();
  const std::string header = npy::format(whole_.header);
  const std::span start = std::as_bytes(std::span(header)).first(part_.offset == 0 ? header.size() : 0);
  std::uint64_t sum = 0;
  const Counts counts = engine_.run(*report_.plan, input, part, start, counting(), &sum);
  if (counting() == Counting::on) report_.counts = counts;
  input.expect_unwritten();
  const RunLog::Lines lines = this->lines(true);
  output.commit(part, sum);
  log_.done(lines);
}

void FileClipping::dry_run() {
  const std::optional<std::string>& output = report_.job.output;
  InputFile input = output ? InputFile::open(report_.job.input) : open_to_change(report_.job.input, log_);
  plan(input, nullptr, command_.direct ? JournaledFile(input).version() : std::nullopt);
  if (output)
    check_output(command_, report_.job);
  else
    OutputFile::check_in_place(input, command_.direct);
  if (input.is_regular() && (report_.plan->refuse_nan || counting() == Counting::on))
    report_.counts = engine_.scan(*report_.plan, input, Counting::on);
  check_clip_limit();
  log_.done(lines(false));
}

}  // namespace

void clip_file(const Clipping& clipping, const Job& job) {
  FileClipping(clipping, job).clip();
}

Plan plan_for(const Command& command, InputFile& input) {
  return plan_for(command, input, nullptr, std::nullopt);
}

std::uint64_t check_file(const Command& command, const Job& job) {
  struct stat status {};
  const bool is_stream =
      job.input == "-" || (::stat(job.input.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
  if (job.output && is_stream) return 0;  // opening it might take what it has
  InputFile input = job.output ? InputFile::open(job.input) : InputFile::open_to_change(job.input);
  if (job.output && command.existing == OutputFile::Existing::refuse) check_output(command, job);
  const std::optional<std::byte> version = command.direct ? JournaledFile(input).version() : std::nullopt;
  return plan_for(command, input, nullptr, version).header.data_size();
}

}  // namespace clipper
