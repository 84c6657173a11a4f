#pragma once

#include <string>
#include <string_view>

#include "clip/destination.hpp"
#include "clip/jobs.hpp"

/// Names for outputs, made from the paths of their inputs.
namespace clipper {

/// Names outputs below a directory. An output keeps its input's path as given, without "." and a leading
/// slash; if the only input is a directory, the path below it; with --relative-to, the path from that
/// directory; with --flat, the name. Error{usage} for a path as given with "..", which could lead out of the
/// directory; if --relative-to is no directory; and if an input, links followed, is not below it.
void write_below(const IntoDirectory& to, Jobs& jobs);

/// Names outputs by a template. For the input DIR/NAME, {dir} is DIR ("." if the path has no directory) and
/// {name} is NAME, which is {stem} followed by {ext}; {ext} includes its dot. {{ and }} are literal braces.
/// Error{usage} for any other text in braces.
void write_named(const std::string& output_template, Jobs& jobs);

/// Whether the template depends on the input.
[[nodiscard]] bool has_placeholder(std::string_view output_template);

}  // namespace clipper
