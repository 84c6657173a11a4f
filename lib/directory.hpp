#pragma once

#include <string>
#include <string_view>

/// The directory that a file is in.
namespace clipper {

/// "." for a path without one.
[[nodiscard]] std::string directory_of(const std::string& path);

/// The path without symbolic links. Error{io} if it leads nowhere.
[[nodiscard]] std::string resolved(const std::string& path);

/// ".NAME.suffix" beside NAME, for files of clipper's own. If `shortened`, NAME is cut to make that a valid
/// name.
[[nodiscard]] std::string beside(const std::string& path, std::string_view suffix, bool shortened);

/// Brings what was created, renamed and removed in the path's directory to the disk. False, with errno, if
/// that fails.
[[nodiscard]] bool sync_directory_of(const std::string& path);

}  // namespace clipper
