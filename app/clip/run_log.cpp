#include "clip/run_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "console/json.hpp"
#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "counts.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "flows/figures.hpp"
#include "formats/formats.hpp"
#include "os/os.hpp"
#include "request_text.hpp"

namespace clipper {

std::string_view word_of(MemberAction action) {
  constexpr std::array<std::string_view, 3> kWords{"clipped", "copied", "dropped"};
  return kWords.at(static_cast<std::size_t>(action));
}

namespace {

/// Rounded, only for display.
double percent(std::uint64_t count, std::uint64_t of) {
  return of == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(of);
}

std::string nan_text(const Plan& plan, const ElementCounts& counts) {
  if (counts.nan == 0 || !plan.replaces_nan())
    return fmt::format("{} NaN{}", counts.nan, counts.nan == 0 ? "" : " kept");
  return fmt::format("{} NaN became {}", counts.nan, replacement_text(plan));
}

/// "8.1 % raised, 4.3 % lowered", ", 2 became infinite" or ", 3 nodata".
std::string text_of(CountedElements::Text kind, const Plan& plan, const ElementCounts& counts) {
  using Text = CountedElements::Text;
  const std::uint64_t all = plan.slice.count - counts.left_out();
  std::string text;
  for (const CountedElements& row : kCountedElements) {
    const std::uint64_t found = counts.*row.counted;
    if (row.kind != kind || !row.is_reported(plan) || (kind == Text::loss && found == 0)) continue;
    if (kind == Text::share)
      text += fmt::format("{}{:.3g} % {}", text.empty() ? "" : ", ", percent(found, all), row.text);
    else
      text += fmt::format(", {} {}", found, row.text);
  }
  return text;
}

/// ", --min 0 --per-axis 0 --pooled": what the request gives, as typed.
std::string options_text(const Request& request) {
  std::string text;
  const auto add = [&](std::string_view option) {
    text += fmt::format("{} {}", text.empty() ? "," : "", option);
  };
  for_each_stage(request, [&](const Request& stage) {
    if (&stage != &request) add("--then");
    for (const Field& field : fields::kAll) {
      if (!field.is_given(stage)) continue;
      const bool is_flag = std::holds_alternative<bool Request::*>(field.member);
      for (const std::string& value : texts_of(field, stage))
        add(fmt::format("{}{}", field.option(), is_flag ? "" : " " + value));
    }
  });
  return text;
}

/// " float32 to int8, clipped 12.4 % (8.1 % raised, 4.3 % lowered), 0 NaN;".
std::string counts_text(const Plan& plan, const ElementCounts& counts) {
  const auto counted = [&](CountedElements::Text kind) { return text_of(kind, plan, counts); };
  const std::string cast = plan.changes_dtype()
                               ? fmt::format(" {} to {},", type_name(plan.input), text_of(plan.output_type()))
                               : "";
  return fmt::format("{} clipped {:.3g} % ({}){}, {}{};", cast,
                     percent(counts.raised + counts.lowered, plan.slice.count - counts.left_out()),
                     counted(CountedElements::Text::share), counted(CountedElements::Text::loss),
                     nan_text(plan, counts), counted(CountedElements::Text::number));
}

/// "3 members clipped, 1 copied".
std::string text_of(const ActionCounts& members) {
  std::string text;
  for (const MemberAction action : {MemberAction::clipped, MemberAction::copied, MemberAction::dropped}) {
    const std::uint64_t count = members.at(static_cast<std::size_t>(action));
    if (count == 0) continue;
    const char* const what = !text.empty() ? "" : count == 1 ? " member" : " members";
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", count, what, word_of(action));
  }
  return text.empty() ? "no members" : text;
}

/// What became of the file or member: "clipped", "copied", "dropped"; "left alone" for a file in place.
std::string_view what_became(const ClipReport& report) {
  const bool is_left = report.action != MemberAction::clipped && !report.member && !report.job.output;
  return is_left ? "left alone" : word_of(report.action);
}

/// "(bool, dates, int64)".
std::string text_of(const std::set<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons)
    text += (text.empty() ? "" : ", ") + reason.substr(0, reason.find(','));  // "dates, datetime64"
  return "(" + text + ")";
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

std::string as_text(const ClipReport& report) {
  if (report.resumed) return report.name + ": finished an interrupted --direct run";
  std::string text = report.name;
  if (report.action != MemberAction::clipped)
    return text + fmt::format(": {}{} ({})", report.trial && !report.member ? "would be " : "",
                              what_became(report), report.reason);
  if (report.shard) text += fmt::format(", shard {}/{}", report.shard->index, report.shard->count);
  text += ":";
  if (report.plan && report.counts)
    for_each_stage(*report.plan, [&](const Plan& stage, std::size_t i) {
      text += (i == 0 ? "" : " " + stage_name(i) + ":") + counts_text(stage, report.counts->of(i));
    });
  if (report.job.is_index && !report.trial)
    text += report.written ? " written after its files;" : " nothing changes, not rewritten;";
  if (report.members && !report.job.is_index) text += fmt::format(" {};", text_of(*report.members));
  if (report.members && !report.reasons.empty()) text.insert(text.size() - 1, " " + text_of(report.reasons));
  const bool unchanged = report.counts && !report.counts->changed && !report.job.output && report.has_output;
  if (report.member)
    text.pop_back();
  else if (unchanged)
    text += " nothing changes, not rewritten";
  else if (report.trial && report.has_output)
    text += report.job.output ? " would be written to " + *report.job.output : " would be replaced";
  else if (report.is_part)
    text += fmt::format(" waits for clipper --finalize {}", *report.job.output);
  else
    text.pop_back();
  return text;
}

RunLog::RunLog(const Command& command, const Engine& engine, Scope scope)
    : command_(command), engine_(engine), scope_(scope), progress_(command.progress, [this] {
        return Extent{engine_.done(), bytes_, files_done_, files_};
      }) {}

void RunLog::expect(std::size_t files, std::uint64_t bytes) {
  files_ = files_done_ + files;
  bytes_ = bytes;
  is_expected_ = true;
  if (scope_ == Scope::run) expect_files(files_);
}

ClipReport RunLog::report_of(const Job& job) const {
  ClipReport report;
  report.job = job;
  report.request = &command_.settings.request;
  report.trial = command_.dry_run;
  return report;
}

void RunLog::set_inputs(bool are_many, std::size_t passed) noexcept {
  are_many_ = are_many;
  files_passed_ = passed;
  const bool is_at_terminal = are_many && !command_.json && scope_ == Scope::run &&
                              command_.log.shown >= Level::info && os::isatty(STDERR_FILENO) != 0;
  has_totals_ = command_.summary || is_at_terminal;
}

void RunLog::skipped(const Job& job) {
  ++files_skipped_;
  print_note(escape_for_terminal(fmt::format("{}: skipped, {} exists", job.input, *job.output)),
             command_.result_level());
}

void RunLog::unfinished(const Job& job, const std::string& why) {
  ++files_unfinished_;
  print_note(escape_for_terminal(fmt::format("{}: not skipped, its output is not whole: {}", job.input, why)),
             command_.result_level());
}

void RunLog::sized(std::uint64_t bytes) noexcept {
  std::uint64_t unknown = 0;
  bytes_.compare_exchange_strong(unknown, bytes);
}

void RunLog::planned(const ClipReport& report) {
  sized(report.plan->input_size());
  const Level level = detail_level(Level::debug);
  for_each_stage(*report.plan, [&](const Plan& stage, std::size_t i) {
    const std::string name = stage_name(i, report.name);
    for (const std::string& line : notes_on(stage, name)) note(line);
    note_order(stage_of(*report.request, i));
    if (command_.log.want(level))
      print_note(fmt::format("{}: {}, profile {}", escape_for_terminal(name), describe(stage),
                             stage_of(*report.request, i).profile->name),
                 level);
  });
  note_integers(report);
  if (report.member || !command_.log.want(Level::debug)) return;
  const bool is_first = !has_settings_.exchange(true);
  if (!is_first && !command_.log.want(level)) return;
  const unsigned threads = engine_.threads();
  print_note(fmt::format("{} thread{}, {} KiB chunks, SIMD level {}{}", threads, threads == 1 ? "" : "s",
                         engine_.chunk_size() / 1024, to_string(command_.engine.level),
                         escape_for_terminal(options_text(*report.request))),
             is_first ? Level::debug : level);
}

void RunLog::add_elements(const ClipReport& report, Lines& lines) const {
  if (!report.plan || !report.counts) return;
  lines.elements += report.plan->slice.count;
  lines.left_out += report.counts->left_out();
  lines.clipped += report.counts->raised + report.counts->lowered;
}

void RunLog::add_member(const ClipReport& member, Lines& lines) const {
  add_elements(member, lines);
  if (command_.log.want(detail_level(command_.result_level())))
    lines.members_text.add(escape_for_terminal(as_text(member)));
  if (command_.json) lines.json.add(json_rest(member));
}

void RunLog::add(const ClipReport& report, Lines& lines) const {
  add_elements(report, lines);
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
  if (command_.log.want(command_.result_level())) lines.text = escape_for_terminal(as_text(report));
  if (!command_.json) return;
  lines.json.set_start(json_start(report));
  if (!has_members(report)) lines.json.add(json_rest(report));
}

/// Before anything is printed, because a signal may make that impossible.
void RunLog::count(bool failed, bool written, std::string_view in_place) noexcept {
  ++files_done_;
  if (failed) ++files_failed_;
  if (failed && !written) ++files_lost_;
  if (written) written_ = true;
  if (scope_ == Scope::part) return;
  count_done(failed);
  if (!in_place.empty()) count_in_place(in_place);
  if (is_expected_ && files_done_ == files_ && !command_.settings.saved) end_work();
}

void RunLog::done(const Lines& lines) noexcept {
  const Finishing finishing;
  tally(lines);
  count(false, lines.written, lines.in_place);
  elements_ += lines.elements;
  left_out_ += lines.left_out;
  clipped_ += lines.clipped;
  const Level level = command_.result_level();
  lines.members_text.for_each([&](std::string_view line) { print_note(line, detail_level(level)); });
  if (!lines.text.empty()) print_note(lines.text, level);
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
    if (command_.keep_going || (finishes_sets_ && report.written)) {
      print_error(failure);
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
  if (const int error = lines.json.print(json_stream()); error != 0) json_lost_ = error;
}

/// ", 2 copied (bool), 1 failed; 12 members not converted (int64)".
std::string RunLog::others_text() const {
  std::string text;
  for (const auto& [became, others] : others_)
    text += fmt::format(", {} {} {}", others.count, became, text_of(others.reasons));
  if (files_skipped_ != 0) text += fmt::format(", {} skipped", files_skipped_);
  if (files_failed_ != 0) text += fmt::format(", {} failed", files_failed_.load());
  const bool are_dropped = command_.settings.selection.other == Selection::Other::drop;
  if (members_.count != 0)
    text += fmt::format("; {} member{} {} {}", members_.count, members_.count == 1 ? "" : "s",
                        are_dropped ? "dropped" : "not converted", text_of(members_.reasons));
  if (files_unfinished_ != 0)
    text += fmt::format("; {} output{} not whole and {} written again", files_unfinished_,
                        files_unfinished_ == 1 ? " was" : "s were", files_unfinished_ == 1 ? "is" : "are");
  if (command_.log.want(Level::debug) && files_passed_ != 0)
    text +=
        fmt::format("; {} file{} of other kinds left alone", files_passed_, files_passed_ == 1 ? "" : "s");
  return text;
}

void RunLog::announce_summary() const {
  const Finishing finishing;
  if (command_.json) set_summary(os::fileno(json_stream()));
}

void RunLog::print_summary(bool is_batch) {
  warn_of_integers();
  const bool is_told = command_.log.want(command_.result_level()) || command_.json;
  if (!is_batch && !closing_.empty() && !is_told) print_note(closing_);
  if (!is_batch && !has_totals_) return;
  const std::size_t failed = files_failed_;
  const std::size_t ok = files_done_ - failed;
  const std::size_t all = ok + failed + files_skipped_;
  std::uint64_t others = 0;
  for (const auto& [became, files] : others_) others += files.count;
  if (command_.json && is_batch) {
    Json json = named_object("clip_summary");
    json.add("status", status_)
        .add("files", all)
        .add("ok", ok)
        .add("failed", failed)
        .add("unclipped", others);
    if (command_.skip != Command::Skip::none)
      json.add("skipped", files_skipped_).add("unfinished", files_unfinished_);
    const std::string line = json.dump() + "\n";
    const Finishing finishing;
    set_summary(-1);
    if (!print_above_progress(json_stream(), {line})) json_lost_ = errno;
  }
  const bool has_others = others + members_.count + files_unfinished_ + files_skipped_ != 0;
  const bool is_line = command_.log.want(Level::debug) || has_others || (failed != 0 && all > 1);
  const Level level = command_.summary ? Level::error : Level::info;
  // A line that nobody reads is not made: running out of memory for it would fail a run that is done.
  if (command_.log.want(level) && (has_totals_ || (is_line && !command_.json)))
    print_note(fmt::format("{} file{}: {} clipped{}{}", all, all == 1 ? "" : "s", ok - others, others_text(),
                           has_totals_ ? totals_text() : ""),
               level);
}

/// "; 1000 elements, 12.4 % clipped; 0.53 s, 812 MiB/s". Elements that a stage has clipped may be clipped by
/// the next one, too.
std::string RunLog::totals_text() const {
  const double seconds = seconds_since(start_);
  const std::string clipped =
      command_.settings.request.then.empty()
          ? fmt::format(", {:.3g} % clipped", percent(clipped_, elements_ - left_out_))
          : "";
  return fmt::format("; {} elements{}; {:.3g} s, {}", elements_.load(), clipped, seconds,
                     rate_text(static_cast<double>(engine_.done()), seconds));
}

int RunLog::status() const {
  // not_durable says that an output was written: a caller that retries in place would scale the data twice.
  if (const int error = json_lost_; error != 0 && !has_given_up())
    throw Error(written_ ? ErrorKind::not_durable : ErrorKind::io,
                fmt::format("standard output: cannot write the lines of --json: {}", os::error_text(error)));
  return status_;
}

std::vector<std::string> notes_on(const Plan& plan, const std::string& name) {
  std::vector<std::string> notes;
  for (const LostBound& bound : plan.lost) notes.push_back(name + ": " + lost_text(bound));
  const DType dtype = plan.bound_dtype;
  for (const CutBound& bound : plan.cut) {
    const bool is_array = plan.array(bound.field == "min" ? ParameterId::min : ParameterId::max) != nullptr;
    notes.push_back(is_array
                        ? fmt::format("fractions of --{} {} are cut off for {}", bound.field, bound.text,
                                      traits(dtype).name)
                        : fmt::format("--{} {} becomes {} for {}", bound.field, bound.text,
                                      decimal_text(number_of(dtype, bound.element)), traits(dtype).name));
  }
  if (const std::optional<Message> note = collapse_note(plan))
    notes.push_back(name + ": " + with_options(*note));
  if (plan.truncates_fractions)
    notes.push_back(fmt::format("results are truncated to {}; --to float32 keeps fractions, --round rounds",
                                traits(plan.output.dtype).name));
  return notes;
}

void RunLog::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (notes_.insert(line).second) print_warning(line);
}

/// What may surprise about the order of the steps: `--min 0 --subtract 1` raises to 0, then subtracts.
void RunLog::note_order(const Request& request) {
  const auto is_figure_alone = [](const std::optional<Parameter>& given) {
    const auto has_figure = [](const Expression::Term& term) { return term.figure.has_value(); };
    return is_figure(given) && std::ranges::all_of(given->expression.terms, has_figure);
  };
  const auto is_free = [&](const std::optional<Parameter>& given) {
    return !given || is_figure_alone(given);
  };
  const bool is_one = request.scale && !request.scale->array && request.scale->number > Number(0);
  if (is_one && !request.bias && !request.max_norm && !request.nan.number &&
      is_figure_alone(request.divide) && is_free(request.subtract) && is_free(request.min) &&
      is_free(request.max))
    note(fmt::format("--scale {} has no effect: --divide {} is of the scaled elements", request.scale->text,
                     request.divide->text));
  const Field* const later = first_given(
      request, [](const Field& field) { return field.grammar == Field::Grammar::factor || field.is_range; });
  const bool says_order = command_.log.want(command_.result_level());
  if (!says_order || later == nullptr || (!request.min && !request.max)) return;
  const std::string bounds = !request.max   ? "min applies"
                             : !request.min ? "max applies"
                                            : "min and max apply";
  const std::string line = fmt::format("{} before {}", bounds, later->option());
  const std::lock_guard lock(mutex_);
  if (notes_.insert(line).second) print_note(line, command_.result_level());
}

void RunLog::note_nodata(const ClipReport& report) {
  if (!report.plan || !report.counts) return;
  for_each_stage(*report.plan, [&](const Plan& stage, std::size_t i) {
    const ElementCounts& counts = report.counts->of(i);
    const auto& nodata = stage.nodata;
    if (counts.became_nodata != 0)
      note(fmt::format("{}: {} of the other elements become {}, which marks nodata",
                       stage_name(i, report.name), counts.became_nodata,
                       nodata->to ? text_of(stage, ParameterId::nodata_to) : nodata->text));
  });
}

/// In models integers are indices and counts, which the bounds of weights are not meant for.
void RunLog::note_integers(const ClipReport& report) {
  const Request& request = *report.request;
  const Selection& selection = command_.settings.selection;
  const auto calculates = [](const Field& field) {
    return field.broadcasts ||
           ((field.step == Field::Step::norm || field.step == Field::Step::normalize) && !field.is_detail);
  };
  const bool changes =
      any_stage(request, [&](const Request& stage) { return first_given(stage, calculates) != nullptr; });
  const bool is_of_model = report.archive != nullptr && report.archive->suffix() == ".safetensors";
  if (!changes || !is_of_model || selection.only || selection.members.has_patterns()) return;
  const std::lock_guard lock(mutex_);
  if (is_floating(report.plan->input.dtype))
    has_floats_ = true;
  else if (integers_.empty() || report.name < integers_)
    integers_ = report.name;
}

void RunLog::warn_of_integers() {
  if (has_floats_ && !integers_.empty())
    print_warning(integers_ +
                  ": integers are clipped as the floats are; --only float leaves integers as they are");
}

}  // namespace clipper
