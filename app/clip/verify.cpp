#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "clip/clip_job.hpp"
#include "clip/jobs.hpp"
#include "clip/run_log.hpp"
#include "command_line/shared_options.hpp"
#include "compare/compare_files.hpp"
#include "compare/pairs.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "contract/fields.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "flows/file_clip.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "npy/dict.hpp"

namespace clipper {
namespace {

using Outcome = PairWalk::Outcome;

enum class Role : bool { input, golden };

bool is_missing(const std::string& path) {
  return path != "-" && !member_path(path) && !find_file(path);
}

/// Whether --unclipped drop leaves out an archive that nobody named, because none of its members is clipped.
bool is_dropped(const ClipSettings& settings, const InputFile& input) {
  if (settings.selection.other != Selection::Other::drop) return false;
  const std::vector<MemberUse> uses = member_uses(settings, Container(input, KeptFor::reading));
  return !uses.empty() && !has_clipped_member(uses);
}

/// Compares the results of inputs with golden files, one after the other.
class Verifier {
 public:
  Verifier(const Command& command, const Verify& to)
      : command_(command),
        to_(to),
        output_{to.matching.shown,
                command.json,
                command.log.shown >= Level::debug || to.prints_all,
                command.log.shown == Level::error,
                to.reports,
                command.allow_empty},
        engine_(command.engine) {}

  [[nodiscard]] int run();

 private:
  using Failures = std::vector<std::pair<std::string, std::exception_ptr>>;

  /// The pairs to compare, and inputs that cannot be found.
  Failures find_jobs(Jobs& jobs) const;

  Outcome verify(PairReport& report, const Job& job);
  Outcome verify_archive(const InputFile& input, const InputFile& golden, PairReport& whole, bool is_named);
  void compare_other(InputFile& input, InputFile& golden, PairReport& report);
  void verify_member(const Archives& archives, const MemberPair& pair, const MemberUse* use,
                     PairReport& report);
  void verify_tensor(InputFile& input, PairReport& report, InputFile* golden);
  [[nodiscard]] TensorLayout golden_layout(InputFile& golden, bool is_member) const;
  void read_golden(InputFile& golden, const TensorLayout& result, PairReport& report) const;
  void write_golden(PairReport& report, bool is_named);

  /// The path of the golden file as patterns see it: below the directory, if there is one.
  [[nodiscard]] std::string name_of_golden(const PairReport& report) const {
    const std::size_t below = to_.layout ? to_.golden.size() + (to_.golden.ends_with('/') ? 0 : 1) : 0;
    return report.expected.substr(std::min(below, report.expected.size()));
  }

  /// Whether --dtype and --golden-dtype make integers bfloat16 or a float of one byte: see GivenDType.
  [[nodiscard]] bool takes_integers(bool in_member) const {
    const ClipSettings& settings = command_.settings;
    return settings.reading.takes_integers && (!in_member || settings.selection.members.has_patterns());
  }

  [[nodiscard]] InputFile open(const std::string& path, Role role, Streams streams) const {
    if (to_.updates && path == "-")
      refuse("--update-golden: standard input cannot be IN or GOLDEN; use files");
    Reading how = command_.settings.reading;
    how.raw_if_needed = role == Role::golden;
    return open_as(how, path, to_.updates ? Streams::refused : streams);
  }

