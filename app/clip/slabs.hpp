#pragma once

#include <cstdint>
#include <string>

#include "npy/header.hpp"

namespace clipper {

/// What "dir/out.json" says of the files of --split-output:
///     version        of this schema: 1
///     dtype          "float32"
///     shape          [100, 6] of all slabs together
///     fortran_order  false
///     axis           0
///     slabs          [{file, begin, end}]: the file's name, in the same directory, and its indexes of the
///                    axis, `end` excluded
[[nodiscard]] std::string slab_index_text(const npy::Header& whole, const std::string& output,
                                          std::uint64_t count);

}  // namespace clipper
