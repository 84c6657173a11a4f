#pragma once

namespace clipper {

class RawOptions;

/// `clipper compare ACTUAL EXPECTED`: whether two tensors, or those of two directories, are the same within a
/// tolerance; what is different is said on standard output. A file that cannot be read is a line on standard
/// error and does not keep it from the others. Returns the exit status: the highest of all pairs, of which 1
/// is different.
[[nodiscard]] int run_compare(const RawOptions& raw);

}  // namespace clipper
