#include "flows/file_plan.hpp"

#include <utility>

#include "error.hpp"
#include "flows/percentile_bounds.hpp"

namespace clipper {
namespace {

npy::Header header_of(const ClipSettings& settings, InputFile& input,
                      std::optional<std::byte> version = std::nullopt,
                      std::vector<std::byte>* bytes = nullptr) {
  if (settings.ignore_trailing) input.ignore_trailing();
  return read_header(input, settings.dtype, bytes, version);
}

}  // namespace

std::uint64_t check_plan(const ClipSettings& settings, InputFile& input, std::optional<std::byte> version) {
  const npy::Header header = header_of(settings, input, version);
  return with_path(input.path(), [&] { return plan_before_reading(settings.request, header).data_size(); });
}

Plan read_plan(const ClipSettings& settings, InputFile& input) {
  const npy::Header header = header_of(settings, input);
  return with_path(input.path(), [&] { return make_plan(settings.request, header); });
}

Plan read_plan(Engine& engine, const ClipSettings& settings, InputFile& input, std::vector<std::byte>* header,
               const JournaledFile* changed) {
  const Request& request = settings.request;
  const npy::Header parsed =
      header_of(settings, input, changed != nullptr ? changed->version() : std::nullopt, header);
  const auto plan = [&](auto make) { return with_path(input.path(), [&] { return make(request, parsed); }); };
  if (!has_percentiles(request)) return plan(make_plan);
  if (changed != nullptr) {
    if (auto recorded = recorded_plan(request, parsed, changed->recorded())) return *std::move(recorded);
    if (changed->version()) return plan(plan_before_reading);  // JournaledFile::begin() refuses it
  }
  return plan_with_percentiles(request, parsed, engine, input);
}

void plan_file(const Clipping& clipping, InputFile& input, ClipResult& result, std::vector<std::byte>* header,
               const JournaledFile* changed) {
  const ClipSettings& settings = clipping.settings;
  result.name = input.path();
  result.plan = clipping.narrow ? read_plan(settings, input)
                                : read_plan(clipping.engine, settings, input, header, changed);
  if (clipping.narrow) clipping.narrow(*result.plan, input);
  clipping.engine.prepare(result.plan->data_size());
  clipping.observer.planned(result);
}

}  // namespace clipper
