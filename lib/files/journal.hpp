#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "files/descriptor.hpp"
#include "files/place.hpp"

/// The journal of a file that is changed without a second copy, from which an interrupted change can be
/// finished: `.NAME.clipper-journal` in the same directory. Every failure is an Error that names the journal;
/// its kind is {io} unless stated otherwise.
namespace clipper {

/// One step of the change: the part of the file that is overwritten after the record is on the disk. The last
/// record has no part, because nothing is left to overwrite. Stored in the journal as it is in memory.
struct JournalStep {
  std::uint64_t sequence = 0;        ///< the record with the highest number counts
  std::uint64_t capacity = 0;        ///< max bytes of a part, the same in all records of a journal
  std::uint64_t offset = 0;          ///< of the part in the file
  std::uint64_t length = 0;          ///< of the part
  std::uint64_t file_size = 0;       ///< of the whole file
  std::array<std::byte, 8> start{};  ///< the first bytes of the file before the change
  std::uint64_t part_sum = 0;        ///< placed_sum() of the part before it is overwritten
  std::uint64_t rest_sum = 0;        ///< placed_sum() of the rest of the file, with its original version
  std::uint64_t min = 0;             ///< the bounds as elements, which can be percentiles of the original
  std::uint64_t max = 0;

  [[nodiscard]] bool is_last() const noexcept { return length == 0; }
};

struct JournalRecord : JournalStep {
  std::string parameters;   ///< everything that decides the result
  std::string description;  ///< the parameters for people; truncated to fit the record
};

/// A journal has two slots, which are used in turn: while one is written, and may end up torn, the other is
/// still valid. A slot is a block of 4 KiB for the record, and space for the original bytes of its part.
/// Checksums tell a complete slot from a torn one. Numbers are in the byte order of this machine; a journal
/// with another byte order is not valid.
class Journal {
 public:
  /// Opens and locks the journal of the file `file`; nothing if it has none. Error{refused} if the journal
  /// has permissions for others that the file's `mode` lacks, belongs to another user, is in use, was written
  /// by another version of clipper, or is not a journal.
  [[nodiscard]] static std::optional<Journal> find(const Place& file, mode_t mode);

  /// The name of the journal of `file`.
  [[nodiscard]] static Place place_for(const Place& file);

  /// Creates a journal with the space for two parts of `capacity` bytes. Until keep() is called, it is
  /// removed by its destructor and by remove_temporaries().
  [[nodiscard]] static Journal create(const Place& file, mode_t mode, std::uint64_t capacity);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  /// The last complete record; nothing if there is none.
  [[nodiscard]] const std::optional<JournalRecord>& last() const noexcept { return last_; }

  /// Reads the original bytes of the last record's part. The size of `bytes` must be the length of the part.
  void read_last(std::span<std::byte> bytes) const;

  /// Writes the next record and the original bytes of its part. They are on the disk when this returns.
  /// Error{refused} if the parameters are too long.
  void append(JournalRecord record, std::span<const std::byte> bytes);

  /// Writes the last record and the original bytes of its part once more. After a failed sync, they may be
  /// readable without being on the disk.
  void confirm(std::span<const std::byte> bytes);

  /// Keeps the journal when the process ends from now on. Its name is on the disk when this returns.
  void keep();

  /// Removes the journal, unless it was removed already or another file has its name now. Returns the error
  /// if the journal may exist after a power failure.
  [[nodiscard]] std::error_code remove();

  [[nodiscard]] const std::string& path() const noexcept { return place_.path(); }

 private:
  explicit Journal(const Place& file);
  void own(mode_t mode);
  void expect_known_format() const;
  [[nodiscard]] std::optional<JournalRecord> read_slot(std::uint64_t slot) const;
  void write(const JournalRecord& record, std::span<const std::byte> bytes) const;

  Place place_;
  Descriptor fd_;
  FileId id_;
  std::optional<JournalRecord> last_;
  int registration_ = -1;  ///< among the temporaries, until keep()
};

}  // namespace clipper
