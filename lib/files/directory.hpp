#pragma once

#include <string>

/// Helpers for paths and for the directories that files are in.
namespace clipper {

/// The directory part of the path; "." if it has none.
[[nodiscard]] std::string directory_of(const std::string& path);

/// The absolute path without symbolic links. Error{io} if the file does not exist.
[[nodiscard]] std::string resolved(const std::string& path);

/// 16 random hexadecimal digits for a new name. Error{io} if the system has no random numbers.
[[nodiscard]] std::string random_suffix();

/// Throws Error{not_durable}: the file is in place, but fsync() of its directory failed with `error`.
[[noreturn]] void throw_not_durable(const std::string& path, int error);

}  // namespace clipper
