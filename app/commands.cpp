#include "commands.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <span>

#include "clip/clip_command.hpp"
#include "clip/clip_option_table.hpp"
#include "command_line/command_line.hpp"
#include "command_line/terminal_options.hpp"
#include "compare/compare_command.hpp"
#include "compare/compare_options.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"
#include "generate/generate_command.hpp"
#include "info/info_command.hpp"
#include "info/info_options.hpp"
#include "json_failure.hpp"
#include "profiles/profiles_command.hpp"

namespace clipper {
namespace {

struct CommandRow {
  const CommandSpec* spec;
  int (*run)(const RawOptions&);  ///< returns the exit status
};

int generate(const RawOptions& raw) {
  return generate_file(raw, command_specs());
}

constexpr std::array kCommands{
    CommandRow{&kClipSpec, &run_clip},     CommandRow{&kCompareSpec, &run_compare},
    CommandRow{&kInfoSpec, &show_info},    CommandRow{&kProfilesSpec, &list_profiles},
    CommandRow{&kGenerateSpec, &generate},
};

}  // namespace

CommandSpecs command_specs() {
  CommandSpecs specs;
  for (const CommandRow& row : kCommands) specs.push_back(row.spec);
  return specs;
}

int run_command(int argc, const char* const* argv) {
  std::span words(argv, static_cast<std::size_t>(argc));
  const auto named = std::find_if(kCommands.begin() + 1, kCommands.end(), [&](const CommandRow& row) {
    return words.size() > 1 && words[1] == row.spec->name;
  });
  const CommandRow& row = named == kCommands.end() ? kCommands.front() : *named;
  if (named != kCommands.end()) words = words.subspan(1);
  try {
    const std::optional<RawOptions> raw = parse(*row.spec, words);
    if (!raw) return 0;
    set_color(color_when(*row.spec, *raw));
    return row.run(*raw);
  } catch (const Reported&) {
    throw;
  } catch (...) {
    print_json_failure(*row.spec, words, explained(std::current_exception()));
    throw;
  }
}

}  // namespace clipper
