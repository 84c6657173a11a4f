#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clip/run_log.hpp"
#include "console/diagnostics.hpp"
#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "flows/figure_parts.hpp"
#include "formats/formats.hpp"

/// The warnings of a run.
namespace clipper {

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

void RunLog::warn(const std::string& line) {
  print_warning(line);
}

void RunLog::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (notes_.insert(line).second) warn(line);
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
  const auto is_arithmetic = [](const Field& field) { return field.broadcasts; };
  const bool changes = any_stage(request, [&](const Request& stage) {
    return first_given(stage, is_arithmetic) != nullptr || stage.stretch || stage.max_norm;
  });
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
    warn(integers_ + ": integers are clipped as the floats are; --only float leaves integers as they are");
}

}  // namespace clipper
