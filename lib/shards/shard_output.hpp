#pragma once

#include <cstdint>
#include <string>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "shards/shard_files.hpp"

namespace clipper {

/// What one shard writes: its part of an output, and then a record of it. On a file system that machines
/// share the part is a file of its own; on one machine it is a range of a file that is common to all shards
/// and becomes the output. No shard looks at another one's part or record, nor touches OUT; Join does.
/// lib/shards/README.md has the protocol.
class ShardOutput {
 public:
  /// Writes what the run is to OUT.shards, unless it says so already. Durability::none counts as visible: the
  /// machine that joins the parts may be another. Error{usage} if the input is one of the files that the
  /// shard writes, Error{refused} for all that OutputFile::create() refuses of OUT, and for what stands where
  /// OUT.shards belongs.
  [[nodiscard]] static ShardOutput create(const std::string& out, const ShardRun& run, std::uint64_t shard,
                                          const InputFile& input, OutputFile::Durability durability);

  /// For the part, which begins at offset 0. It is committed by commit() only.
  [[nodiscard]] OutputFile begin_part();

  /// The part is complete: brings it to the disk, and then records that, with placed_sum() of its bytes.
  void commit(OutputFile& part, std::uint64_t sum) const;

 private:
  ShardOutput(ShardFiles files, const ShardRun& run, std::uint64_t shard, OutputFile::Durability durability);
  [[nodiscard]] mode_t mode() const;
  [[nodiscard]] OutputFile begin(Place place, OutputFile::Existing existing) const;
  [[nodiscard]] Descriptor open_common() const;
  void write_run() const;
  void write(Place place, const std::string& text, OutputFile::Existing existing) const;

  ShardFiles files_;
  ShardRun run_;
  std::uint64_t shard_;
  OutputFile::Durability durability_;
  bool in_common_ = false;
};

}  // namespace clipper
