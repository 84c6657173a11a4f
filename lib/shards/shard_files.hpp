#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "files/place.hpp"
#include "os/os.hpp"

/// Divides the work among processes that do not communicate. Pure functions: every process gets the same
/// answer. The parts of the shards are disjoint and together cover everything; some may be empty.
namespace clipper {

/// One of `count` processes.
struct Shard {
  std::uint64_t index = 0;  ///< 0 to count - 1
  std::uint64_t count = 1;
};

inline constexpr std::uint64_t kMaxShards = 1'000'000;

/// The range of the shard's part in an output file of `file_size` bytes. Every part that is not empty begins
/// at a multiple of 1 MiB, so that a join can share blocks instead of copying them.
[[nodiscard]] ByteRange part_range(const Shard& shard, std::uint64_t file_size);

/// The elements in part_range() of an output file with a header of `header_size` bytes, which must be less
/// than 1 MiB. The header belongs to the first shard.
[[nodiscard]] Slice slice_of(const Shard& shard, const TensorLayout& layout, std::uint64_t header_size);

/// Indexes of axis 0.
struct Rows {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// The rows of the shard's slab, its part as a tensor of its own. Error{input} unless the tensor has an axis
/// 0 and is in C order.
[[nodiscard]] Rows rows_of(const Shard& shard, const TensorLayout& layout);

/// The plan for a slab, which becomes a tensor of its own.
[[nodiscard]] Plan slab_plan(const Plan& whole, const Rows& rows);

/// The indices, in ascending order, of the files that the shard clips. `sizes` are the sizes of all files in
/// bytes. Each file, from the largest to the smallest, is given to the shard with the fewest bytes.
[[nodiscard]] std::vector<std::size_t> files_of(const Shard& shard, std::span<const std::uint64_t> sizes);

// The files in the directory of an output that its shards write and that Join reads. Every repetition of a
// shard gives them the same names and contents, so it does not matter which one wrote last. Every failure is
// an Error that names the path; its kind is {io} unless stated otherwise.

/// The properties of a run that all its shards have in common.
struct ShardRun {
  std::uint64_t shards = 1;
  std::uint64_t size = 0;     ///< of the output, in bytes
  bool must_be_new = false;   ///< an existing output is refused
  std::string work{};         ///< everything that decides the output's bytes, including the input: one line
  std::string description{};  ///< `work` for people, in one line
  /// time_text() of the output when it is in place; empty before.
  std::string in_place{};

  /// Identifies the run: 64 bits of all members but description and in_place.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

/// The modification time of a file in seconds and nanoseconds: "1.000000005".
[[nodiscard]] std::string time_text(const os::Status& status);

/// What tells an input from most others, also where copies have other times: "480 bytes, samples 0123...".
[[nodiscard]] std::string content_text(const InputFile& input);

/// The run that divides the output of `plan` into `shards` parts. The input is identified by its size, its
/// modification time and 16 samples of 4 KiB, the first of which has the header.
[[nodiscard]] ShardRun make_run(std::uint64_t shards, bool must_be_new, const Plan& plan,
                                const InputFile& input);

/// The content of OUT.shards for a run, and the run for such a content; nothing for any other text.
[[nodiscard]] std::string text_of(const ShardRun& run);
[[nodiscard]] std::optional<ShardRun> parsed_run(std::string_view text);

/// What a shard records when its part is complete.
struct ShardRecord {
  /// placed_sum() of the bytes as calculated, before disks and networks could change them.
  std::uint64_t sum = 0;
  bool in_common = false;  ///< true: the part is a range of the common file; false: it has its own file

  friend bool operator==(const ShardRecord&, const ShardRecord&) = default;
};

/// The part of ShardRun::work before the input: equal for runs that differ in nothing but the input.
[[nodiscard]] std::string_view operation_of(std::string_view work);

/// The content of a record, and the record for such a content; nothing for any other text.
[[nodiscard]] std::string text_of(const ShardRun& run, std::uint64_t shard, const ShardRecord& record);
[[nodiscard]] std::optional<ShardRecord> parsed_record(const ShardRun& run, std::uint64_t shard,
                                                       std::string_view text);

/// The files of the shards of OUT. If OUT is a symbolic link, they are beside the file that it leads to.
/// Error{refused} if OUT exists and is not a regular file.
class ShardFiles {
 public:
  explicit ShardFiles(const std::string& out);

  [[nodiscard]] const Place& out() const noexcept { return out_; }

  /// The status of the existing OUT; nothing if there is none.
  [[nodiscard]] const std::optional<os::Status>& replaced() const noexcept { return replaced_; }

  [[nodiscard]] Place run() const;                                             ///< OUT.shards
  [[nodiscard]] Place common(const ShardRun& run) const;                       ///< OUT.shards.F
  [[nodiscard]] Place part(const ShardRun& run, std::uint64_t shard) const;    ///< OUT.shard-K-of-N.F
  [[nodiscard]] Place record(const ShardRun& run, std::uint64_t shard) const;  ///< OUT.shard-K-of-N.F.done

  /// Reads OUT.shards. Nothing if it does not exist or is cut off, by a power failure or because a network
  /// file system shows an old length. Error{refused} if it was not made by this version of clipper.
  [[nodiscard]] std::optional<ShardRun> read_run() const;

  /// Opens OUT.shards, if it exists, and takes a shared lock: discard_shards() refuses while it is held.
  /// Error{refused} if discard_shards() is running.
  [[nodiscard]] Descriptor hold_run() const;

  /// Reads a record. Nothing if it does not exist yet or belongs to another run.
  [[nodiscard]] std::optional<ShardRecord> read_record(const ShardRun& run, std::uint64_t shard) const;

 private:
  Place out_;
  std::optional<os::Status> replaced_;
};

/// Opens a file that shards have made or, with O_CREAT, makes it. Nothing if it does not exist.
/// Error{refused} if it is not a regular file, if another user's umask keeps this process out, or if it
/// belongs neither to this process's user nor to the owner of the directory (who could replace it anyway).
[[nodiscard]] Descriptor open_own(const Place& place, int flags, os::Mode mode = 0);

/// The content of such a file, or its first 64 KiB, which are not valid in any file of clipper. On a network
/// file system, an open file that another machine has replaced may vanish: then reads the file that replaced
/// it.
[[nodiscard]] std::optional<std::string> read_text(const Place& place);

/// Removes the file, unless that was done already.
void remove_file(const Place& place);

/// "1, 4 to 7"
[[nodiscard]] std::string list_text(const std::vector<std::uint64_t>& numbers);

/// A record of another run of the same output.
struct OtherRecord {
  std::uint64_t shard = 0;
  std::uint64_t shards = 0;
  std::string work;         ///< ShardRun::work
  std::string description;  ///< ShardRun::description
};

/// The records of all other runs, for messages: a network file system may list names late. Without those that
/// cannot be read.
[[nodiscard]] std::vector<OtherRecord> other_records(const Place& out, const ShardRun& run);

/// Whether shards of OUT, or --finalize, give the file `path` its name.
[[nodiscard]] bool is_of_shards(const std::string& out, const std::string& path);

/// Removes all that shards and --finalize have left beside `out`, of all runs, and not `out` itself. Returns
/// the paths; with `dry_run` removes nothing. Error{refused}, with nothing removed, if a shard is running on
/// this machine, or on another one if the file system's locks reach it; also for the errors of open_own().
[[nodiscard]] std::vector<std::string> discard_shards(const std::string& out, bool dry_run);

}  // namespace clipper
