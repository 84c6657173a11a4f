#include "clip_file.hpp"

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

#include "direct_file.hpp"
#include "directory.hpp"
#include "error.hpp"
#include "one_file.hpp"
#include "shard.hpp"
#include "shard_files.hpp"
#include "shard_output.hpp"
#include "slabs.hpp"

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
        reporter_(clipping.reporter),
        report_(reporter_.report_of(job)) {
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
        try_out();
      else if (command_.shard && command_.output && !command_.split_output)
        clip_shard(*report_.job.output);
      else if (report_.job.output)
        clip_to(*report_.job.output);
      else if (command_.direct)
        clip_directly();
      else
        clip_in_place();
    } catch (...) {
      reporter_.failed(std::move(report_), std::current_exception());
    }
    reporter_.stop_after_failure();
  }

 private:
  void clip_to(const std::string& path);
  void clip_in_place();
  void clip_directly();
  void clip_shard(const std::string& path);
  void try_out();

  void plan(InputFile& input, std::vector<std::byte>* header = nullptr,
            std::optional<std::byte> version = std::nullopt);
  void cut();
  void judge() const;
  [[nodiscard]] Reporter::Lines lines(bool written);

  [[nodiscard]] bool is_in_place(const Job& job) const {
    return job.output && existing() == OutputFile::Existing::replace && is_same_file(job.input, *job.output);
  }
  [[nodiscard]] OutputFile::Existing existing() const { return existing_for(command_, report_.job); }

  [[nodiscard]] Counting counting() const {
    const bool on = command_.verbose || command_.json || command_.most_clipped;
    return on ? Counting::on : Counting::off;
  }

  const Command& command_;
  Engine& engine_;
  Replacements& replacements_;
  Reporter& reporter_;
  Report report_;
  Plan whole_;  ///< with --shard of one tensor; the report has the plan for its part
  Part part_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

InputFile open_to_change(const std::string& path, Reporter& reporter) {
  InputFile input = InputFile::open_to_change(path);
  if (!input.is_locked()) reporter.warn(fmt::format("{}: cannot be locked on this file system", path));
  return input;
}

Plan plan_for(const Command& command, InputFile& input, std::vector<std::byte>* header,
              std::optional<std::byte> version) {
  if (command.ignore_trailing) input.ignore_trailing();
  const npy::Header parsed = read_header(input, command.dtype, header, version);
  return naming(input.path(), [&] { return make_plan(command.request, parsed); });
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
  reporter_.planned(report_);
}

void FileClipping::cut() {
  const Shard& shard = *command_.shard;
  whole_ = *std::move(report_.plan);
  if (command_.split_output) {
    const Rows rows = naming(report_.name, [&] { return rows_of(shard, whole_.header); });
    report_.plan = plan_for(whole_, rows);
  } else {
    part_ = part_of(shard, whole_.header, npy::format(whole_.header).size());
    report_.plan = plan_for(whole_, part_);
  }
}

/// --fail-if-clipped, once everything is counted.
void FileClipping::judge() const {
  if (!command_.most_clipped || !report_.counts) return;
  const Counts& counts = *report_.counts;
  if (command_.most_clipped->is_exceeded_by(counts.raised + counts.lowered, report_.plan->header.count))
    throw Error(ErrorKind::different,
                fmt::format("{}: {:.3g} % would be clipped, more than {} %", report_.name,
                            clipped_percent(*report_.plan, counts), command_.most_clipped->text()));
}

Reporter::Lines FileClipping::lines(bool written) {
  report_.written = written;
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return reporter_.lines(report_);
}

void FileClipping::clip_to(const std::string& path) {
  InputFile input = InputFile::open(report_.job.input);
  plan(input);

  OutputFile output = OutputFile::create(path, existing(), command_.durability);
  expect_other_file(input, output);
  if (command_.most_clipped && !output.is_regular()) {
    if (!input.is_regular())
      throw Error(ErrorKind::usage, "--fail-if-clipped: IN or OUT must be a file, not a stream");
    report_.counts = engine_.scan(*report_.plan, input, Counting::on);
    judge();
  }
  const std::string header = npy::format(report_.plan->header);
  const Counts counts =
      engine_.run(*report_.plan, input, output, std::as_bytes(std::span(header)), counting());
  if (counting() == Counting::on) report_.counts = counts;
  judge();
  if (input.is_regular()) input.expect_unwritten();
  const Reporter::Lines lines = this->lines(true);
  std::optional<OutputFile> index;
  if (command_.split_output && command_.shard->index == 0)
    index.emplace(
        write_slab_index(*command_.output, whole_.header, command_.shard->count, command_.existing));
  output.commit();
  if (index) index->commit();
  reporter_.done(lines);
}

void FileClipping::clip_in_place() {
  InputFile input = open_to_change(report_.job.input, reporter_);
  std::vector<std::byte> header;
  plan(input, &header);

  if (OutputFile::space_beside(input) < input.size())
    replacements_.commit();  // those take space twice until then
  OutputFile output = OutputFile::create_in_place(input);
  report_.counts = engine_.scan(*report_.plan, input);
  if (!report_.counts->changed) {
    input.expect_unchanged();
    return reporter_.done(lines(false));
  }
  const Counts counts = engine_.run(*report_.plan, input, output, header, counting());
  if (counting() == Counting::on) {
    report_.counts = counts;
    judge();
  } else {
    report_.counts.reset();
  }
  auto done = [&reporter = reporter_, report = report_, lines = lines(true)](std::exception_ptr failure) {
    if (failure)
      reporter.failed(report, std::move(failure));
    else
      reporter.done(lines);
  };
  replacements_.add({std::move(input), std::move(output), std::move(done)});
}

void FileClipping::clip_directly() {
  InputFile input = open_to_change(report_.job.input, reporter_);
  DirectFile file(input);
  const bool is_fresh = !file.version();
  plan(input, nullptr, file.version());

  if (is_fresh && (report_.plan->refuse_nan || command_.most_clipped)) {
    report_.counts = engine_.scan(*report_.plan, input, Counting::on);
    judge();
  }
  Reporter::Lines lines;
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
    reporter_.warn(fmt::format("{}: renamed or replaced meanwhile; the file that had the name is complete",
                               input.path()));
  reporter_.done(lines);
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
  const Reporter::Lines lines = this->lines(true);
  output.commit(part, sum);
  reporter_.done(lines);
}

void FileClipping::try_out() {
  const std::optional<std::string>& output = report_.job.output;
  InputFile input =
      output ? InputFile::open(report_.job.input) : open_to_change(report_.job.input, reporter_);
  plan(input, nullptr, command_.direct ? DirectFile(input).version() : std::nullopt);
  if (output)
    check_output(command_, report_.job);
  else
    OutputFile::check_in_place(input, command_.direct);
  if (input.is_regular() && (report_.plan->refuse_nan || counting() == Counting::on))
    report_.counts = engine_.scan(*report_.plan, input, Counting::on);
  judge();
  reporter_.done(lines(false));
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
  const std::optional<std::byte> version = command.direct ? DirectFile(input).version() : std::nullopt;
  return plan_for(command, input, nullptr, version).header.data_size();
}

}  // namespace clipper
