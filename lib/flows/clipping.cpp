#include "flows/clipping.hpp"

#include <fmt/format.h>

#include "error.hpp"

namespace clipper {

Counting counting_of(const ClipSettings& settings) {
  return settings.counting || settings.max_clipped ? Counting::on : Counting::off;
}

void check_clip_limit(const ClipSettings& settings, const ClipResult& result) {
  if (!settings.max_clipped || !result.counts) return;
  const ElementCounts& counts = *result.counts;
  const std::uint64_t clipped = counts.raised + counts.lowered + counts.became_infinite;
  const std::uint64_t all = result.plan->slice.count;
  if (settings.max_clipped->is_exceeded_by(clipped, all))
    throw Error(ErrorKind::different, fmt::format("{}: {} % would be clipped{}, more than {} %", result.name,
                                                  settings.max_clipped->text_of_exceeding(clipped, all),
                                                  counts.became_infinite == 0 ? "" : " or become infinite",
                                                  settings.max_clipped->text()));
}

}  // namespace clipper
