#pragma once

#include <string>
#include <string_view>

#include "error.hpp"

/// Errors about archives, and the names of members, which come from a file that nobody checked.
namespace clipper::npz {

/// Throws Error{input}.
[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorKind::input, message);
}

/// "member 'w.npy'", for messages.
[[nodiscard]] std::string member_text(std::string_view name);

/// Returns work(). If work() refuses the archive, the error gets the member's name in front. Errors of
/// reading pass.
template <class Work>
auto about_member(std::string_view name, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    refuse(member_text(name) + ": " + error.what());
  }
}

/// Whether the bytes are UTF-8 without control characters, except tabs and ends of lines.
[[nodiscard]] bool is_utf8_text(std::string_view text);

/// Error{input} for an empty name, control characters and, if the archive says that the name is UTF-8, for
/// bytes that are not.
void check_name(std::string_view name, bool is_utf8);

}  // namespace clipper::npz