  Command command_;  ///< with the figures of the pool
  const Verify& to_;
  PairOutput output_;
  Engine engine_;
  std::optional<PairWalk> walk_;
};

Verifier::Failures Verifier::find_jobs(Jobs& jobs) const {
  Failures failures;
  if (to_.layout) {
    std::ignore = take_inputs(command_, jobs, [&](const std::string& input, std::exception_ptr why) {
      failures.emplace_back(input, std::move(why));
    });
    write_below(*to_.layout, jobs);
  } else {
    jobs.add(command_.inputs.front());
    jobs.set_output(0, to_.golden);
  }
  const std::vector<ReadFile> read = everything_read(command_, jobs);
  if (to_.updates) check_conflicts(jobs, read, to_.layout.has_value());
  expect_apart(files_of(to_.reports), jobs, read, kComparedFile);
  return failures;
}

int Verifier::run() {
  Jobs jobs;
  const Failures failures = find_jobs(jobs);
  expect_files(jobs.size() + failures.size());
  const Command given = command_;
  TensorPool pool(engine_, given.settings);
  const bool pools = is_pooled(given.settings.request);
  if (pools && !failures.empty()) std::rethrow_exception(failures.front().second);
  if (pools) find_figures(given, jobs, pool, command_);
  walk_.emplace(PairWalk::Settings{output_, "verify", to_.matching, {}, to_.updates, command_.progress},
                engine_, jobs.size(), [&](std::size_t i) { return expected_bytes(jobs[i].input); });
  for (const auto& [input, why] : failures)
    walk_->add(input, to_.golden, [&cause = why](PairReport&) -> Outcome { std::rethrow_exception(cause); });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job job = jobs[i];
    const auto verify_job = [&](PairReport& report) {
      if (pools) pool.expect_unchanged(job.input);
      return verify(report, job);
    };
    walk_->take(job.input, *job.output, verify_job);
  }
  if (walk_->has_read_all()) command_.settings.selection.members.expect_used();
  if (to_.layout && failures.empty())
    for (const LostInput& lost : lost_inputs(command_, *to_.layout, jobs)) {
      walk_->add(lost.input, lost.golden, [&](PairReport& report) {
        set_missing(report, true, lost.golden);
        return Outcome::found;
      });
    }
  return walk_->end(to_.layout.has_value());
}

Outcome Verifier::verify(PairReport& report, const Job& job) {
  if (to_.updates && member_path(report.expected))
    refuse(fmt::format("--update-golden: {} is a member of an archive; use a .npy file", report.expected));
  InputFile input = open(report.actual, Role::input, job.streams());
  const Format* const format = archive_format(input);
  const bool has_members = format != nullptr;
  expect_archive(command_.settings, input, format, job.is_named);
  const bool may_be_other = !has_members && !job.is_named && input.is_regular() && !input.is_member();
  const std::string_view reason = may_be_other ? why_other(command_.settings, input) : "";
  const bool is_other = !reason.empty();
  if (is_other && action_on_other(command_.settings, report.actual, reason) == MemberAction::dropped) {
    if (is_missing(report.expected)) return Outcome::in_members;  // no pair
    set_missing(report, true, report.expected);
    return Outcome::found;
  }
  if (is_missing(report.expected)) {
    if (has_members && !job.is_named && is_dropped(command_.settings, input)) return Outcome::in_members;
    if (!has_members && !is_other) verify_tensor(input, report, nullptr);
    report.result = PairResult::missing;
    report.reason =
        fmt::format("{} is missing{}", report.expected, to_.updates ? "" : "; --update-golden writes it");
    if (to_.updates) write_golden(report, job.is_named);
    return Outcome::found;
  }
  InputFile golden = open(report.expected, Role::golden, to_.layout ? Streams::refused : Streams::taken);
  const std::string& archive = has_members ? input.path() : golden.path();
  if (is_archive(golden) != has_members)
    refuse(fmt::format("{}: --verify takes two tensors or two archives; name a tensor in it: {}:NAME",
                       archive, npy::name_for_commands(archive)));
  if (has_members) return verify_archive(input, golden, report, job.is_named);
  if (is_other)
    compare_other(input, golden, report);
  else
    verify_tensor(input, report, &golden);
  if (report.status() != 0 && to_.updates) write_golden(report, job.is_named);
  return Outcome::found;
}

/// Makes the plan, and with a golden file compares its elements with the result.
void Verifier::verify_tensor(InputFile& input, PairReport& report, InputFile* golden) {
  const npy::Header header = header_of(command_.settings, input).header;
  const Plan plan = read_plan(engine_, command_.settings, input, header);
  report.notes = notes_on(plan, input.path());
  if (!report.member) walk_->expect(plan.input_size());
  if (golden == nullptr) return;
  if (!report.member) walk_->choose_rules(report, {name_of_golden(report)});
  const Matching& matching = walk_->rules().matching;
  read_golden(*golden, plan.output, report);
  if (report.reason.empty())
    report.comparison = verify_result(engine_, plan, input, {*golden, report.layout}, matching.rule);
  judge(matching, report);
}

/// The result of a file that is not clipped is the file: its elements are compared or, of types that have
/// none to compare, its bytes.
void Verifier::compare_other(InputFile& input, InputFile& golden, PairReport& report) {
  const PairRules& rules = walk_->choose_rules(report, {name_of_golden(report)});
  compare_tensors(engine_, rules.settings, rules.matching, input, golden, report, npy::Types::all);
}

/// As the file's header and --golden-dtype say.
TensorLayout Verifier::golden_layout(InputFile& golden, bool is_member) const {
  npy::GivenDType given(to_.golden_dtype);
  given.takes_integers = takes_integers(is_member);
  try {
    return read_header(golden, given, nullptr, std::nullopt, npy::Opaque::taken, npy::Types::comparable)
        .layout();
  } catch (const Error& error) {
    if (error.field() != "dtype") throw;
    throw Error(error.kind(), error.message().text_with([](const Term& term) {
      return term.field == "dtype" ? "--golden-dtype" : term.words;
    }));
  }
}

/// Sets the golden file's layout, and how it differs as a whole. Raw bytes, whose header does not name the
/// dtype, are what the result is if that is saved so. Integers are, where --dtype makes them so in inputs.
void Verifier::read_golden(InputFile& golden, const TensorLayout& result, PairReport& report) const {
  report.layout = golden_layout(golden, report.member.has_value());
  TensorLayout& layout = report.layout;
  if (!to_.golden_dtype && layout.stored_as.find('V') != std::string_view::npos) {
    if (is_foreign(result.dtype) && result.element_size() == layout.element_size()) {
      layout.dtype = result.dtype;
    } else {
      report.reason = fmt::format("dtype {}, expected {}; --golden-dtype says what it is", type_name(result),
                                  layout.stored_as);
      return;
    }
  } else if (!to_.golden_dtype && !result.stored_as.empty() && takes_integers(report.member.has_value()) &&
             layout.meaning == LogicalType{} && !is_floating(layout.dtype) &&
             layout.element_size() == result.element_size()) {
    layout.dtype = result.dtype;
  }
  report.reason = difference_as_whole(result, layout);
}

/// The members that --unclipped drop leaves out of the result have no pair.
Outcome Verifier::verify_archive(const InputFile& input, const InputFile& golden, PairReport& whole,
                                 bool is_named) {
  std::optional<Container> actual(std::in_place, input, KeptFor::reading);
  std::optional<Container> expected(std::in_place, golden, KeptFor::reading);
  const Archives archives{*actual, *expected};
  std::vector<MemberUse> uses = member_uses(command_.settings, *actual);
  if (is_named) expect_clipped_member(command_.settings, *actual, uses);
  std::uint64_t bytes = 0;
  for (const MemberUse& use : uses) bytes += use.size;
  const auto use_of = [&](const MemberPair& pair) {
    return pair.actual == nullptr ? nullptr : &uses[actual->index_of(*pair.actual)];
  };
  std::vector<MemberPair> pairs = member_pairs(archives);
  std::erase_if(pairs, [&](const MemberPair& pair) {
    return pair.expected == nullptr && use_of(pair)->action == MemberAction::dropped;
  });
  whole.without_members = pairs.empty();
  walk_->take_members(
      archives, pairs, bytes, name_of_golden(whole),
      [&](const MemberPair& pair, PairReport& report) {
        verify_member(archives, pair, use_of(pair), report);
      },
      [&] {
        uses = {};  // the members of two archives are many
        pairs = {};
        expected.reset();
        actual.reset();
        write_golden(whole, is_named);
      });
  return whole.without_members ? Outcome::found : Outcome::in_members;
}

void Verifier::verify_member(const Archives& archives, const MemberPair& pair, const MemberUse* use,
                             PairReport& report) {
  if (use == nullptr || use->action == MemberAction::dropped || pair.expected == nullptr)
    return set_missing(report, pair.expected != nullptr, archives.expected.path_of(pair.any()));
  const PairRules& rules = walk_->rules();
  if (use->action == MemberAction::copied)
    return compare_members(engine_, rules.settings, rules.matching, archives, pair, report, npy::Types::all);
  InputFile input = archives.actual.open(*pair.actual);
  InputFile golden = archives.expected.open(*pair.expected);
  verify_tensor(input, report, &golden);
}

/// Writes the result to the golden file as `clipper IN GOLDEN` does, and warns about the plan, too.
void Verifier::write_golden(PairReport& report, bool is_named) {
  if (is_same_file(report.actual, report.expected))
    refuse(fmt::format("--update-golden: {} and IN are the same file", report.expected));
  Command writing = command_;
  writing.inputs = {report.actual};
  writing.names_inputs = is_named;
  writing.list.reset();
  writing.recursive = writing.keep_going = writing.json = false;
  writing.existing = OutputFile::Existing::replace;
  writing.progress = Progress::When::never;
  writing.settings.counting = command_.log.want(Level::debug);
  ClipWay way = way_to(ToFile{report.expected});
  if (to_.layout) way.directories = Directory::made_by_run;
  // Composed before the golden file is in place: afterwards, a lack of memory would make the exit status
  // wrong.
  const std::string line = fmt::format("{}: {}", escape_for_terminal(report.expected),
                                       report.result == PairResult::missing ? "created" : "updated");
  const std::string name = escape_for_terminal(report.expected);
  way.placing = [&] { walk_->begin_finishing(); };
  static_cast<void>(clip_files(writing, way));  // 0: without --keep-going, it throws
  if (walk_->is_finishing()) count_in_place(name);
  set_updated(report);
  print_note(line);
}

}  // namespace

int verify(const Command& command, const Verify& to) {
  return Verifier(command, to).run();
}

}  // namespace clipper
