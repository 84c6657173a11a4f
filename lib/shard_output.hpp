#pragma once

#include <cstdint>
#include <string>

#include "input_file.hpp"
#include "output_file.hpp"
#include "shard_files.hpp"

namespace clipper {

/// What one shard writes: its part of an output, as a file of its own, and then a record of it. It looks at
/// no other shard's files and never touches OUT; Join does. lib/README.md has the protocol.
class ShardOutput {
 public:
  /// Writes what the run is to OUT.shards, unless it says so already. Durability::none counts as visible: the
  /// machine that joins the parts may be another. Error{usage} if the input is one of the files that the
  /// shard writes, Error{refused} for all that OutputFile::create() refuses of OUT, and for what stands where
  /// OUT.shards belongs.
  [[nodiscard]] static ShardOutput create(const std::string& out, const ShardRun& run, std::uint64_t shard,
                                          const InputFile& input, OutputFile::Durability durability);

  /// The file for the part, which begins at offset 0.
  [[nodiscard]] OutputFile begin_part() const;

  /// Gives the complete part its name, and then records that, with placed_sum() of its bytes.
  void commit(OutputFile& part, std::uint64_t sum) const;

 private:
  ShardOutput(ShardFiles files, const ShardRun& run, std::uint64_t shard, OutputFile::Durability durability);
  [[nodiscard]] OutputFile begin(Place place) const;
  void write(Place place, const std::string& text) const;

  ShardFiles files_;
  ShardRun run_;
  std::uint64_t shard_;
  OutputFile::Durability durability_;
};

}  // namespace clipper
