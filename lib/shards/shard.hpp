#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/plan.hpp"
#include "engine/engine.hpp"

/// Divides the work among processes that do not communicate. Pure functions: every process gets the same
/// answer. The parts of the shards are disjoint and together cover everything; some may be empty.
namespace clipper {

/// One of `count` processes.
struct Shard {
  std::uint64_t index = 0;  ///< 0 to count - 1
  std::uint64_t count = 1;
};

inline constexpr std::uint64_t kMaxShards = 1'000'000;

/// The range of the shard's part in an output file of `file_size` bytes. Every part that is not empty begins
/// at a multiple of 1 MiB, so that a join can share blocks instead of copying them.
[[nodiscard]] ByteRange part_range(const Shard& shard, std::uint64_t file_size);

/// The elements in part_range() of an output file with a header of `header_size` bytes, which must be less
/// than 1 MiB. The header belongs to the first shard.
[[nodiscard]] Slice slice_of(const Shard& shard, const TensorLayout& layout, std::uint64_t header_size);

/// Indexes of axis 0.
struct Rows {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// The rows of the shard's slab, its part as a tensor of its own. Error{input} unless the tensor has an axis
/// 0 and is in C order.
[[nodiscard]] Rows rows_of(const Shard& shard, const TensorLayout& layout);

/// The plan for a slab, which becomes a tensor of its own.
[[nodiscard]] Plan slab_plan(const Plan& whole, const Rows& rows);

/// The indices, in ascending order, of the files that the shard clips. `sizes` are the sizes of all files in
/// bytes. Each file, from the largest to the smallest, is given to the shard with the fewest bytes.
[[nodiscard]] std::vector<std::size_t> files_of(const Shard& shard, std::span<const std::uint64_t> sizes);

}  // namespace clipper
