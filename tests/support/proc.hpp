#pragma once

#include <unistd.h>

namespace clipper::testing {

/// Whether /proc is mounted. Without it descriptors have no paths, and clipper gives each new file a name at
/// once.
inline bool has_proc() {
  return ::access("/proc/self/fd", X_OK) == 0;
}

}  // namespace clipper::testing
