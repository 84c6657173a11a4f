#pragma once

#include <vector>

#include "clip/jobs.hpp"
#include "command_line/given_number.hpp"

namespace clipper {

/// Error{usage} if two jobs would write the same file, or if a job would write a file that another job reads
/// or that is in `also_read`. Who reads FILE:MEMBER reads FILE. Names may be links or mounts, or differ only
/// in case, therefore a file is identified by device and inode, and a missing file by its deepest existing
/// directory and the rest of its path. If there are several jobs, or with `keeps_inputs`, calls
/// set_output_is_new() for those whose outputs do not exist. With `keeps_inputs`, Error{usage} also for a job
/// that would write its own input.
/// Error{io} if a file cannot be examined.
void check_conflicts(Jobs& jobs, const std::vector<OptionFile>& also_read, bool keeps_inputs);

}  // namespace clipper
