#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "npz/archive.hpp"

/// The records of the zip format, by PKWARE's APPNOTE.TXT. All numbers are little-endian.
namespace clipper::npz {

/// A number at a fixed place of a record.
template <class T>
struct Field {
  std::size_t at;
};
using Field16 = Field<std::uint16_t>;
using Field32 = Field<std::uint32_t>;
using Field64 = Field<std::uint64_t>;

/// The value of a field of 32 bits whose number is in the ZIP64 field.
inline constexpr std::uint32_t kInZip64 = 0xffffffff;

/// In front of each member's data. The name and the extra fields follow it.
struct LocalHeader {
  static constexpr std::uint32_t kSignature = 0x04034b50;
  static constexpr std::size_t kLength = 30;
  static constexpr Field16 kVersion{4}, kFlags{6}, kMethod{8}, kNameLength{26}, kExtraLength{28};
  static constexpr Field32 kTime{10}, kCrc{14}, kStoredSize{18}, kSize{22};
};

/// An entry of the list of members. The name, the extra fields and a comment follow it.
struct ListEntry {
  static constexpr std::uint32_t kSignature = 0x02014b50;
  static constexpr std::size_t kLength = 46;
  static constexpr Field16 kMadeBy{4}, kVersion{6}, kFlags{8}, kMethod{10}, kNameLength{28}, kExtraLength{30},
      kCommentLength{32}, kDisk{34};
  static constexpr Field32 kTime{12}, kCrc{16}, kStoredSize{20}, kSize{24}, kAttributes{38}, kBegin{42};
};

/// After the list of members. A comment follows it.
struct EndRecord {
  static constexpr std::uint32_t kSignature = 0x06054b50;
  static constexpr std::size_t kLength = 22;
  static constexpr Field16 kDisk{4}, kListDisk{6}, kCountHere{8}, kCount{10}, kCommentLength{20};
  static constexpr Field32 kListSize{12}, kListBegin{16};
};

/// In front of EndLocator, if a number does not fit EndRecord. `kRest` is the length of what follows it.
struct EndRecord64 {
  static constexpr std::uint32_t kSignature = 0x06064b50;
  static constexpr std::size_t kLength = 56;
  static constexpr Field64 kRest{4}, kCountHere{24}, kCount{32}, kListSize{40}, kListBegin{48};
  static constexpr Field16 kMadeBy{12}, kVersion{14};
  static constexpr Field32 kDisk{16}, kListDisk{20};
};

/// In front of EndRecord, if there is an EndRecord64.
struct EndLocator {
  static constexpr std::uint32_t kSignature = 0x07064b50;
  static constexpr std::size_t kLength = 20;
  static constexpr Field32 kDisk{4}, kDisks{16};
  static constexpr Field64 kRecordBegin{8};
};

/// The first field of every record.
inline constexpr Field32 kSignatureField{0};

/// After the data of members with kHasDescriptor: the CRC-32 and the sizes.
inline constexpr std::uint32_t kDescriptorSignature = 0x08074b50;

/// Bits of kFlags.
inline constexpr std::uint16_t kHasDescriptor = 1U << 3U;
inline constexpr std::uint16_t kIsUtf8 = 1U << 11U;

/// Extra fields: an id, a length and as many bytes.
inline constexpr std::size_t kExtraPreamble = 4;
inline constexpr std::uint16_t kZip64 = 0x0001;
inline constexpr std::uint16_t kUnicodePath = 0x7075;

/// The version of the zip format that ZIP64 needs: 4.5.
inline constexpr std::uint16_t kZip64Version = 45;

template <class T>
[[nodiscard]] T get(std::string_view record, Field<T> field) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(record[field.at + i])) << 8 * i);
  return value;
}

template <class T>
void put(std::string& record, Field<T> field, std::type_identity_t<T> value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) record[field.at + i] = static_cast<char>(value >> 8 * i & 0xff);
}

/// A record with this signature and zeros.
template <class Record>
[[nodiscard]] std::string new_record() {
  std::string record(Record::kLength, '\0');
  put(record, kSignatureField, Record::kSignature);
  return record;
}

/// Whether the bytes begin with the record's signature, and all of the record is there.
template <class Record>
[[nodiscard]] bool is_record(std::string_view bytes) {
  return bytes.size() >= Record::kLength && get(bytes, kSignatureField) == Record::kSignature;
}

/// The extra fields of a member, in its local header and in its entry of the list. All functions throw
/// Error{input} for fields that are malformed; this one, the data of the field with an id, a part of
/// `extras`, also if there are two.
[[nodiscard]] std::optional<std::string_view> extra_field(std::string_view extras, std::uint16_t id);

/// How many extra fields there are.
[[nodiscard]] std::size_t count_extra_fields(std::string_view extras);

/// Replaces each number that is in the ZIP64 field of `extras`. The field has these numbers or, if
/// `may_have_all`, all numbers.
void take_zip64(std::string_view extras, std::initializer_list<std::uint64_t*> numbers, bool may_have_all);

/// Error{input} if a field gives the member another name: programs of different ages take different ones.
void check_unicode_path(std::string_view extras, std::string_view name);

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
