#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "files/descriptor.hpp"
#include "os/os.hpp"

/// Whether a file was written to between two looks at it. Size and modification time (mtime) show that, and
/// the time of the last change of attributes (ctime), which no program can set. A file that changed twice in
/// one tick of its file system's clock has the same times after both changes.
namespace clipper {

/// The status of the open file at an instant after which every write gives it another size or time. Returns
/// at once if it is not a regular file, or did not change in the current tick. Otherwise waits until the tick
/// is over: a few milliseconds, or up to two seconds where the file system counts in seconds. Error{io} if
/// the file cannot be examined, or changes in tick after tick.
[[nodiscard]] os::Status settled_status(const Descriptor& fd, const std::string& path);

/// The status of the open file now. Error{io} if it cannot be examined.
[[nodiscard]] os::Status status_of(const Descriptor& fd, const std::string& path);

/// Whether the file was written to between the two states; `before` must be settled_status(). Cannot see a
/// write that was in progress at the first look, nor a write through a memory mapping into a page that was
/// written to before and that the kernel has not yet written out.
[[nodiscard]] bool is_written(const os::Status& before, const os::Status& now);

/// Whether the file has the same owner, mode, names and other attributes, and was not written to, either.
[[nodiscard]] bool has_same_attributes(const os::Status& before, const os::Status& now);

/// Whose clock gives the files of a file system their times.
enum class FileClock : std::uint8_t {
  own,     ///< this kernel's CLOCK_REALTIME_COARSE
  foreign  ///< perhaps another machine's, which may be a second behind
};

/// `own` on ext4, XFS, btrfs, tmpfs and overlayfs.
[[nodiscard]] FileClock clock_of(const Descriptor& fd);

/// How long to wait after `look` until the tick in which the file last changed is over; 0 if it was over when
/// CLOCK_REALTIME_COARSE, read before the look, was `now`. Both are since the epoch.
[[nodiscard]] std::chrono::nanoseconds rest_of_tick(const os::Status& look, std::chrono::nanoseconds now,
                                                    FileClock clock);

}  // namespace clipper
