#pragma once

#include <string>

/// The names of the unfinished files on the disk, for a signal handler.
namespace clipper {

/// To be called before the file is created, so that no signal can come between the two. What it returns is
/// for unregister_temporary(). Error{io} for a name that is too long, and if there are too many.
[[nodiscard]] int register_temporary(const std::string& path);

/// The file is gone, or finished.
void unregister_temporary(int registration) noexcept;

/// Removes the files that are registered. Only for a signal handler that ends the process.
void remove_temporaries() noexcept;

}  // namespace clipper
