#pragma once

#include <cstdint>
#include <string>

#include "files/place.hpp"

namespace clipper {

/// How a file that is replaced is kept: under its name and the suffix, in the same directory.
struct Backup {
  std::string suffix;
  bool replaces = false;  ///< replaces a backup that exists; false: Error{refused}
};

/// Error{refused} if the file that has the name, if any, cannot be kept because its backup is another file.
void check_backup(const Place& place, const Backup& backup);

enum class Flushed : bool { no, yes };

/// Gives the file that has the name, if any, the name of its backup, too; `flushed`: on the disk. Leaves a
/// backup that a run which was killed has made. The errors of check_backup(); Error{refused} on a file system
/// without hard links; Error{io} for other failures.
void keep_replaced(const Place& place, const Backup& backup, Flushed flushed);

}  // namespace clipper
