#pragma once

namespace clipper {

class RawOptions;

/// `clipper info FILE...`: prints what each file, and each .npy file below a directory, contains. An error is
/// a line on standard error; the next file follows. Returns the exit status: the highest of all files.
[[nodiscard]] int show_info(const RawOptions& raw);

}  // namespace clipper
