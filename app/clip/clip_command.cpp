#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "clip/clip_job.hpp"
#include "clip/clip_option_table.hpp"
#include "clip/jobs.hpp"
#include "clip/run_log.hpp"
#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "contract/fields.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/output_file.hpp"
#include "flows/figure_requests.hpp"
#include "flows/figures.hpp"
#include "flows/saved_figures.hpp"
#include "flows/tensor_sources.hpp"
#include "formats/container.hpp"
#include "os/os.hpp"
#include "shards/shard.hpp"
#include "shards/shard_files.hpp"

namespace clipper {
namespace {

bool is_later(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

/// Keeps the shard's jobs, those of a set together, because its index needs all of them. The division depends
/// on the files' sizes: all processes must see the same sizes.
void keep_share(const Shard& shard, Jobs& jobs) {
  std::vector<std::uint64_t> sizes;  // of files and of whole sets
  std::vector<std::size_t> places;   // of each job in `sizes`
  std::map<std::uint32_t, std::size_t> sets;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::size_t place = sizes.size();
    if (const std::uint32_t set = jobs.set_of(i); set != 0)
      place = sets.try_emplace(set, place).first->second;
    if (place == sizes.size()) sizes.push_back(0);
    sizes[place] += expected_bytes(jobs[i].input);
    places.push_back(place);
  }
  std::vector<char> own(sizes.size(), 0);
  for (const std::size_t place : files_of(shard, sizes)) own[place] = 1;
  std::vector<char> kept;
  for (const std::size_t place : places) kept.push_back(own[place]);
  jobs.keep(kept);
}

/// Keeps the jobs whose headers can be clipped, and reports the others as failed. Called before the first
/// output is created.
void keep_good(const ClipRun& run, Jobs& jobs) {
  std::vector<char> good(jobs.size(), 0);
  std::atomic<std::uint64_t> bytes = 0;
  run.engine.for_each(jobs.size(), [&](std::size_t i) {
    const Job job = jobs[i];
    try {
      bytes += check_job(run, job);
      good[i] = 1;
    } catch (...) {
      run.log.failed(run.log.report_of(job), std::current_exception());
    }
    run.log.stop_after_failure();
  });
  jobs.keep(good);
  run.log.expect(jobs.size(), bytes);
}

/// Calls `work` with each job that is the index of a set, or with each other one.
template <class Work>
void for_each_job(const Jobs& jobs, bool is_index, const Work& work) {
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs.is_index(i) == is_index) work(i);
}

/// Whether a file that is read, or the archive of FILE:MEMBER, was written later than the output, or cannot
/// be examined.
bool is_newer(const std::string& read, const os::Status& output) {
  const auto member = member_path(read);
  os::Status status{};
  return os::stat((member ? member->archive : read).c_str(), &status) != 0 ||
         is_later(status.st_mtim, output.st_mtim);
}

/// Whether an output exists that --skip-existing or --newer may leave as it is. `also_read` are the files
/// that every job reads.
bool has_output(const Command& command, const Job& job, const std::vector<ReadFile>& also_read) {
  os::Status output{};
  if (!job.output || os::stat(job.output->c_str(), &output) != 0 || !S_ISREG(output.st_mode)) return false;
  if (command.skip == Command::Skip::existing) return true;
  const auto is_later_than_output = [&](const std::string& path) { return is_newer(path, output); };
  bool has_later_mask = false;
  for_each_stage(command.settings.request, [&](const Request& stage) {
    has_later_mask |= is_mask_of_each(stage.mask) && is_later_than_output(mask_of(*stage.mask, job.input));
  });
  return !has_later_mask && !is_later_than_output(job.input) &&
         std::ranges::none_of(also_read, is_later_than_output, &ReadFile::path) &&
         std::ranges::none_of(files_behind(command.settings.reading, job.input), is_later_than_output);
}

/// Leaves out the inputs whose outputs stay as they are; an index only after all files of its set. An output
/// that is not whole, as after a power cut, is written again.
void skip_existing(const ClipRun& run, Jobs& jobs) {
  if (run.command.skip == Command::Skip::none) return;
  std::vector<char> kept(jobs.size(), 1);
  std::vector<std::string> unfinished(jobs.size());
  const std::vector<ReadFile> read =
      everything_read(run.command.settings, {}, number_files(run.command.settings.request));
  const auto look = [&](std::size_t i) {
    const Job job = jobs[i];
    if (!has_output(run.command, job, read)) return;
    unfinished[i] = why_unfinished(run, job);
    if (unfinished[i].empty()) kept[i] = 0;
  };
  run.engine.for_each(jobs.size(), [&](std::size_t i) {
    if (!jobs.is_index(i)) look(i);
  });
  bool are_all_skipped = true;
  for_each_job(jobs, false, [&](std::size_t i) { are_all_skipped = are_all_skipped && kept[i] == 0; });
  for_each_job(jobs, true, [&](std::size_t i) {
    if (are_all_skipped) look(i);
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (kept[i] == 0) run.log.skipped(jobs[i]);
    if (!unfinished[i].empty()) run.log.unfinished(jobs[i], unfinished[i]);
  }
  jobs.keep(kept);
}

/// The run that the command's operation and input belong to; null without an input.
Join::Wanted wanted_run(const Command& command, std::uint64_t shards) {
  if (command.inputs.empty()) return nullptr;
  return run_of(command.settings, command.inputs.front(), command.existing, shards);
}

bool is_pipe(const std::string& path, const char* standard) {
  os::Status status{};
  return os::stat(path == "-" ? standard : path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

/// The threads that pay off, measured on 2 and 16 CPUs; see lib/engine/README.md. The kernel copies a pipe's
/// bytes no faster for more threads than one to a pipe and two from a pipe, unless they have more to do than
/// to clip. Threads that create small files, judged by 16 of them, wait for each other.
unsigned threads_that_pay(const Request& request, const Jobs& jobs) {
  constexpr unsigned kAll = std::numeric_limits<unsigned>::max();
  constexpr std::size_t kSample = 16;
  constexpr std::uint64_t kSmall = 64UL << 10;
  if (jobs.size() == 0 || !jobs[0].output) return kAll;
  if (jobs.size() == 1) {
    const auto is_step = [](const Field& field) { return field.step != Field::Step::clip; };
    const bool only_clips =
        first_given(request, is_step) == nullptr && !has_figures(request) && request.then.empty();
    const Job job = jobs[0];
    if (only_clips && is_pipe(job.input, "/dev/stdin")) return 2;
    return only_clips && is_pipe(*job.output, "/dev/stdout") ? 1 : kAll;
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < kSample; ++i) bytes += expected_bytes(jobs[i * jobs.size() / kSample].input);
  return bytes < kSample * kSmall ? 4 : kAll;
}

/// Calls `commit`, which puts the last file of the run in place and calls its argument right before. While a
/// pipe waits for its reader, a signal ends the run.
void place_last(const std::string& path,
                const std::function<void(const std::function<void()>& placing)>& commit) {
  const std::string name = escape_for_terminal(path);
  std::optional<Finishing> finishing;
  const auto end = [&] {
    if (finishing) count_in_place(name);
    end_work();
  };
  try {
    commit([&] { finishing.emplace(); });
    end();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::not_durable) end();
    throw;
  }
}

/// Error{usage} if the log would be a file of the shards of OUT.
void expect_log_apart(const std::string& out) {
  if (log_path().empty() || !is_of_shards(out, log_path())) return;
  const std::string why =
      fmt::format("{}: {} is a file of the shards of {}", long_name(kLogFile), log_path(), out);
  take_log_back();
  refuse(why);
}

/// Puts the output of a run of shards in place: of wanted_run(), or without an input of the run that
/// OUT.shards names.
int finalize(const Command& command, const Finalize& to) {
  expect_log_apart(to.path);
  Join join(to.path, command.existing, wanted_run(command, to.shards));
  Engine engine(command.engine);
  const Progress progress(command.progress, [&] { return Extent{engine.done(), join.size(), 0, 1}; });
  place_last(to.path, [&](const std::function<void()>& placing) { join.run(engine, placing); });
  return 0;
}

/// Removes what shards of OUT have left; a dry run prints the names instead.
int discard(const Command& command, const DiscardShards& to) {
  expect_log_apart(to.path);
  std::string text;
  for (const std::string& path : discard_shards(to.path, command.dry_run)) text += path + "\n";
  if (command.dry_run) print(text);
  return 0;
}

/// Clips all files, and commits replacements; after them the indexes of sets, which say what the files have.
/// A file in place that finds no room beside others is clipped again alone.
void clip_jobs(const ClipRun& alone) {
  const Jobs& jobs = alone.jobs;
  ClipRun run = alone;
  std::mutex mutex;
  std::vector<Job> put_off;
  if (jobs.size() > 1 && !run.way.is_direct) {  // one direct run needs the memory of many chunks
    run.put_off = [&](const Job& job) {
      const std::lock_guard lock(mutex);
      put_off.push_back(job);
    };
    run.engine.for_each(jobs.size(), [&](std::size_t i) {
      if (!jobs.is_index(i)) clip_job(run, jobs[i]);
    });
  } else {
    for_each_job(jobs, false, [&](std::size_t i) { clip_job(run, jobs[i]); });
  }
  run.replacements.commit();
  for (const Job& job : put_off) {
    clip_job(alone, job);
    run.replacements.commit();
  }
  alone.log.stop_after_failure();
  for_each_job(jobs, true, [&](std::size_t i) { clip_job(alone, jobs[i]); });
  run.replacements.commit();
}

/// Puts the figures in place after the results, which may have ended with an error that leaves all of them in
/// place.
void place_figures(const Command& command, std::size_t files, const std::exception_ptr& earlier = nullptr) {
  expect_files(files + 1);
  SavedFigures& saved = *command.settings.saved;
  try {
    place_last(saved.path(), [&](const std::function<void()>& placing) { saved.commit(placing); });
  } catch (const Error& error) {
    if (!earlier) throw;
    throw Error(error.kind(), error.message() + "; " + explained(earlier).message, error.system_error());
  }
}

/// How to go on after an error that leaves results in place. An output that existed before the run would be
/// skipped, too.
std::string_view way_on(const Command& command, const Jobs& jobs) {
  if (command.keep_going) return "";
  if (command.skip != Command::Skip::none)
    return "; --keep-going goes on after an error, the same command goes on from here";
  if (is_pooled(command.settings.request) || !jobs.are_outputs_new())
    return "; --keep-going goes on after an error";
  return "; --keep-going goes on after an error, --skip-existing goes on from here";
}

}  // namespace

void find_figures(const Command& command, const Jobs& jobs, TensorPool& pool, Command& found) {
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (!jobs.is_index(i)) pool.add(jobs[i].input, jobs[i].is_named);
  std::vector<std::vector<LostBound>> lost;
  found.settings.request = pool.request(lost);
  const bool tells = !command.json && command.log.want(command.result_level());
  for (std::size_t i = 0; i < lost.size(); ++i) {
    const std::string pooled = stage_name(i, "pooled") + ": ";
    for (const LostBound& bound : lost[i]) print_warning(pooled + lost_text(bound));
    const std::string text =
        figures_text(stage_of(command.settings.request, i), stage_of(found.settings.request, i));
    if (tells && !text.empty()) print_note(pooled + text, command.result_level());
  }
}

/// The files of --fit, --split-output and --log-file are no other files of the run. Several inputs need
/// figures in common.
void expect_side_files(const Command& command, const Jobs& jobs, const std::vector<ReadFile>& read) {
  const auto& saved = command.settings.saved;
  std::vector<SideFile> written;
  if (saved) written.push_back({long_name(clip_options::kFit), saved->path()});
  if (const auto* const to = std::get_if<ShardOf>(&command.destination)) {
    if (!to->is_slab)
      expect_log_apart(to->path);
    else
      SideFiles({{long_name(clip_options::kSplitOutput), slab_index_path(to->path)}}).expect_other_than(read);
  }
  expect_apart(std::move(written), jobs, read, "an input or an output", command.settings.backup);
  if (saved && jobs.size() > 1 && !are_pooled(command.settings.request))
    refuse(any_stage(command.settings.request, needs_elements)
               ? "--fit of several inputs needs --pooled: each has figures of its own"
               : "--fit saves typed numbers in the dtype of one input, not of several");
}

/// Fills in the inputs and their outputs, all of which can be in place at once. Returns warnings for the end
/// of the run.
std::vector<std::string> plan_jobs(const Command& command, const ClipWay& way, RunLog& log, Jobs& jobs) {
  const auto failed = [&](const std::string& input, std::exception_ptr why) {
    ClipReport report = log.report_of({input, std::nullopt});
    report.has_output = false;
    log.failed(report, std::move(why));
    log.stop_after_failure();
  };
  std::vector<std::string> warnings = take_inputs(command, jobs, failed);
  log.set_inputs(jobs.size() > 1, jobs.passed());
  way.name_outputs(jobs);
  bool keeps_inputs = way.keeps_inputs;
  for_each_job(jobs, true, [&](std::size_t i) {
    log.finish_sets();
    if (jobs[i].output) keeps_inputs = true;  // one that becomes its result would leave the old index false
  });
  const std::vector<ReadFile> read = everything_read(command, jobs);
  check_conflicts(jobs, read, keeps_inputs, command.settings.backup);
  expect_side_files(command, jobs, read);
  if (command.share) keep_share(*command.share, jobs);
  return warnings;
}

int clip_files(const Command& command, const ClipWay& way) {
  Engine engine(command.engine);
  ReplacementBatch replacements([](const auto& place) {
    const Finishing finishing;
    place();
  });
  RunLog log(command, engine, way.placing ? RunLog::Scope::part : RunLog::Scope::run);
  Jobs jobs;
  const std::vector<std::string> warnings = plan_jobs(command, way, log, jobs);
  Command found = command;
  std::optional<TensorPool> pool;
  if (is_pooled(command.settings.request)) pool.emplace(engine, command.settings);
  if (log.has_totals()) found.settings.counting = true;
  const ClipRun run{found, way, jobs, engine, replacements, log, pool ? &*pool : nullptr};
  const bool many = jobs.size() > 1;
  skip_existing(run, jobs);
  engine.limit_threads(threads_that_pay(command.settings.request, jobs));
  const bool has_summary = many || command.recursive || command.keep_going || command.list;
  const bool makes_directories = way.directories == Directory::made_by_run;
  log.expect(jobs.size(), 0);
  if (has_summary) log.announce_summary();
  const std::size_t inputs = jobs.size();
  if (many || command.recursive || command.list || makes_directories) keep_good(run, jobs);
  const bool is_whole =
      jobs.size() == inputs && command.skip == Command::Skip::none && !command.share && !way.placing;
  if (is_whole) command.settings.selection.members.expect_used();
  if (pool && log.status() != 0) return log.status();
  if (pool) find_figures(command, jobs, *pool, found);
  if (makes_directories && !command.dry_run) make_directories(jobs, way.root.get());
  try {
    clip_jobs(run);
    log.stop_after_failure();
  } catch (...) {
    if (!log.has_all_results())
      set_way_on(way_on(command, jobs));
    else if (command.settings.saved)
      place_figures(command, jobs.size(), std::current_exception());
    throw;
  }
  if (command.settings.saved && jobs.size() != 0 && log.has_all_results())
    place_figures(command, jobs.size());
  for (const std::string& warning : warnings) print_warning(warning);
  log.print_summary(has_summary);
  return log.status();
}

int run_clip(const RawOptions& raw) {
  return run_clip(validate_clip(raw));
}

int run_clip(const Command& command) {
  const Destination& destination = command.destination;
  if (const auto* const to = std::get_if<Verify>(&destination)) return verify(command, *to);
  if (const auto* const to = std::get_if<Finalize>(&destination)) return finalize(command, *to);
  if (const auto* const to = std::get_if<DiscardShards>(&destination)) return discard(command, *to);
  return clip_files(command, way_to(destination));
}

}  // namespace clipper
