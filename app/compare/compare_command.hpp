#pragma once

namespace clipper {

class RawOptions;

/// `clipper compare ACTUAL EXPECTED`: compares two tensors, or the tensors of two directories, within a
/// tolerance, and prints differences to standard output. After a file that cannot be read, prints a line to
/// standard error and continues with the next pair. Returns the exit status: the highest of all pairs, where
/// 1 (ErrorKind::different) means a difference.
[[nodiscard]] int run_compare(const RawOptions& raw);

}  // namespace clipper
