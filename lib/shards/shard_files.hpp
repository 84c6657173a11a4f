#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.hpp"
#include "files/place.hpp"
#include "shards/shard.hpp"

/// The files beside an output that its shards write and that Join reads. Their names and contents are the
/// same for every repetition of a shard, so it does not matter who wrote them last. Every failure is an Error
/// that names the path: {io} if nothing else is said.
namespace clipper {

/// What all shards of one output agree on.
struct ShardRun {
  std::uint64_t shards = 1;
  std::uint64_t size = 0;     ///< of the output, in bytes
  bool must_be_new = false;   ///< no existing output may be replaced
  std::string work{};         ///< all that decides the bytes of the output, of the input too: one line
  std::string description{};  ///< the same for people, in one line
  /// When the complete output was written, see time_text(), as soon as it is in place; empty before.
  std::string in_place{};

  /// What tells runs apart: 64 bits of everything but the description and in_place.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

/// When a file was last written to: seconds and nanoseconds, "1.000000005".
[[nodiscard]] std::string time_text(const struct stat& status);

/// The run that cuts the output of that plan into `shards`. The input is known by its size, its modification
/// time and 16 samples of 4 KiB, of which the first has the header.
[[nodiscard]] ShardRun make_run(std::uint64_t shards, bool must_be_new, const Plan& plan,
                                const InputFile& input);

/// The text of the file that says what the run is, and back. Nothing for any other text.
[[nodiscard]] std::string text_of(const ShardRun& run);
[[nodiscard]] std::optional<ShardRun> parsed_run(std::string_view text);

/// What a shard says when its part is complete.
struct ShardRecord {
  /// placed_sum() of the bytes that were calculated, whatever a disk or a network makes of them.
  std::uint64_t sum = 0;
  bool in_common = false;  ///< the part is a range of the shards' common file, not a file of its own

  friend bool operator==(const ShardRecord&, const ShardRecord&) = default;
};

/// The text of the record of that shard of that run, and back. Nothing for any other text.
[[nodiscard]] std::string text_of(const ShardRun& run, std::uint64_t shard, const ShardRecord& record);
[[nodiscard]] std::optional<ShardRecord> parsed_record(const ShardRun& run, std::uint64_t shard,
                                                       std::string_view text);

/// The names beside OUT, links of whose last name have been followed. Error{refused} for an OUT that is
/// neither a file nor nothing.
class ShardFiles {
 public:
  explicit ShardFiles(const std::string& out);

  [[nodiscard]] const Place& out() const noexcept { return out_; }

  /// What has OUT's name; nothing if nothing has.
  [[nodiscard]] const std::optional<struct stat>& replaced() const noexcept { return replaced_; }

  [[nodiscard]] Place run() const;                                             ///< OUT.shards
  [[nodiscard]] Place common(const ShardRun& run) const;                       ///< OUT.shards.F
  [[nodiscard]] Place part(const ShardRun& run, std::uint64_t shard) const;    ///< OUT.shard-K-of-N.F
  [[nodiscard]] Place record(const ShardRun& run, std::uint64_t shard) const;  ///< the same, .done

  /// What is being done to OUT as far as run() says. Nothing if it is absent, or cut off: by a power cut, or
  /// where a network file system does not yet show the length of a file that has been replaced.
  /// Error{refused} if it is something else, or was made by a former version of clipper.
  [[nodiscard]] std::optional<ShardRun> read_run() const;

  /// Nothing if there is no such record yet, or another one.
  [[nodiscard]] std::optional<ShardRecord> read_record(const ShardRun& run, std::uint64_t shard) const;

 private:
  Place out_;
  std::optional<struct stat> replaced_;
};

/// Opens a file that shards have made, or with O_CREAT make. Nothing if there is none.
/// Error{refused} for what is no regular file, and for one that belongs neither to this process's user nor to
/// the owner of the directory, who could replace it anyway.
[[nodiscard]] Descriptor open_own(const Place& place, int flags, mode_t mode = 0);

/// "1, 4 to 7"
[[nodiscard]] std::string list_text(const std::vector<std::uint64_t>& numbers);

}  // namespace clipper
