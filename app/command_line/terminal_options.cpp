#include "command_line/terminal_options.hpp"

#include <algorithm>

#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/values.hpp"

namespace clipper {

Progress::When progress_when(const RawOptions& raw) {
  if (raw.has(kNoProgress)) return Progress::When::never;
  return raw.has(kProgress) ? Progress::When::always : Progress::When::automatic;
}

ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw) {
  if (std::ranges::count(spec.options, &kColor) == 0 || !raw.has(kColor)) return ColorWhen::automatic;
  return static_cast<ColorWhen>(word_index(kColor, raw.text(kColor)));
}

}  // namespace clipper
