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
#include "os/os.hpp"
#include "shards/shard_files.hpp"

namespace clipper {

/// Joins the parts of a run of shards into the output (`--finalize`). Every byte is checked against the sum
/// that its shard recorded when it calculated the byte, so no byte that this machine sees differently gets
/// into the output. On file systems that machines share, names and bytes may appear late: missing or
/// different ones are looked for again, for 5 seconds in total.
class Join {
 public:
  /// Given the content of OUT.shards, if it exists, returns the run to finalize; nothing if the content is
  /// needed and missing.
  using Wanted = std::function<std::optional<ShardRun>(const std::optional<ShardRun>& there)>;

  /// Finds the run: the content of OUT.shards, or the result of `wanted`. Error{refused} if there is none.
  Join(const std::string& out, OutputFile::Existing existing, Wanted wanted = nullptr);

  /// The size of the output in bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return run_.size; }

  /// Puts the output in place and on the disk, and removes the files of the shards; only the latter if the
  /// output is in place already. Error{refused}, with nothing changed, if records are missing or parts do not
  /// match their records (the message lists the shards), and for the errors of OutputFile::create().
  /// Error{not_durable} if the output is in place, but files are left or its directory could not be flushed
  /// to disk. `placing` is called right before the output gets its name.
  void run(
      Engine& engine, const std::function<void()>& placing = [] {});

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool look_again(Clock::time_point& since);
  [[nodiscard]] bool find_run();
  [[nodiscard]] bool is_in_place();
  [[nodiscard]] std::vector<ShardRecord> read_records();
  [[noreturn]] void refuse_missing(const std::vector<std::uint64_t>& missing) const;
  [[nodiscard]] Message reasons(const std::vector<std::uint64_t>& missing) const;
  [[nodiscard]] bool has_become_output(Engine& engine, std::vector<ShardRecord> records);
  [[nodiscard]] bool is_whole(const Descriptor& common, const std::vector<ShardRecord>& records) const;
  void put_in_place(Engine& engine, const std::vector<ShardRecord>& records,
                    const std::function<void()>& placing);
  [[nodiscard]] std::vector<std::uint64_t> different_parts(Engine& engine,
                                                           const std::vector<ShardRecord>& records,
                                                           const Descriptor& common,
                                                           const OutputFile* output);
  [[nodiscard]] bool has_sum(Engine& engine, std::uint64_t shard, const ShardRecord& record,
                             const Descriptor& common, const OutputFile* output) const;
  [[noreturn]] void refuse_removed();
  void expect_waiting();
  void expect_records();
  void clean_up();
  [[nodiscard]] bool is_of_another_run();
  void mark();
  void remove_all();

  std::string out_;
  OutputFile::Existing existing_;
  Wanted wanted_;
  ShardFiles files_;
  Clock::duration patience_;  ///< time left to look again
  ShardRun run_;
  std::optional<os::Status> placed_;  ///< of the output in place, if known
};

}  // namespace clipper
