#pragma once

#include <string>
#include <vector>

#include "clip/jobs.hpp"

namespace clipper {

/// Error{usage} if two jobs would write one file, or if one would write what another job reads, or what is
/// among `also_read`. Files are known by device and inode, and what does not exist yet by the deepest
/// directory on its way that does: names may be links, mounts, or differ in case only. Of several jobs those
/// are marked whose outputs do not exist. Error{io} if a file cannot be examined.
void check_conflicts(Jobs& jobs, const std::vector<std::string>& also_read);

}  // namespace clipper
