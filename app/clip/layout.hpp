#pragma once

#include <string>
#include <string_view>

#include "clip/jobs.hpp"

/// Names for outputs, made from the paths of their inputs.
namespace clipper {

/// Names outputs below `directory`: each keeps its input's path from the deepest common directory of all
/// inputs. Of a directory given as an input, the directory itself counts, not the files found below it.
void write_below(const std::string& directory, Jobs& jobs);

/// Names outputs below `directory`: each keeps its input's path from the directory `root`. Error{usage} if
/// `root` is no directory, or if an input, links followed, is not below `root`.
void write_below(const std::string& directory, const std::string& root, Jobs& jobs);

/// Names outputs by a template. For the input DIR/NAME, {dir} is DIR ("." if the path has no directory) and
/// {name} is NAME, which is {stem} followed by {ext}; {ext} includes its dot. {{ and }} are literal braces.
/// Error{usage} for any other text in braces.
void write_named(const std::string& output_template, Jobs& jobs);

/// Whether the template depends on the input.
[[nodiscard]] bool has_placeholder(std::string_view output_template);

}  // namespace clipper
