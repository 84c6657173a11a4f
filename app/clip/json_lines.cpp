#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "clip/run_log.hpp"
#include "console/json.hpp"
#include "console/terminal.hpp"
#include "contract/steps.hpp"
#include "counts.hpp"

namespace clipper {
namespace {

bool print_values(const ParameterArray& array, AboveProgress& line) noexcept {
  const std::uint64_t count = array.layout().count;
  Json::NumberText room;
  for (std::size_t i = 0; i < count; ++i)
    if ((i != 0 && !line.add(",")) ||
        !line.add(array.is_lost(i) ? "null"
                                   : Json::print(array.layout().dtype, found_element(array, i), room)))
      return false;
  return true;
}

/// Prints the text, and for each kValues of it the elements of the next array, which `next` is.
template <class Next>
bool print_plan(std::string_view text, Next next, AboveProgress& line) noexcept {
  for (;; ++next) {
    const std::size_t end = std::min(text.find(kValues), text.size());
    if (!line.add(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    if (!print_values(**next, line)) return false;
    text.remove_prefix(end + 1);
  }
}

Json bound_json(const Plan& plan, ParameterId parameter) {
  const ArrayParameter* const array = plan.array(parameter);
  if (array != nullptr) return array_json(*array);
  const LogicalType& meaning = plan.input.meaning;
  if (meaning.kind == LogicalType::Kind::number)
    return Json::number(plan.bound_dtype, bound_text(plan, parameter));
  return element_json(plan.bound_dtype, meaning, parameter == ParameterId::min ? plan.min : plan.max);
}

/// Whether groups have norms, of which no factors are made if all are small enough.
bool has_norms(const Plan& plan) {
  return plan.norms && plan.norms->layout().count > 1;
}

/// The norms of groups before their factors: see json_rest().
void add_norm(const Plan& plan, Json& json) {
  if (!plan.norms) return;
  const ArrayParameter* const factors = plan.array(ParameterId::max_norm);
  json.add("norm", has_norms(plan) ? array_json({ParameterId::max_norm, "", plan.norms, {}})
                                   : Json(from_bits<double>(found_element(*plan.norms, 0))));
  json.add("factor", factors != nullptr
                         ? array_json(*factors)
                         : Json(plan.operation.normalization ? plan.operation.normalization->factor : 1.0));
}

void add_plan(const Plan& plan, const std::string& name, Json& json) {
  json.add("dtype", type_name(plan.input));
  if (plan.changes_dtype()) json.add("to", traits(plan.output.dtype).name);
  json.add("shape", plan.output.shape);
  json.add("fortran_order", plan.output.fortran_order);
  json.add("byte_order", plan.output.order == ByteOrder::little ? "little" : "big");
  json.add("elements", plan.slice.count);
  json.add("bytes", plan.input_size());
  json.add("min", bound_json(plan, ParameterId::min));
  json.add("max", bound_json(plan, ParameterId::max));
  for (const ParameterId factor :
       {ParameterId::scale, ParameterId::bias, ParameterId::subtract, ParameterId::divide})
    if (const ArrayParameter* const array = plan.array(factor))
      json.add(name_of(factor), array_json(*array));
    else if (const std::optional<std::string> number = number_text(plan, factor))
      json.add(name_of(factor), Json::number(plan.input.dtype, *number));
  add_norm(plan, json);
  if (const auto notes = notes_on(plan, name); !notes.empty()) json.add("notes", notes);
}

/// The arrays whose elements a line of JSON has: see add_plan().
void add_found(const Plan& plan, std::vector<std::shared_ptr<const ParameterArray>>& found) {
  const auto add = [&](const std::shared_ptr<const ParameterArray>& array) {
    if (array->is_found()) found.push_back(array);
  };
  const ArrayParameter* const factors = plan.array(ParameterId::max_norm);
  if (plan.arrays)
    for (const ArrayParameter& row : plan.arrays->arrays)
      if (&row != factors) add(row.array);
  if (has_norms(plan)) add(plan.norms);
  if (factors != nullptr) add(factors->array);
}

void add_counts(const Plan& plan, const ElementCounts& counts, Json& json) {
  const auto add = [&](bool are_losses) {
    for (const CountedElements& row : kCountedElements)
      if ((row.kind == CountedElements::Text::loss) == are_losses && row.is_reported(plan))
        json.add(row.name, counts.*row.counted);
  };
  add(false);
  json.add("changed", counts.changed);
  add(true);
}

void add_action(const ClipReport& report, Json& json) {
  json.add("action", word_of(report.action));
  if (!report.reason.empty()) json.add("unclipped_because", report.reason);
}

/// The members of an object, each followed by a comma.
std::string members_of(const Json& json) {
  std::string text = json.dump();
  if (text.size() == 2) return "";
  text.erase(0, 1).back() = ',';
  return text;
}

}  // namespace

std::string json_start(const ClipReport& report) {
  Json file = named_object("clip");
  file.add_name("input", report.job.input);
  if (report.has_output) file.add_name("output", report.job.output.value_or(report.job.input));
  file.add("status", report.failed ? static_cast<int>(report.failed->kind) : 0);
  if (report.failed) file.add("error", report.failed->message);
  file.add("written", report.written);
  file.add("dry_run", report.trial);
  file.add("resumed", report.resumed);
  file.add("profile", report.request->profile->name);
  file.add("request", request_json(*report.request));
  return "{" + members_of(file);
}

JsonRest json_rest(const ClipReport& report) {
  Json member = Json::object();
  if (report.member) member.add_name("member", *report.member);
  if (report.member || (report.action != MemberAction::clipped && !report.failed)) add_action(report, member);
  if (report.members) member.add("empty", true);

  JsonRest rest;
  Json plan = Json::object();
  Json result = Json::object();
  if (report.shard) result.add("shard", {{"index", report.shard->index}, {"count", report.shard->count}});
  const bool complete = !report.resumed && (!report.failed || report.failed->kind == ErrorKind::different);
  const bool has_counts = report.counts && complete;
  if (report.plan) {
    Json then = Json::list();
    for_each_stage(*report.plan, [&](const Plan& stage, std::size_t i) {
      Json later = Json::object();
      if (i != 0) later.add("profile", stage_of(*report.request, i).profile->name);
      add_plan(stage, stage_name(i, report.name), i == 0 ? plan : later);
      if (has_counts) add_counts(stage, report.counts->of(i), i == 0 ? result : later);
      add_found(stage, rest.found);
      if (i != 0) then.add(std::move(later));
    });
    if (!report.plan->then.empty()) plan.add("then", std::move(then));
  }
  result.add("seconds", report.seconds);
  rest.member = members_of(member);
  rest.plan = members_of(plan);
  rest.result = result.dump().substr(1);
  return rest;
}

void JsonLines::add(JsonRest json) {
  const auto last = found_.end() - static_cast<std::ptrdiff_t>(plan_found_);
  const bool is_same =
      json.plan == plan_ && std::equal(last, found_.end(), json.found.begin(), json.found.end());
  texts_.add(json.member);
  texts_.add(is_same ? kSame : json.plan);
  texts_.add(json.result);
  if (is_same) return;
  for (const auto& array : json.found) found_size_ += array->held().size();
  found_.insert(found_.end(), json.found.begin(), json.found.end());
  plan_found_ = json.found.size();
  plan_ = std::move(json.plan);
}

int JsonLines::print(std::FILE* stream) const noexcept {
  std::array<std::string_view, 3> texts;
  std::size_t count = 0;
  std::string_view plan;
  auto next = found_.begin();
  int error = 0;
  texts_.for_each([&](std::string_view text) {
    texts.at(count) = text;
    if (++count < texts.size()) return;
    count = 0;
    if (texts[1] != kSame) {
      next += std::ranges::count(plan, kValues);
      plan = texts[1];
    }
    AboveProgress line(stream);
    const bool is_printed = line.add(start_) && line.add(texts[0]) && print_plan(plan, next, line) &&
                            line.add(texts[2]) && line.add("\n") && line.finish();
    if (!is_printed) error = errno;
  });
  return error;
}

}  // namespace clipper
