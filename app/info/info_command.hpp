#pragma once

namespace clipper {

class RawOptions;

/// `clipper info FILE...`: prints what each file, and each .npy file below a directory, contains. After an
/// error, prints a line to standard error and continues with the next file. Returns the exit status: the
/// highest of all files.
[[nodiscard]] int show_info(const RawOptions& raw);

}  // namespace clipper
