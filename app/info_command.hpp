#pragma once

namespace clipper {

/// `clipper info FILE...`: what is in each file, on standard output. argv[0] is the word "info". A file that
/// is refused is a line on standard error and does not keep it from the others. Returns the exit status: the
/// highest of all files.
[[nodiscard]] int show_info(int argc, const char* const* argv);

}  // namespace clipper
