#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "npz/archive.hpp"

namespace clipper::npz {

/// A stored member as Python's zipfile makes it for np.savez, dated 1980-01-01: what ArchiveWriter follows
/// where no archive was read.
[[nodiscard]] Member new_member(std::string name);

/// The bytes of a new archive around its members' data. The fields follow the archive that was read: names,
/// times, attributes, and whether a local header has a ZIP64 field. A new member of equal size therefore has
/// the header that the same writer, such as np.savez, would write.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(std::string comment) : comment_(std::move(comment)) {}

  /// Makes room for this many bytes of entries: growing would take twice the memory.
  void reserve(std::size_t size) { list_.reserve(size); }

  /// The local header of a new member that takes the place of `from`. Its length depends on `from` and on
  /// contents.size only, so that the header can be written after the data.
  [[nodiscard]] static std::string local_header(const Member& from, const Contents& contents);

  /// Adds a member, whose local header is at byte `begin` of the new archive, to the list of members.
  void add(const Member& from, const Contents& contents, std::uint64_t begin);

  /// The list of members, which comes after all members.
  [[nodiscard]] const std::string& list() const noexcept { return list_; }

  /// All bytes after the list, which begins at byte `begin`.
  [[nodiscard]] std::string end_records(std::uint64_t begin) const;

 private:
  std::string comment_;
  std::string list_;
  std::uint64_t count_ = 0;
};

}  // namespace clipper::npz
