#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "files/descriptor.hpp"
#include "files/place.hpp"

/// What is needed to go on with a file after its change has been interrupted: `.NAME.clipper-journal` beside
/// it. Every failure is an Error{io} that names the journal if nothing else is said.
namespace clipper {

/// One step of the change: the part of the file that is overwritten once the record is on the disk. The last
/// record has no part: nothing is left to be overwritten.
struct JournalRecord {
  std::uint64_t sequence = 0;        ///< the highest one counts
  std::uint64_t capacity = 0;        ///< max bytes of a part, the same in the whole journal
  std::uint64_t offset = 0;          ///< of the part in the file
  std::uint64_t length = 0;          ///< of the part
  std::uint64_t file_size = 0;       ///< of the whole file
  std::array<std::byte, 8> start{};  ///< the file's first bytes as they were before the change
  std::uint64_t part_sum = 0;        ///< placed_sum() of the part before it is overwritten
  std::uint64_t rest_sum = 0;  ///< placed_sum() of everything else meanwhile, with the file's own version
  std::string parameters;      ///< all that decides what is done to the file
  std::string description;     ///< the same for people; cut off where the record has no more room

  [[nodiscard]] bool is_last() const noexcept { return length == 0; }
};

/// Two slots, used in turn: while one is written, and may end up torn, the other is still valid. A slot is a
/// block of 4 KiB for the record, and room for the part's bytes as they were before. Checksums tell a whole
/// slot from a torn one. Numbers are in this machine's byte order; a journal of another order is not valid.
class Journal {
 public:
  /// The journal of the file with that name; nothing if it has none. `mode` is the file's: what that does not
  /// permit to others, the journal must not permit either. Error{refused} if it does, is another user's, in
  /// use, of another version of clipper, or no journal at all.
  [[nodiscard]] static std::optional<Journal> find(const Place& file, mode_t mode);

  /// Where the journal of the file with that name is.
  [[nodiscard]] static Place place_for(const Place& file);

  /// A new one, with the space for two parts of `capacity` bytes. It is removed when it is destroyed, and by
  /// remove_temporaries(), until keep().
  [[nodiscard]] static Journal create(const Place& file, mode_t mode, std::uint64_t capacity);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  /// The last whole record; nothing if there is none.
  [[nodiscard]] const std::optional<JournalRecord>& last() const noexcept { return last_; }

  /// The bytes of the last record's part; as many as its length.
  void read_last(std::span<std::byte> bytes) const;

  /// Writes the next record and its part's bytes. They are on the disk when it returns. Error{refused} if the
  /// record's text is too long.
  void append(JournalRecord record, std::span<const std::byte> bytes);

  /// The same with the last record once more: that it can be read after a sync has failed does not mean that
  /// it is on the disk.
  void confirm(std::span<const std::byte> bytes);

  /// From now on it stays if the process ends. Its name is on the disk when that returns.
  void keep();

  /// Removes the journal unless somebody else has done that, or has given its name to another file. False,
  /// with errno, if it may still be there after a power cut.
  [[nodiscard]] bool remove();

  [[nodiscard]] const std::string& path() const noexcept { return place_.path(); }

 private:
  explicit Journal(const Place& file);
  void own(mode_t mode);
  void expect_known_format() const;
  [[nodiscard]] bool unlink() const noexcept;
  [[nodiscard]] std::optional<JournalRecord> read_slot(std::uint64_t slot) const;
  void write(const JournalRecord& record, std::span<const std::byte> bytes) const;

  Place place_;
  Descriptor fd_;
  FileId id_;
  std::optional<JournalRecord> last_;
  int registration_ = -1;  ///< among the temporaries, until keep()
};

}  // namespace clipper
