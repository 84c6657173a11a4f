#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "npz/archive.hpp"

/// The names of members, which come from a file that nobody checked.
namespace clipper::npz {

/// "member 'w.npy'", for messages.
[[nodiscard]] std::string member_text(std::string_view name);

/// Whether the bytes are UTF-8 without control characters, except tabs and ends of lines.
[[nodiscard]] bool is_utf8_text(std::string_view text);

/// Error{input} for an empty name, control characters and, if the archive says that the name is UTF-8, for
/// bytes that are not.
void check_name(std::string_view name, bool is_utf8);

/// Error{input} if two members have the same name.
void check_names_differ(const std::vector<Member>& members);

}  // namespace clipper::npz
