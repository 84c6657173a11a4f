#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "command_line/command_spec.hpp"
#include "element/dtype.hpp"

/// What the text of an option means. Each function throws Error{usage}, which names the option, unless it
/// understands all of the text.
namespace clipper {

[[noreturn]] void refuse(const std::string& message);  ///< throws Error{usage}

[[nodiscard]] std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                                      std::size_t highest);
[[nodiscard]] DType parse_dtype(std::string_view text);       ///< of --dtype
[[nodiscard]] unsigned parse_threads(std::string_view text);  ///< of --threads

/// Whether the text is the second of the option's two words.
[[nodiscard]] bool is_second_word(const Option& option, std::string_view text);

}  // namespace clipper
