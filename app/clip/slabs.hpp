#pragma once

#include <cstdint>
#include <string>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "npy/header.hpp"
#include "shards/shard.hpp"

/// The files of --split-output.
namespace clipper {

/// "dir/out.00002-of-00008.npy" for "dir/out.npy"; the names sort in the order of the slabs.
[[nodiscard]] std::string slab_path(const std::string& output, const Shard& shard);

/// Throws what write_slab_index() would refuse, and Error{usage} if the index would replace the input.
void check_slab_index(const std::string& output, const Shard& shard, OutputFile::Existing existing,
                      const InputFile& input);

/// Writes "dir/out.json" for "dir/out.npy":
///     version        of this schema: 1
///     dtype          "float32"
///     shape          [100, 6] of all slabs together
///     fortran_order  false
///     axis           0
///     slabs          [{file, begin, end}]: the file's name, in the same directory, and its indexes of the
///                    axis, `end` excluded
/// It is not committed. Throws what OutputFile throws.
[[nodiscard]] OutputFile write_slab_index(const std::string& output, const npy::Header& whole,
                                          std::uint64_t count, OutputFile::Existing existing);

}  // namespace clipper
