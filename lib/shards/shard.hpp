#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "os/os.hpp"
#include "shards/shard_files.hpp"

/// How one of several processes clips its part of a tensor, and how the parts become one file.
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
