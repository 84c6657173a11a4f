#pragma once

#include <cstdint>
#include <string>

#include "npy/header.hpp"

namespace clipper {

/// The text of "dir/out.json", the index of the files of --split-output:
///     version        1, the version of this schema
///     dtype          "float32"
///     shape          [100, 6] of all slabs together
///     fortran_order  false
///     axis           0
///     slabs          [{file, begin, end}]: the file's name in the same directory, and its indexes along the
///                    axis, from `begin` to before `end`
[[nodiscard]] std::string slab_index_text(const npy::Header& whole, const std::string& output,
                                          std::uint64_t count);

}  // namespace clipper
