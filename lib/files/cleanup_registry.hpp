#pragma once

#include <functional>

#include "files/place.hpp"

/// The names of the unfinished files on the disk, for a signal handler.
namespace clipper {

/// Calls `create`, which makes the file and says whether it could; no signal's handler removes files between
/// the two, so it must not use the heap: see without_cleanup(). What this returns is for
/// unregister_temporary(), or -1 with errno if there is no file. The place must outlive the registration.
/// Error{io} for a name that is too long, and if there are too many.
[[nodiscard]] int register_temporary(const Place& place, const std::function<bool()>& create);

/// The file is gone, or finished.
void unregister_temporary(int registration) noexcept;

/// Calls `work`, in which the registered name may stand for a file that must not be removed: until it
/// returns, signal handlers that would remove files wait. If it returns false, that is so for good, and the
/// name is unregistered. It must not use the heap: the thread that a waiting handler interrupted may hold its
/// lock.
void without_cleanup(int registration, const std::function<bool()>& work);

/// Removes the files that are registered; from then on every thread that would register one waits for the
/// process's end. Only for a signal handler, or a function, that ends the process.
void remove_temporaries() noexcept;

}  // namespace clipper
