#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "claim.hpp"
#include "descriptor.hpp"
#include "error.hpp"
#include "output_file.hpp"

/// One output file, written by many processes, on one machine or on many that share a file system.
namespace clipper {

/// The output of all shards of a run, at one shard. For OUT there are, until it is in place:
///
///     OUT.partial            the file that all shards write, each its part, to be renamed to OUT
///     OUT.shards/run.I       the claim: a symbolic link to nothing whose target says what the run is, if
///                            OUT.partial has inode I. Whoever makes it first begins the run
///     OUT.shards/K-of-N.I    a marker: shard K's part is on the disk, in the file with inode I
///     OUT.shards/link-*.I    OUT.partial, on its way to OUT
///     OUT.shards/placed.I    from then on an OUT with inode I is the run's
///
/// Nobody waits for anybody. Whatever is killed or runs twice: the bytes that a run writes to a place are the
/// same each time, markers only count for the file whose inode they name, and only that file, when it has all
/// of them, is put in place. Every failure is an Error that names the path: {io} if nothing else is said.
class SharedOutput {
 public:
  /// What is the same for all shards of a run.
  struct Run {
    std::uint64_t shards;
    std::string description;  ///< of everything that decides the output's bytes
    std::uint64_t size;       ///< of the output
  };

  /// Begins the run, or joins it. Error{refused} if another one has been begun, for what is called
  /// OUT.partial but is not a run's, and for all that OutputFile::create() refuses.
  [[nodiscard]] static SharedOutput open(const std::string& path, OutputFile::Existing existing,
                                         const Run& run);

  /// Puts a run's output in place whose shards are all done; a last shard that saw an outdated directory did
  /// not. Fine if that was done already and a shard was killed while it cleaned up. Error{refused} naming the
  /// missing shards, and if there is no run.
  static void finalize(const std::string& path, OutputFile::Existing existing);

  /// Whether the run's output is in place already.
  [[nodiscard]] bool is_in_place() const noexcept { return in_place_; }

  /// The output for a shard's part: offset 0 is that of the part. It is not to be committed.
  [[nodiscard]] OutputFile part(std::uint64_t offset) const;

  /// Whether the shard's part is on the disk already.
  [[nodiscard]] bool is_marked(std::uint64_t shard) const;

  /// The shard's part is written: marks that, once it is on the disk. Puts the output in place if no shard is
  /// missing. False if the files have been taken away meanwhile, or others have replaced them: to be opened
  /// anew.
  [[nodiscard]] bool finish(std::uint64_t shard);

  /// How many shards were without a marker when this one had finished.
  [[nodiscard]] std::size_t missing() const noexcept { return missing_; }

 private:
  SharedOutput(const std::string& path, OutputFile::Existing existing);
  [[nodiscard]] std::optional<struct stat> existing_file() const;
  [[nodiscard]] bool open_partial(int flags);
  [[nodiscard]] struct stat partial_status() const;
  [[nodiscard]] bool has_inode(const std::string& path) const;
  [[nodiscard]] std::string own(std::string_view name) const;
  [[nodiscard]] bool has_directory() const;
  void expect_size() const;
  [[noreturn]] void refuse_size(off_t size) const;
  [[nodiscard]] bool begin(const std::string& text);
  [[nodiscard]] bool join(const std::string& text);
  [[nodiscard]] std::optional<std::string> end_last(std::optional<std::string_view> text);
  [[nodiscard]] bool mark(std::uint64_t shard) const;
  [[nodiscard]] std::string marker(std::uint64_t shard) const;
  [[nodiscard]] std::vector<std::uint64_t> unmarked() const;
  [[nodiscard]] bool expect_in_place();
  [[nodiscard]] bool place();
  [[nodiscard]] bool put(const std::string& source) const;
  void keep_mode() const;
  void end(ErrorKind failure) const;
  void remove_markers() const;
  [[nodiscard]] bool finish_all();

  std::string path_;  ///< of OUT, links resolved
  std::string partial_;
  std::string directory_;
  OutputFile::Existing existing_;
  std::uint64_t shards_ = 0;
  off_t bytes_ = 0;  ///< of the output
  Descriptor fd_;    ///< of OUT.partial
  ino_t inode_ = 0;  ///< of it
  off_t size_ = 0;   ///< of it, when it was opened
  std::size_t missing_ = 0;
  bool in_place_ = false;
};

}  // namespace clipper
