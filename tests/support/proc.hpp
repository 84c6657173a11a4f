#pragma once

#include "os/os.hpp"

namespace clipper::testing {

/// Whether /proc is mounted. Without it descriptors have no paths, and clipper gives each new file a name at
/// once.
inline bool has_proc() {
  return !os::kIsWindows && os::access("/proc/self/fd", X_OK) == 0;
}

}  // namespace clipper::testing
