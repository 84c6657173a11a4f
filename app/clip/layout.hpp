#pragma once

#include <string>

#include "clip/jobs.hpp"

/// How outputs are named after their inputs.
namespace clipper {

/// Outputs below `directory`: every input keeps its path from the deepest directory that all inputs are in.
void write_below(const std::string& directory, Jobs& jobs);

/// Outputs below `directory`: every input keeps its path from `root`, whatever other inputs there are.
/// Error{usage} for an input that is not below `root`, links followed.
void write_below(const std::string& directory, const std::string& root, Jobs& jobs);

/// {dir}, {name}, {stem} and {ext} stand for the parts of DIR/NAME and STEM.EXT ("." for no directory; EXT
/// has its dot), {{ and }} for braces. Error{usage} for anything else in braces.
void write_named(const std::string& output_template, Jobs& jobs);

}  // namespace clipper
