#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "error.hpp"

/// .npz archives: zip files whose members are .npy files. Structure only; the members' contents are not read.
namespace clipper::npz {

/// Reads bytes at an offset of the archive. Returns their number, less than requested only at the end.
using ReadAt = std::function<std::size_t(std::span<std::byte> bytes, std::uint64_t offset)>;

/// How a member is compressed: the numbers of the zip format. An archive may have others.
enum class Method : std::uint16_t { stored = 0, deflated = 8 };

/// What an archive says of a member's bytes.
struct Contents {
  std::uint32_t crc = 0;          ///< CRC-32 of the contents
  std::uint64_t size = 0;         ///< of the contents
  std::uint64_t stored_size = 0;  ///< of the bytes in the archive
};

struct Member {
  std::string name;  ///< "w.npy", as in the archive. Never a path on disk.
  Method method = Method::stored;
  Contents contents;
  std::uint64_t begin = 0;  ///< where its local header begins in the archive
  std::uint64_t data = 0;   ///< where its bytes begin in the archive
  std::string local;        ///< the bytes of its local header
  std::string listed;       ///< the bytes of its entry in the list of members (the central directory)

  /// np.load's key: the name without ".npy".
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] bool is_npy() const { return name.ends_with(".npy"); }
};

struct Archive {
  std::vector<Member> members;  ///< in the order of the list of members, which is np.load's order
  std::string comment;
};

/// The first bytes of an archive, of which one has members and the other has none.
[[nodiscard]] bool can_be_archive(std::span<const std::byte> start);

/// Reads the structure of an archive of `size` bytes. Error{input}, without a path in front, for everything
/// that programs could read differently: overlapping members, bytes before the first member or after the end,
/// two members of one name, encryption, control characters in a name, fields that disagree. A size in the
/// archive never causes an allocation that is larger than the archive.
[[nodiscard]] Archive read_archive(const ReadAt& read, std::uint64_t size);

// Errors about archives, and the names of members, which come from a file that nobody checked.

/// Throws Error{input}.
[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorKind::input, message);
}

/// "member 'w.npy'", for messages.
[[nodiscard]] std::string member_text(std::string_view name);

/// Returns work(). If work() refuses the archive, the error gets the member's name in front. Errors of
/// reading pass.
template <class Work>
auto about_member(std::string_view name, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    refuse(member_text(name) + ": " + error.what());
  }
}

/// Whether the bytes are UTF-8 without control characters, except tabs and ends of lines.
[[nodiscard]] bool is_utf8_text(std::string_view text);

/// Error{input} for an empty name, control characters and, if the archive says that the name is UTF-8, for
/// bytes that are not.
void check_name(std::string_view name, bool is_utf8);

// CRC-32 and the deflate format: ISA-L calculates and inflates, zlib deflates. All functions may be called
// from many threads. Error{io}, without a path in front, if the libraries cannot be loaded.

/// Error{input} in a build without npz, before anything is read. Loads what reads archives.
void expect_codecs();

/// The function `name` of a shared library, which stays loaded until the program ends. Error{io} if the
/// library or the function is missing. Not in a static program.
[[nodiscard]] void* loaded_function(const char* soname, const char* name);

/// "libisal.so.2, libz.so.1", which are loaded when they are needed; "ISA-L, zlib" in a static program.
[[nodiscard]] std::string_view libraries() noexcept;

/// The CRC-32 of `bytes`, which follow bytes with the CRC-32 `before`.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The CRC-32 of bytes with CRC-32 `first` followed by `size` bytes with CRC-32 `second`.
[[nodiscard]] std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t size);

/// Deflates `bytes`, less than 2 GiB, alone, at zlib's level 6, which np.savez_compressed uses. The pieces of
/// a member, one after the other, are one deflate stream. `last` ends the stream.
[[nodiscard]] std::vector<std::byte> deflate_piece(std::span<const std::byte> bytes, bool last);

/// Inflates a member's data, which begins at byte `begin` of the archive, and gives it to `write` in order.
/// Error{input} if the data is damaged, or if its size or CRC-32 is not what `contents` says; `write` never
/// gets more bytes than that.
void inflate(const ReadAt& archive, std::uint64_t begin, const Contents& contents,
             const std::function<void(std::span<const std::byte>)>& write);

// The records of the zip format, by PKWARE's APPNOTE.TXT. All numbers are little-endian.

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
