#pragma once

#include <string>
#include <string_view>

#include "command_line/command_spec.hpp"

namespace clipper {

class RawOptions;

extern const CommandSpec kGenerateSpec;
extern const CommandSpec kCompletionSpec;

/// `clipper --generate PAGE` prints a page of the manual for packages. Covers the public commands among
/// `commands`, the first of which has no name. `clipper --generate members FILE` is for the completions: it
/// prints the members of an archive. Returns the exit status.
[[nodiscard]] int generate_file(const RawOptions& raw, CommandSpecs commands);

/// `clipper completion bash|zsh|fish` prints the shell's completions. Returns the exit status.
[[nodiscard]] int print_completions(const RawOptions& raw, CommandSpecs commands);

/// Files that a shell loads to complete options (with their help), known values, files and directories. The
/// file for bash does not need the package bash-completion. The first of the commands has no name.
[[nodiscard]] std::string bash_completions(const CommandSpecs& commands);
[[nodiscard]] std::string zsh_completions(const CommandSpecs& commands);
[[nodiscard]] std::string fish_completions(const CommandSpecs& commands);

/// The text in the language of man(7), with `code` in bold.
[[nodiscard]] std::string inline_to_troff(std::string_view text);

/// The pages of the manual: "clipper.1".
[[nodiscard]] Words page_names();

/// A page of the manual, in the language of man(7).
[[nodiscard]] std::string manual(std::string_view page, const CommandSpecs& commands);

}  // namespace clipper
