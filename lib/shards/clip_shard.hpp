#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "os/os.hpp"
#include "shards/join.hpp"
#include "shards/shard_files.hpp"

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

/// "dir/out.json", the index of the slabs of "dir/out.npy".
[[nodiscard]] std::string slab_index_path(const std::string& out);

/// Clips the slab, a part along axis 0 that becomes a tensor of its own, to slab_path(). The shard that ends
/// first also writes the index: the text that `index_text` makes of the plan for the whole
/// tensor, and of content_text(). Error{refused} if there is an index with another text: slabs of different
/// plans or inputs do not make a tensor.
using SlabIndex = std::function<std::string(const Plan& whole, const std::string& input)>;
[[nodiscard]] std::unique_ptr<Prepared> prepare_slab(const Clipping& clipping, const ShardJob& job,
                                                     const SlabIndex& index_text);

/// The output of one shard: its part, then a record of it. On file systems that machines share, the part is
/// its own file; on local ones it is a range of a file that all shards write and that becomes the output.
/// Shards do not read parts or records of other shards and do not touch OUT; Join does. See
/// lib/shards/README.md for the protocol.
class ShardOutput {
 public:
  /// Creates nothing. Durability::none counts as visible, because another machine may join the parts.
  /// Error{usage} if the input is one of the files that the shard writes. Error{refused} for the reasons of
  /// OutputFile::create().
  ShardOutput(const std::string& out, const ShardRun& run, std::uint64_t shard, const InputFile& input,
              OutputFile::Durability durability);

  /// Writes OUT.shards, unless it already describes this run. Error{refused} if it is not a file of clipper.
  void write_run();

  /// Throws the errors of write_run() that are known before it.
  void check_run() const { static_cast<void>(files_.read_run()); }

  /// Opens the part, whose offset 0 is its first byte. Only commit() commits it.
  [[nodiscard]] OutputFile begin_part();

  /// Brings the complete part to the disk, calls `last_look`, which may throw, and then writes the part's
  /// record with `sum`, placed_sum() of its bytes.
  void commit(
      OutputFile& part, std::uint64_t sum, const std::function<void()>& last_look = [] {}) const;

 private:
  [[nodiscard]] os::Mode mode() const;
  [[nodiscard]] OutputFile begin(Place place, OutputFile::Existing existing) const;
  [[nodiscard]] Descriptor open_common() const;
  void write(Place place, const std::string& text, OutputFile::Existing existing) const;

  ShardFiles files_;
  ShardRun run_;
  std::uint64_t shard_;
  OutputFile::Durability durability_;
  os::Mode readers_;  ///< who may read the input
  Descriptor held_;   ///< OUT.shards, see ShardFiles::hold_run()
  bool in_common_ = false;
};

}  // namespace clipper
