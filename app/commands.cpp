#include "commands.hpp"

#include <array>
#include <optional>

#include "clip/clip_command.hpp"
#include "clip/clip_options.hpp"
#include "clip/finalize.hpp"
#include "clip/verify.hpp"
#include "compare/compare_command.hpp"
#include "generate/generate_command.hpp"
#include "info/info_command.hpp"
#include "profiles/profiles_command.hpp"

namespace clipper {
namespace {

int clip(const Parse& parse) {
  const std::optional<Command> command = parse_command_line(parse);
  if (!command) return 0;
  if (command->golden) return verify(*command);
  if (!command->finalize) return clip_files(*command);
  finalize(*command);
  return 0;
}

constexpr std::array kCommands{
    CommandRow{"", &clip},
    CommandRow{"compare", &compare_files},
    CommandRow{"info", &show_info},
    CommandRow{"profiles", &list_profiles},
    CommandRow{"--generate", &generate_file},
};

}  // namespace

std::span<const CommandRow> commands() noexcept {
  return kCommands;
}

int run_command(int argc, const char* const* argv) {
  for (const CommandRow& row : kCommands)
    if (argc > 1 && !row.name.empty() && row.name == argv[1]) return row.run(parse_words(argc - 1, argv + 1));
  return kCommands.front().run(parse_words(argc, argv));
}

}  // namespace clipper
