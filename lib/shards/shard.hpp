#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/plan.hpp"
#include "engine/engine.hpp"

/// The cut of the work among processes that know nothing of each other. Pure functions: each process that
/// asks gets the same answer. The shards' parts are disjoint and together are everything; some may be empty.
namespace clipper {

/// One process's place among `count`.
struct Shard {
  std::uint64_t index = 0;  ///< below count
  std::uint64_t count = 1;
};

inline constexpr std::uint64_t kMaxShards = 1'000'000;

/// Where the shard's part of an output file of that size is. Every part but an empty one begins at a multiple
/// of 1 MiB, so that joining them can share blocks instead of copying them.
[[nodiscard]] ByteRange part_range(const Shard& shard, std::uint64_t file_size);

/// The elements in part_range() of an output file with a header of `header_size` bytes, below 1 MiB. The
/// first shard has the header, too.
[[nodiscard]] Slice slice_of(const Shard& shard, const npy::Header& header, std::uint64_t header_size);

/// Indexes of axis 0.
struct Rows {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// The shard's part as a tensor of its own, a slab. Error{input} unless the tensor has an axis 0 and is in C
/// order.
[[nodiscard]] Rows rows_of(const Shard& shard, const npy::Header& header);

/// The plan for a slab, which has a header of its own.
[[nodiscard]] Plan slab_plan(const Plan& whole, const Rows& rows);

/// The shard's files of those with `sizes` bytes, in their order: the sums of sizes are as even as giving the
/// largest file left to the shard with the least makes them.
[[nodiscard]] std::vector<std::size_t> files_of(const Shard& shard, std::span<const std::uint64_t> sizes);

}  // namespace clipper
