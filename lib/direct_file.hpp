#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "input_file.hpp"
#include "journal.hpp"

namespace clipper {

/// A tensor file whose elements are changed where they are, without a second file: --in-place --direct. While
/// that is under way no reader takes the file: its version is npy::kUnfinishedVersion. However it is
/// interrupted, a process's end or a power cut, the same change finishes it: each part is changed exactly
/// once.
///
/// At every instant: what lies before the journal's last part is changed, what lies behind it is not, and
/// the part itself can be calculated from the journal. Every failure is an Error that names the path: {io} if
/// nothing else is said.
class DirectFile {
 public:
  /// `input` is open to be changed, and outlives it. Error{refused} if a change was interrupted and cannot be
  /// gone on with.
  explicit DirectFile(const InputFile& input);

  /// The file's version before the change that was interrupted; nothing if none was.
  [[nodiscard]] std::optional<std::byte> version() const;

  /// What is going to be done, as text, and how many bytes a part shall have at the most. If that is what was
  /// interrupted, the part where it was: to be read, finished, and gone on behind. Error{refused} if
  /// something else was.
  [[nodiscard]] std::optional<JournalRecord> begin(const std::string& parameters, std::uint64_t capacity);
  [[nodiscard]] std::uint64_t capacity() const noexcept { return next_.capacity; }  ///< what it is then

  /// That part's bytes as they were, and what becomes of them.
  void read_interrupted(std::span<std::byte> before) const { journal_->read_last(before); }
  void finish_interrupted(std::span<const std::byte> after);

  /// Changes a part of the file, the next one in its order, from `before` to `after`.
  void change(std::uint64_t offset, std::span<const std::byte> before, std::span<const std::byte> after);

  /// Makes the file valid again. Error{not_durable} if it is, but the journal is not gone.
  void commit();

  /// Whether the file is left for the same change to finish, if it is not gone on with.
  [[nodiscard]] bool is_unfinished() const noexcept { return unfinished_; }

 private:
  void refuse_unless_it_can_go_on() const;
  void discard_needless_journal();
  [[nodiscard]] bool is_recorded(const Journal& journal) const;
  void write_version(std::byte version) const;
  void write(std::span<const std::byte> bytes, std::uint64_t offset) const;
  void sync() const;

  const InputFile& input_;
  std::optional<Journal> journal_;
  JournalRecord next_;  ///< what all records have in common
  bool unfinished_ = false;
};

}  // namespace clipper
