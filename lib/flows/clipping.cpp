#include "flows/clipping.hpp"

#include <fmt/format.h>

#include "error.hpp"

namespace clipper {

Counting counting_of(const ClipSettings& settings) {
  return settings.counting || settings.max_clipped ? Counting::on : Counting::off;
}

void check_clip_limit(const ClipSettings& settings, const ClipResult& result) {
  if (!settings.max_clipped || !result.counts) return;
  const std::uint64_t clipped = result.counts->raised + result.counts->lowered;
  const std::uint64_t all = result.plan->slice.count;
  if (settings.max_clipped->is_exceeded_by(clipped, all))
    throw Error(ErrorKind::different,
                fmt::format("{}: {:.3g} % would be clipped, more than {} %", result.name,
                            100 * static_cast<double>(clipped) / static_cast<double>(all),
                            settings.max_clipped->text()));
}

}  // namespace clipper
