#include "clip/clip_job.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "clip/clip_option_table.hpp"
#include "console/diagnostics.hpp"
#include "console/json.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "flows/figure_requests.hpp"
#include "flows/file_clip.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"
#include "os/os.hpp"
#include "shards/shard.hpp"

namespace clipper {
namespace {

/// The member `version` of OUT.json. Readers of the file may check it: only a new meaning of a member raises
/// it.
constexpr int kIndexVersion = 1;

/// The content of OUT.json, which lists the files of --split-output: the object `slabs` of
/// clipper.schema.json. `count` is the number of files.
std::string slab_index_text(const Plan& plan, const std::string& input, const std::string& output,
                            std::uint64_t count) {
  const TensorLayout& whole = plan.output;
  Json slabs = Json::list();
  for (Shard shard{0, count}; shard.index < count; ++shard.index) {
    const Rows rows = rows_of(shard, whole);
    const std::string file = os::text_of(os::native(slab_path(output, shard)).filename());
    Json slab = Json::object();
    slab.add_name("file", file).add("begin", rows.begin).add("end", rows.begin + rows.count);
    slabs.add(std::move(slab));
  }
  const Json index{
      {"object", "slabs"},          {"version", kIndexVersion}, {"dtype", traits(whole.dtype).name},
      {"shape", whole.shape},       {"fortran_order", false},   {"axis", 0},
      {"plan", plan.fingerprint()}, {"input", input},           {"slabs", std::move(slabs)}};
  return index.dump(1) + "\n";
}

ClipWay way_to_file(const std::string& path) {
  ClipWay way;
  way.keeps_inputs = is_index(path);
  if (way.keeps_inputs) way.directories = Directory::made_by_run;
  way.name_outputs = [path](Jobs& jobs) {
    const bool is_given_up = jobs.size() == 0;  // IN is a directory, and --keep-going is given
    if (is_given_up) return;
    const std::size_t last = jobs.size() - 1;  // the files of a set are before its index
    const std::size_t name_at = beside(jobs[last].input, "").size();
    for (std::size_t i = 0; i < last; ++i) jobs.set_output(i, beside(path, jobs[i].input.substr(name_at)));
    jobs.set_output(last, path);
  };
  return way;
}

ClipWay way_to_shard(const ShardOf& to) {
  ClipWay way = way_to_file(to.is_slab ? slab_path(to.path, to.shard) : to.path);
  way.shard = to.shard;
  way.waits = !to.is_slab;
  way.prepare = [to](const Clipping& clipping, const Job& job, OutputFile::Existing existing) {
    if (!to.is_slab) return prepare_part(clipping, {job.input, to.path, to.shard, existing});
    return prepare_slab(clipping, {job.input, to.path, to.shard, existing},
                        [&](const Plan& whole, const std::string& input) {
                          return slab_index_text(whole, input, to.path, to.shard.count);
                        });
  };
  return way;
}

using Clock = std::chrono::steady_clock;

bool is_stream(const std::string& path) {
  os::Status status{};
  return path == "-" || (os::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

/// Whether no result is in place because the disk or a quota is full.
bool is_lack_of_room(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const Error& error) {
    const int number = error.system_error();
    return error.kind() != ErrorKind::not_durable && (number == ENOSPC || number == EDQUOT);
  } catch (...) {
    return false;
  }
}

OutputFile::Existing existing_for(const Command& command, const Job& job) {
  const bool must_be_new = job.output_is_new && command.existing == OutputFile::Existing::replace;
  return must_be_new ? OutputFile::Existing::must_be_new : command.existing;
}

std::unique_ptr<Prepared> prepare(const ClipRun& run, const Job& job, const Clipping& clipping,
                                  std::function<void(std::exception_ptr)> done = {}) {
  const OutputFile::Existing existing = existing_for(run.command, job);
  if (run.way.prepare) return run.way.prepare(clipping, job, existing);
  if (job.output)
    return prepare_to_file(clipping, job.input, *job.output, existing, run.way.directories,
                           run.way.root.get());
  if (run.way.is_direct) return prepare_direct(clipping, job.input);
  return prepare_in_place(clipping, job.input, run.replacements, std::move(done));
}

/// Clips one file and reports the result. For a file in place, the batch of replacements owns the job until
/// the batch is committed.
class ClipJob : public ClipObserver, public std::enable_shared_from_this<ClipJob> {
 public:
  ClipJob(const ClipRun& run, const Job& job) : run_(run), report_(run.log.report_of(job)) {
    report_.shard = run.way.shard;
    report_.has_output = !run.way.is_trial;
  }

  void clip() {
    try {
      Job& job = report_.job;
      if (job.output && is_in_place(job.input, *job.output, existing())) job.output.reset();
      if ((run_.command.share || run_.way.shard) && !job.output)
        refuse(
            fmt::format("{}: IN is OUT; with --shard, a second run would scale the data twice", job.input));
      if (run_.pool != nullptr && !job.output && !run_.way.is_trial)
        refuse(fmt::format("{}: --pooled and --in-place cannot be used together: {}", job.input,
                           clip_options::kPooledInPlace));
      if (run_.pool != nullptr) run_.pool->expect_unchanged(job.input);
      work();
    } catch (...) {
      fail(std::current_exception());
    }
    finishing_.reset();
    run_.log.stop_after_failure();
  }

 private:
  void fail(std::exception_ptr why) noexcept;
  void work();

  void opened(const InputFile& input) override;
  void sized(std::uint64_t bytes) override { run_.log.sized(bytes); }
  void planned(const ClipResult& result) override {
    run_.log.planned(result.member ? report_of(result) : report_);
  }
  void warn(const std::string& line) override { print_warning(line); }
  [[nodiscard]] bool wants_failed_members() const override { return run_.command.keep_going; }
  void failed_member(std::exception_ptr why) override { print_error(explained(why)); }
  void placing() override {
    finishing_.emplace();
    if (run_.way.placing) run_.way.placing();
  }
  void member(const ClipResult& result) override;
  void complete(const ClipResult& result) override;

  /// The report about a member.
  [[nodiscard]] ClipReport report_of(const ClipResult& result) const {
    ClipReport report = report_;
    static_cast<ClipResult&>(report) = result;
    return report;
  }

  [[nodiscard]] OutputFile::Existing existing() const { return existing_for(run_.command, report_.job); }
  [[nodiscard]] Clipping clipping(Purpose purpose) {
    const Job& job = report_.job;
    return {run_.command.settings, run_.engine,  *this,        report_, purpose,
            job.is_named,          job.is_index, job.streams()};
  }

  ClipRun run_;
  ClipReport report_;
  RunLog::Lines lines_;
  std::optional<Finishing> finishing_;  ///< from the last look at the files to the report
  ActionCounts members_{};              ///< finished so far
  std::optional<StageCounts> member_counts_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point member_start_ = start_;
};

void ClipJob::fail(std::exception_ptr why) noexcept {
  try {
    if (run_.put_off && !report_.job.output && is_lack_of_room(why)) return run_.put_off(report_.job);
  } catch (...) {
    why = std::current_exception();
  }
  run_.log.failed(report_, std::move(why));
}

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
  const bool is_lost = result.action == MemberAction::dropped && !report_.job.output;
  const bool is_kept = keeps_integers(run_.command.settings) && result.reason != kNotChosen;
  if (result.action != MemberAction::clipped && (is_lost || is_kept)) {
    ++report_.others;
    report_.reasons.insert(result.reason);
  }
  if (result.counts) {
    if (!member_counts_) member_counts_.emplace();
    *member_counts_ += *result.counts;
  }
  ClipReport report = report_of(result);
  report.seconds = seconds_since(std::exchange(member_start_, Clock::now()));
  run_.log.note_nodata(report);
  run_.log.add_member(report, lines_);
}

void ClipJob::complete(const ClipResult& result) {
  report_.seconds = seconds_since(start_);
  const bool is_archive = !result.plan && !result.resumed && result.action == MemberAction::clipped;
  if (is_archive) {
    report_.members = members_;
    report_.counts = member_counts_;
    const bool has_dropped = members_.at(static_cast<std::size_t>(MemberAction::dropped)) != 0;
    if (report_.counts && has_dropped) report_.counts->changed = true;
  }
  run_.log.note_nodata(report_);
  run_.log.add(report_, lines_);
}

void ClipJob::work() {
  const bool waits_for_batch = !report_.job.output && !run_.way.is_direct && !run_.command.dry_run;
  if (run_.command.dry_run) {
    prepare(run_, report_.job, clipping(Purpose::dry_run))->count();
  } else if (!waits_for_batch) {
    report_.is_part = run_.way.waits;
    prepare(run_, report_.job, clipping(Purpose::run))->write();
  } else {
    const auto done = [self = shared_from_this()](std::exception_ptr failure) {
      if (failure)
        self->fail(std::move(failure));
      else
        self->run_.log.done(self->lines_);
    };
    prepare(run_, report_.job, clipping(Purpose::run), done)->write();
    if (lines_.members_text.is_large() || lines_.json.is_large())
      run_.replacements.commit();  // frees the lines
  }
  if (waits_for_batch) return;
  if (!finishing_) lines_.in_place.clear();
  run_.log.done(lines_);
}

/// What a check needs, which nobody observes. It reads no pipe, because the run could not read it again.
struct Unobserved {
  Unobserved(const ClipRun& run, const Job& job)
      : clipping{run.command.settings, run.engine,   nobody,       unused,
                 Purpose::check,       job.is_named, job.is_index, Streams::refused} {}

