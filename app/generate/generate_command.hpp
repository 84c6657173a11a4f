#pragma once

#include <span>
#include <string>
#include <string_view>

#include "command_line/command_spec.hpp"

namespace clipper {

inline constexpr std::string_view kCandidatesWord = "__complete";

/// `clipper --generate KIND` prints a page of the manual or the JSON Schema, for packages.
extern const CommandSpec kGenerateSpec;

/// `clipper completion bash|zsh|fish` prints what the shell loads: a function that asks print_candidates().
/// The one for bash does not need the package bash-completion.
extern const CommandSpec kCompletionSpec;

/// `clipper __complete BEFORE BEHIND [BREAKS]` prints what can stand in place of the last word of BEFORE, the
/// command line before the cursor. Three lines are about files: the patterns of their names, */ for
/// directories only, or none; what stands in front of a name in the word, such as --min=@; and the rest of
/// the word as it is typed. The lines below are words, each with a tab and what it means. bash gives
/// $COMP_WORDBREAKS, and gets words from the last break on that begin as the typed one. Returns 0: whoever
/// types sees no errors.
[[nodiscard]] int print_candidates(std::span<const char* const> words);

/// The text in the language of man(7), with `code` in bold.
[[nodiscard]] std::string inline_to_troff(std::string_view text);

/// The pages of the manual: "clipper.1".
[[nodiscard]] Words page_names();

inline constexpr std::string_view kSchemaName = "clipper.schema.json";

/// The JSON Schema of what --json prints: schema_template.json, filled with what the tables of fields,
/// counts, dtypes and profiles say.
[[nodiscard]] std::string json_schema(const CommandSpec& clip);

/// A page of the manual, in the language of man(7).
[[nodiscard]] std::string manual(std::string_view page, const CommandSpecs& commands);

}  // namespace clipper
