#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/clip_file.hpp"
#include "files/output_file.hpp"
#include "shards/join.hpp"
#include "shards/shard.hpp"

/// How one of several processes clips its part of a tensor.
namespace clipper {

/// One process's part of the tensor in `in`, which becomes a part of `out`.
struct ShardJob {
  std::string in;
  std::string out;
  Shard shard;
  OutputFile::Existing existing = OutputFile::Existing::replace;
};

/// Makes the plan for the whole tensor the plan for the job's part; for ClipObserver, and for dry runs.
[[nodiscard]] std::function<void(Plan&, const InputFile&)> narrow_to_part(const ShardJob& job);

/// Clips the part and records that: `out` gets in place when a Join has all parts. Error{usage} if `out` is
/// `in`, which a shard that runs again would scale twice.
void clip_shard(const Clipping& clipping, const ShardJob& job, ClipResult& result);

/// The run whose shards were given these settings, this input, and as many shards; if `shards` is 0, as many
/// as OUT.shards says.
[[nodiscard]] Join::Wanted run_of(const ClipSettings& settings, const std::string& in,
                                  OutputFile::Existing existing, std::uint64_t shards);

/// "dir/out.00002-of-00008.npy" for "dir/out.npy"; the names sort in the order of the slabs.
[[nodiscard]] std::string slab_path(const std::string& out, const Shard& shard);

/// Makes the plan for the whole tensor the plan for the job's slab: a part along axis 0 that is a tensor of
/// its own. Throws what writing the index would refuse.
[[nodiscard]] std::function<void(Plan&, const InputFile&)> narrow_to_slab(const ShardJob& job);

/// Clips the slab to slab_path(). The first shard writes what `index_text` makes of the whole tensor's header
/// to "dir/out.json", too.
void clip_slab(const Clipping& clipping, const ShardJob& job,
               const std::function<std::string(const npy::Header&)>& index_text, ClipResult& result);

}  // namespace clipper