  ClipObserver nobody;
  ClipResult unused;
  Clipping clipping;
};

}  // namespace

ClipWay way_to(const Destination& destination) {
  if (const auto* const to = std::get_if<ToFile>(&destination)) return way_to_file(to->path);
  if (const auto* const to = std::get_if<ShardOf>(&destination)) return way_to_shard(*to);
  ClipWay way;
  if (const auto* const to = std::get_if<IntoDirectory>(&destination)) {
    way.directories = Directory::made_by_run;
    way.root = std::make_shared<OutputRoot>(to->path);
    way.keeps_inputs = true;
    way.name_outputs = [to = *to](Jobs& jobs) { write_below(to, jobs); };
  } else if (const auto* const by = std::get_if<ByTemplate>(&destination)) {
    if (has_placeholder(by->text))
      way.directories = Directory::made_by_run;  // otherwise it is a path like OUT
    way.name_outputs = [text = by->text](Jobs& jobs) { write_named(text, jobs); };
  } else if (std::holds_alternative<Nowhere>(destination)) {
    way.is_trial = true;
    way.prepare = [](const Clipping& clipping, const Job& job, OutputFile::Existing existing) {
      return prepare_to_file(clipping, job.input, "/dev/null", existing);
    };
  } else {
    way.is_direct = std::get<InPlace>(destination).is_direct;
  }
  return way;
}

void clip_job(const ClipRun& run, const Job& job) {
  std::make_shared<ClipJob>(run, job)->clip();
}

std::uint64_t check_job(const ClipRun& run, const Job& job) {
  if ((job.output || run.way.is_trial) && job.streams() == Streams::taken && is_stream(job.input)) {
    expect_no_figures_of_stream(run.command.settings.request);
    return 0;
  }
  return prepare(run, job, Unobserved(run, job).clipping)->size();
}

std::string why_unfinished(const ClipRun& run, const Job& job) {
  return why_unfinished(Unobserved(run, job).clipping, job.input, *job.output);
}

}  // namespace clipper
