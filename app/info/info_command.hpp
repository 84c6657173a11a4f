#pragma once

namespace clipper {

class RawOptions;

/// `clipper info FILE...`: what is in each file, on standard output. A file that
/// is refused is a line on standard error and does not keep it from the others. Returns the exit status: the
/// highest of all files.
[[nodiscard]] int show_info(const RawOptions& raw);

}  // namespace clipper
