#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clip/run_log.hpp"
#include "console/diagnostics.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "files/formats.hpp"
#include "flows/figure_parts.hpp"

/// The warnings of a run.
namespace clipper {

std::vector<std::string> notes_on(const Plan& plan, const std::string& name) {
  std::vector<std::string> notes;
  for (const LostBound& bound : plan.lost) notes.push_back(name + ": " + lost_text(bound));
  const DType dtype = plan.bound_dtype;
  for (const CutBound& bound : plan.cut) {
    const bool is_array = plan.array(bound.field == "min" ? Parameter::min : Parameter::max) != nullptr;
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

void RunLog::note_nodata(const ClipReport& report) {
  if (!report.plan || !report.counts) return;
  for_each_stage(*report.plan, [&](const Plan& stage, std::size_t i) {
    const ElementCounts& counts = report.counts->of(i);
    const auto& nodata = stage.nodata;
    if (counts.became_nodata != 0)
      note(fmt::format("{}: {} of the other elements become {}, which marks nodata",
                       stage_name(i, report.name), counts.became_nodata,
                       nodata->to ? element_text(stage.output.dtype, *nodata->to) : nodata->text));
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
