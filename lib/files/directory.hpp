#pragma once

#include <string>

/// The directory that a file is in.
namespace clipper {

/// "." for a path without one.
[[nodiscard]] std::string directory_of(const std::string& path);

/// The path without symbolic links. Error{io} if it leads nowhere.
[[nodiscard]] std::string resolved(const std::string& path);

/// 16 digits, for a name that nothing has. Error{io} if there are no random numbers.
[[nodiscard]] std::string random_suffix();

/// Error{not_durable} for a file that has its name, in a directory whose fsync() failed.
[[noreturn]] void throw_not_durable(const std::string& path, int error);

}  // namespace clipper
