#pragma once

#include <exception>
#include <functional>
#include <string>

#include "clip/clip_options.hpp"
#include "clip/jobs.hpp"

namespace clipper {

/// Adds the command's inputs, those in its list, and with --recursive the .npy and .npz files below
/// directories, which are sorted by path. Links to directories are skipped, unless they were given as inputs
/// themselves: with --in-place they could lead to files that nobody meant to change.
/// Calls `failed`, which may throw, with each input that cannot be taken: a directory without --recursive, a
/// directory that cannot be read, a directory without a .npy or .npz file unless this is allowed, and
/// FILE:MEMBER where outputs are named after inputs. Error{usage} if the outputs would be below a directory
/// that is walked, where the next run would take them as inputs. Throws what read_names() throws.
void take_inputs(const Command& command, Jobs& jobs,
                 const std::function<void(const std::string& input, std::exception_ptr why)>& failed);

}  // namespace clipper
