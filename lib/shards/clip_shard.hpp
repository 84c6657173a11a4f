#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "shards/join.hpp"
#include "shards/shard.hpp"

/// How one of several processes clips its part of a tensor.
namespace clipper {

/// The part of the tensor in `in` that one process clips, and that becomes a part of `out`.
struct ShardJob {
  std::string in;
  std::string out;
  Shard shard;
  OutputFile::Existing existing = OutputFile::Existing::replace;
};

/// Clips the part and records that it is complete. A Join puts `out` in place when all parts are complete.
/// Error{usage} if `out` is `in`: a shard that runs again would process its own result.
[[nodiscard]] std::unique_ptr<Prepared> prepare_part(const Clipping& clipping, const ShardJob& job);

/// Returns a function that gives the run of shards with these settings, this input and this number of shards.
/// If `shards` is 0, the number is taken from OUT.shards.
[[nodiscard]] Join::Wanted run_of(const ClipSettings& settings, const std::string& in,
                                  OutputFile::Existing existing, std::uint64_t shards);

/// "dir/out.00002-of-00008.npy" for "dir/out.npy"; the names sort in the order of the slabs.
[[nodiscard]] std::string slab_path(const std::string& out, const Shard& shard);

/// Clips the slab, a part along axis 0 that becomes a tensor of its own, to slab_path(). The shard that ends
/// first also writes the index "dir/out.json": the text that `index_text` makes of the plan for the whole
/// tensor. Error{refused} if there is an index with another text: slabs of different plans do not make a
/// tensor.
[[nodiscard]] std::unique_ptr<Prepared> prepare_slab(
    const Clipping& clipping, const ShardJob& job, const std::function<std::string(const Plan&)>& index_text);

}  // namespace clipper
