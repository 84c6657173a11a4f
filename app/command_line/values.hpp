#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "command_line/command_spec.hpp"
#include "console/color.hpp"
#include "console/progress.hpp"
#include "element/percentage.hpp"
#include "element/type_choice.hpp"
#include "shards/shard.hpp"

/// What the text of an option means. Each function throws Error{usage}, which names the option, unless it
/// understands all of the text.
namespace clipper {

class RawOptions;

[[noreturn]] void refuse(const std::string& message);  ///< throws Error{usage}

/// Refuses `text`, which is none of `words`, and names the nearest of them, or all. `what` begins the
/// message: "unknown command".
[[noreturn]] void refuse_unknown(std::string_view what, std::string_view text,
                                 std::span<const std::string_view> words);

[[noreturn]] void refuse_word(const Option& option, std::string_view text);  ///< none of the option's words

[[noreturn]] void refuse_pair(const Option& one, const Option& other);  ///< both cannot be given

[[nodiscard]] std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                                      std::size_t highest);
[[nodiscard]] Percentage parse_percentage(std::string_view flag, std::string_view text);  ///< "10" or "10%"
[[nodiscard]] unsigned parse_threads(std::string_view text);                              ///< of --threads

/// The shard that --shard names: "K/N", or "auto", which takes K and N from the variables of Open MPI, PMI or
/// Slurm, in this order. The variables of Slurm's array jobs do not count: the number of tasks changes if
/// only the failed tasks run again. Throws Error{usage} also if no launcher set its variables.
[[nodiscard]] Shard parse_shard(std::string_view text);

/// The place of the option's value among its words: 0, the place of the default, if the option was not given.
[[nodiscard]] std::size_t word_of(const RawOptions& raw, const Option& option);

/// What --only asks for, which must be an option of the command; nothing if it was not given.
[[nodiscard]] std::optional<TypeChoice> parse_types(const RawOptions& raw);

/// What --progress and --no-progress ask for. Both must be options of the command.
[[nodiscard]] Progress::When progress_when(const RawOptions& raw);

/// What --color asks for; automatic if the command has no such option.
[[nodiscard]] ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw);

}  // namespace clipper
