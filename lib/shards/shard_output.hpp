#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "shards/shard_files.hpp"

namespace clipper {

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
  [[nodiscard]] mode_t mode() const;
  [[nodiscard]] OutputFile begin(Place place, OutputFile::Existing existing) const;
  [[nodiscard]] Descriptor open_common() const;
  void write(Place place, const std::string& text, OutputFile::Existing existing) const;

  ShardFiles files_;
  ShardRun run_;
  std::uint64_t shard_;
  OutputFile::Durability durability_;
  mode_t readers_;   ///< who may read the input
  Descriptor held_;  ///< OUT.shards, see ShardFiles::hold_run()
  bool in_common_ = false;
};

}  // namespace clipper
