#pragma once

#include <string>
#include <vector>

/// The directory that a file is in.
namespace clipper {

/// "." for a path without one.
[[nodiscard]] std::string directory_of(const std::string& path);

/// The path without symbolic links. Error{io} if it leads nowhere.
[[nodiscard]] std::string resolved(const std::string& path);

/// The names in a directory but for those that begin with a dot; none if it is not there. Error{io} if it
/// cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory);

/// Brings what was created, renamed and removed in a directory to the disk; false, with errno, if that fails.
[[nodiscard]] bool sync_directory(const std::string& path) noexcept;

/// 16 digits, for a name that nothing has. Error{io} if there are no random numbers.
[[nodiscard]] std::string random_suffix();

/// Error{not_durable} for a file that has its name, in a directory whose fsync() failed.
[[noreturn]] void throw_not_durable(const std::string& path, int error);

}  // namespace clipper
