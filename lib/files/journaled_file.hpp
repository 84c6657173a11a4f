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

/// A tensor file whose elements are changed where they are, without a second file. No reader accepts the file
/// during a change, because its version is npy::kUnfinishedVersion. If a change is interrupted by the end of
/// the process or a power failure, the same change finishes it: each part is changed exactly once.
///
/// At every instant, all bytes before the journal's last part are changed, all bytes after it are unchanged,
/// and the part itself can be calculated from the journal. Names and inodes do not identify the journal of a
/// file, because copies, renames and restored backups change them: a journal belongs to a file if every byte
/// of the file is as the journal's last record says. Every failure is an Error that names the path; its kind
/// is {io} unless stated otherwise.
class JournaledFile {
 public:
  /// `input` is from InputFile::open_to_change() and must outlive this. Error{refused} if an interrupted
  /// change cannot be finished; also on GlusterFS, unless there is an interrupted change to finish.
  explicit JournaledFile(const InputFile& input);

  /// The file's version before the interrupted change; nothing if no change was interrupted.
  [[nodiscard]] std::optional<std::byte> version() const;

  /// The last record of the journal; null if there is none.
  [[nodiscard]] const JournalRecord* recorded() const noexcept;

  /// The change to be made.
  struct Change {
    std::string what;         ///< everything that decides the result; identifies an interrupted change
    std::string description;  ///< the change for people
    std::uint64_t min;        ///< the bounds as elements: see JournalRecord
    std::uint64_t max;
    std::uint64_t capacity;     ///< max bytes of a part: a multiple of a page, or all data
    std::uint64_t data_offset;  ///< where the first part begins
    std::function<std::uint64_t(std::uint64_t begin, std::uint64_t end)> sum;  ///< placed_sum() of a range
  };

  /// A part of the file: its bytes before and after the change.
  struct Part {
    std::uint64_t offset;
    std::span<const std::byte> before;
    std::span<std::byte> after;
    std::uint64_t sum_before;  ///< placed_sum() of each
    std::uint64_t sum_after;
  };

  /// If `change` was interrupted, returns the part at which: the caller reads it, finishes it, and goes on
  /// after it. The part is empty and at the end of the file if only commit() was missing. Error{refused} if
  /// another change was interrupted, or the file does not match its journal.
  [[nodiscard]] std::optional<JournalRecord> begin(Change change);
  [[nodiscard]] std::uint64_t capacity() const noexcept { return next_.capacity; }  ///< after begin()

  /// The original bytes of the interrupted part, and its completion. Error{refused} if a byte of the part in
  /// the file is neither the original nor the new one.
  void read_interrupted(std::span<std::byte> before) const { journal_->read_last(before); }
  void finish_interrupted(const Part& part);

  /// Reads the next part, which the caller then changes or leaves as it is. Error{io} if another process has
  /// written to the file.
  void read(std::span<std::byte> before, std::uint64_t offset);
  void change(const Part& part);
  void leave(const Part& part);

  /// Makes the file valid again and removes the journal. Error{io} if another process has written to the
  /// file. Error{not_durable} if the file is valid, but the disk did not confirm that, or the journal may
  /// still exist.
  void commit();

  /// Whether this finishes, or has finished, an interrupted change.
  [[nodiscard]] bool has_resumed() const noexcept { return resumed_; }

  /// Whether the file is unreadable until the same change finishes it.
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
  void confirm() const;
  void write_version(std::byte version) const;
  void write(const Part& part);
  void sync();

  const InputFile& input_;
  std::optional<Journal> journal_;
  JournalRecord next_;  ///< the fields that all records share
  Change change_;
  std::uint64_t sum_before_ = 0;  ///< of all bytes before the next part now, with the original version
  std::uint64_t sum_after_ = 0;   ///< of the next part and all bytes after it; known if there is a journal
  struct stat known_;             ///< the file's status after this process last wrote to it
  bool unfinished_ = false;
  bool resumed_ = false;
};

}  // namespace clipper
