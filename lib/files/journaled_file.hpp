#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "files/input_file.hpp"
#include "files/journal.hpp"

namespace clipper {

/// A tensor file whose elements are changed where they are, without a second file. No reader takes the file
/// during a change: its version is npy::kUnfinishedVersion. However a change is interrupted, by a process's
/// end or a power cut, the same change finishes it: each part is changed exactly once.
///
/// At every instant: what lies before the journal's last part is changed, what lies after it is not, and the
/// part itself can be calculated from the journal. Nothing rests on names or inodes, which copies, renames
/// and restored backups change: a journal is a file's if every byte of the file is as the journal's last
/// record has it. Every failure is an Error that names the path: {io} if nothing else is said.
class JournaledFile {
 public:
  /// `input` is open to be changed, and outlives it. Error{refused} if a change was interrupted and cannot be
  /// gone on with, and on GlusterFS unless one was.
  explicit JournaledFile(const InputFile& input);

  /// The file's version before the change that was interrupted; nothing if none was.
  [[nodiscard]] std::optional<std::byte> version() const;

  /// What is going to be done.
  struct Change {
    std::string what;           ///< all that decides the bytes: by this the same change is known again
    std::string description;    ///< the same for people
    std::uint64_t capacity;     ///< max bytes of a part: a multiple of a page, or the whole data
    std::uint64_t data_offset;  ///< where the first part begins
    std::function<std::uint64_t(std::uint64_t begin, std::uint64_t end)> sum;  ///< placed_sum() in the file
  };

  /// A part of the file, and what becomes of it.
  struct Part {
    std::uint64_t offset;
    std::span<const std::byte> before;
    std::span<std::byte> after;
    std::uint64_t sum_before;  ///< placed_sum() of each
    std::uint64_t sum_after;
  };

  /// If that change was interrupted, the part where it was: to be read, finished, and gone on from. It is
  /// empty, at the file's end, if only the end of the work was missing. Error{refused} if something else was
  /// interrupted, or if the file is not the one that was, or not as it was left.
  [[nodiscard]] std::optional<JournalRecord> begin(Change change);
  [[nodiscard]] std::uint64_t capacity() const noexcept { return next_.capacity; }  ///< what it is then

  /// That part's bytes as they were, and what becomes of them. Error{refused} unless every byte of the file's
  /// is one of those two.
  void read_interrupted(std::span<std::byte> before) const { journal_->read_last(before); }
  void finish_interrupted(const Part& part);

  /// The next part: is read, and changed or not. Error{io} if another process has written to the file.
  void read(std::span<std::byte> before, std::uint64_t offset);
  void change(const Part& part);
  void leave(const Part& part);

  /// Makes the file valid again. Error{io} if another process has written to it, Error{not_durable} if it is
  /// valid, but the journal is not gone.
  void commit();

  /// Whether an interrupted change is being finished, or has been.
  [[nodiscard]] bool has_resumed() const noexcept { return resumed_; }

  /// Whether the file is left for the same change to finish, if it is not gone on with.
  [[nodiscard]] bool is_unfinished() const noexcept { return unfinished_; }

 private:
  void refuse_unless_it_can_go_on() const;
  [[nodiscard]] bool is_recorded(const JournalRecord& record) const;
  [[nodiscard]] bool is_as_recorded(const JournalRecord& record);
  [[nodiscard]] bool is_part_or_torn(const Part& part) const;
  [[nodiscard]] std::uint64_t header_sum() const;
  [[noreturn]] void refuse_changed() const;
  void discard_journal();
  void expect_own();
  struct stat expect_named();
  [[noreturn]] void refuse_written() const;
  void poison();
  void write_version(std::byte version) const;
  void write(std::span<const std::byte> bytes, std::uint64_t offset);
  void sync();

  const InputFile& input_;
  std::optional<Journal> journal_;
  JournalRecord next_;  ///< what all records have in common
  Change change_;
  std::uint64_t sum_before_ = 0;  ///< of everything before the next part, as it is now, but for the version
  std::uint64_t sum_after_ = 0;   ///< of the next part and everything after it; known if there is a journal
  struct stat known_;             ///< the file's status since this process wrote to it
  bool unfinished_ = false;
  bool resumed_ = false;
};

}  // namespace clipper
