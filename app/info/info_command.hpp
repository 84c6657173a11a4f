#pragma once

namespace clipper {

class RawOptions;

/// `clipper info FILE...`: prints what each file, each member of an archive, and each .npy or .npz file below
/// a directory contains. After an error, prints a line to standard error and goes on with the next file or
/// member. Returns the exit status: the highest of all.
[[nodiscard]] int show_info(const RawOptions& raw);

}  // namespace clipper
