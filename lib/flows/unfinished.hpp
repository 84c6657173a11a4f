#pragma once

#include <string>

#include "flows/clip_file.hpp"

namespace clipper {

/// Why `out`, a file that exists, is not what clipping `in` to it writes, as far as headers and sizes tell:
/// it is empty or cut off, or of another dtype or shape. Empty if it is. If `in` is a stream or cannot be
/// clipped, `out` is judged alone; if it cannot be read, the run says why. `clipping` is for Purpose::check.
[[nodiscard]] std::string why_unfinished(const Clipping& clipping, const std::string& in,
                                         const std::string& out);

}  // namespace clipper
