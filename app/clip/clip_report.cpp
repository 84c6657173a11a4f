#include "clip/clip_report.hpp"

#include <fmt/format.h>

#include "console/json.hpp"
#include "element/element.hpp"
#include "element/number.hpp"

namespace clipper {
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

/// ", 2 became infinite, 1 became 0": those that are not 0.
std::string loss_text(const ElementCounts& counts) {
  std::string text;
  if (counts.became_infinite != 0) text += fmt::format(", {} became infinite", counts.became_infinite);
  if (counts.became_zero != 0) text += fmt::format(", {} became 0", counts.became_zero);
  return text;
}

std::string_view word_of(MemberAction action) {
  constexpr std::array<std::string_view, 3> kWords{"clipped", "copied", "dropped"};
  return kWords.at(static_cast<std::size_t>(action));
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

Json bound_json(const Plan& plan, Parameter parameter) {
  const ArrayParameter* const array = plan.array(parameter);
  if (array != nullptr) return array_json(*array);
  const Meaning& meaning = plan.input.meaning;
  if (meaning.kind == Meaning::Kind::number)
    return Json::number(plan.bound_dtype, bound_text(plan, parameter));
  return element_json(plan.bound_dtype, meaning, parameter == Parameter::min ? plan.min : plan.max);
}

void add_plan(const Plan& plan, const std::string& name, Json& json) {
  json.add("dtype", type_name(plan.input));
  if (plan.changes_dtype()) json.add("to", traits(plan.output.dtype).name);
  json.add("shape", plan.output.shape);
  json.add("fortran_order", plan.output.fortran_order);
  json.add("byte_order", plan.output.order == ByteOrder::little ? "little" : "big");
  json.add("elements", plan.slice.count);
  json.add("bytes", plan.input_size());
  json.add("min", bound_json(plan, Parameter::min));
  json.add("max", bound_json(plan, Parameter::max));
  for (const Parameter factor : {Parameter::scale, Parameter::bias})
    if (const ArrayParameter* const array = plan.array(factor)) json.add(name_of(factor), array_json(*array));
  if (const auto notes = notes_on(plan, name); !notes.empty()) json.add("notes", notes);
}

bool replaces(const Plan& plan) {
  const auto& cast = plan.operation.cast;
  return cast && (cast->below || cast->above);
}

void add_counts(const Plan& plan, const ElementCounts& counts, Json& json) {
  json.add("raised", counts.raised);
  json.add("lowered", counts.lowered);
  if (replaces(plan)) json.add("replaced", counts.replaced);
  json.add("nan", counts.nan);
  json.add("changed", counts.changed);
  if (!plan.may_lose()) return;
  json.add("became_infinite", counts.became_infinite);
  json.add("became_zero", counts.became_zero);
}

void add_action(const ClipReport& report, Json& json) {
  json.add("action", word_of(report.action));
  if (!report.reason.empty()) json.add("reason", report.reason);
}

/// The members of an object, each followed by a comma.
std::string members_of(const Json& json) {
  std::string text = json.dump().substr(1);
  if (text.size() == 1) return "";
  text.back() = ',';
  return text;
}

}  // namespace

std::string_view what_became(const ClipReport& report) {
  const bool is_left = report.action != MemberAction::clipped && !report.member && !report.job.output;
  return is_left ? "left alone" : word_of(report.action);
}

std::string text_of(const std::set<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons)
    text += (text.empty() ? "" : ", ") + reason.substr(0, reason.find(','));  // "dates, datetime64"
  return "(" + text + ")";
}

std::vector<std::string> notes_on(const Plan& plan, const std::string& name) {
  std::vector<std::string> notes;
  for (const LostBound& bound : plan.lost)
    notes.push_back(fmt::format("{}: --{} {} is no bound: {}", name, bound.field, bound.text, bound.why));
  const DType dtype = plan.bound_dtype;
  for (const CutBound& bound : plan.cut)
    notes.push_back(fmt::format("--{} {} becomes {} for {}", bound.field, bound.text,
                                decimal_text(number_of(dtype, bound.element)), traits(dtype).name));
  if (plan.truncates_fractions)
    notes.push_back(fmt::format("results are truncated to {}; --to float32 keeps fractions, --round rounds",
                                traits(plan.output.dtype).name));
  return notes;
}

std::string as_text(const ClipReport& report) {
  if (report.resumed) return report.name + ": finished an interrupted --direct run";
  std::string text = report.name;
  if (report.action != MemberAction::clipped)
    return text + fmt::format(": {}{} ({})", report.trial && !report.member ? "would be " : "",
                              what_became(report), report.reason);
  if (report.shard) text += fmt::format(", shard {}/{}", report.shard->index, report.shard->count);
  text += ":";
  if (report.plan && report.counts) {
    const ElementCounts& counts = *report.counts;
    const std::uint64_t all = report.plan->slice.count;
    if (report.plan->changes_dtype())
      text +=
          fmt::format(" {} to {},", type_name(report.plan->input), traits(report.plan->output.dtype).name);
    const std::string replaced =
        replaces(*report.plan) ? fmt::format(", {:.3g} % replaced", percent(counts.replaced, all)) : "";
    text += fmt::format(" clipped {:.3g} % ({:.3g} % raised, {:.3g} % lowered{}){}, {};",
                        percent(counts.raised + counts.lowered, all), percent(counts.raised, all),
                        percent(counts.lowered, all), replaced, loss_text(counts),
                        nan_text(*report.plan, counts));
  }
  if (report.members) text += fmt::format(" {};", text_of(*report.members));
  if (report.members && !report.reasons.empty()) text.insert(text.size() - 1, " " + text_of(report.reasons));
  const bool unchanged = report.counts && !report.counts->changed && !report.job.output;
  if (report.member)
    text.pop_back();
  else if (unchanged)
    text += " nothing changes, not rewritten";
  else if (report.trial)
    text += report.job.output ? " would be written to " + *report.job.output : " would be replaced";
  else if (report.is_part)
    text += fmt::format(" waits for clipper --finalize {}", *report.job.output);
  else
    text.pop_back();
  return text;
}

std::string json_start(const ClipReport& report) {
  Json file{{"version", kJsonVersion}};
  file.add_name("input", report.job.input);
  if (report.has_output) file.add_name("output", report.job.output.value_or(report.job.input));
  file.add("status", report.failed ? static_cast<int>(report.failed->kind) : 0);
  if (report.failed) file.add("error", report.failed->message);
  file.add("written", report.written);
  file.add("dry_run", report.trial);
  file.add("resumed", report.resumed);
  file.add("profile", report.profile);
  return "{" + members_of(file);
}

JsonRest json_rest(const ClipReport& report) {
  Json member = Json::object();
  if (report.member) member.add_name("member", *report.member);
  if (report.member || (report.action != MemberAction::clipped && !report.failed)) add_action(report, member);
  if (report.members) member.add("members", 0);

  Json plan = Json::object();
  if (report.plan) add_plan(*report.plan, report.name, plan);

  Json result = Json::object();
  if (report.shard) result.add("shard", {{"index", report.shard->index}, {"count", report.shard->count}});
  const bool complete = !report.resumed && (!report.failed || report.failed->kind == ErrorKind::different);
  if (report.plan && report.counts && complete) add_counts(*report.plan, *report.counts, result);
  result.add("seconds", report.seconds);
  return {members_of(member), members_of(plan), result.dump().substr(1)};
}

}  // namespace clipper
