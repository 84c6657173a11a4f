#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "files/descriptor.hpp"
#include "files/output_file.hpp"
#include "shards/shard_files.hpp"

namespace clipper {

/// The end of a run of shards: their parts become the output. Each byte that is written is checked against
/// the sum that the shard recorded when it calculated it, so nothing that this machine sees differently gets
/// into the output. A file system that machines share may show names and bytes late: what is missing or
/// different there is looked for again, for 5 seconds in all.
class Join {
 public:
  /// The run to be finalized, given what OUT.shards says, if it is there. Nothing if that is needed for it.
  using Wanted = std::function<std::optional<ShardRun>(const std::optional<ShardRun>& there)>;

  /// Finds the run: what OUT.shards says, or what `wanted` makes of it. Error{refused} if there is none.
  Join(const std::string& out, OutputFile::Existing existing, Wanted wanted = nullptr);

  /// Of the output, in bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return run_.size; }

  /// Puts the output in place, on the disk, and removes the shards' files; only that if the output is in
  /// place already. Error{refused} that lists the shards whose records are missing, or whose parts are not
  /// what they wrote, and for all that OutputFile::create() refuses; then nothing has changed.
  /// Error{not_durable} if the output is in place but something is left, or its directory not confirmed to be
  /// on the disk.
  void run(Engine& engine);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool look_again(Clock::time_point& since);
  [[nodiscard]] bool find_run();
  [[nodiscard]] bool is_in_place();
  [[nodiscard]] std::vector<ShardRecord> read_records();
  [[noreturn]] void refuse_missing(const std::vector<std::uint64_t>& missing) const;
  [[nodiscard]] bool has_become_output(Engine& engine, std::vector<ShardRecord> records);
  [[nodiscard]] bool is_whole(const Descriptor& common, const std::vector<ShardRecord>& records) const;
  void put_in_place(Engine& engine, const std::vector<ShardRecord>& records);
  [[nodiscard]] std::vector<std::uint64_t> different_parts(Engine& engine,
                                                           const std::vector<ShardRecord>& records,
                                                           const Descriptor& common,
                                                           const OutputFile* output);
  [[nodiscard]] bool has_sum(Engine& engine, std::uint64_t shard, const ShardRecord& record,
                             const Descriptor& common, const OutputFile* output) const;
  void expect_waiting();
  void clean_up();
  [[nodiscard]] bool is_of_another_run();
  void mark();
  void remove_all();

  std::string out_;
  OutputFile::Existing existing_;
  Wanted wanted_;
  ShardFiles files_;
  Clock::duration patience_;  ///< left
  ShardRun run_;
  std::string placed_;  ///< time_text() of the output when it is in place, if known
};

}  // namespace clipper
