#include "npz/archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "npy/dict.hpp"

namespace clipper::npz {
namespace {

/// What the records at the end of an archive say.
struct End {
  std::uint64_t count = 0;  ///< of members
  std::uint64_t list_begin = 0;
  std::uint64_t list_size = 0;  ///< the list ends where the records at the end begin
  std::string comment;
};

/// Reads small pieces of an archive in order, several with one call of ReadAt.
class Window {
 public:
  /// Reads `ahead` bytes at a time, or more if more are asked for. `read` must outlive this.
  Window(const ReadAt& read, std::uint64_t size, std::size_t ahead)
      : read_(read), size_(size), ahead_(ahead) {}

  /// The `length` bytes at byte `at`, until the next call. Error{input} if the archive ends before their end.
  [[nodiscard]] std::string_view bytes(std::uint64_t at, std::size_t length) {
    if (at > size_ || length > size_ - at) refuse("truncated: a record of the zip archive is incomplete");
    if (at < begin_ || at - begin_ > held_.size() || length > held_.size() - (at - begin_)) {
      begin_ = at;
      held_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(length, ahead_), size_ - at)));
      if (read_(std::as_writable_bytes(std::span(held_)), at) != held_.size())
        refuse("truncated while it was read");
    }
    return std::string_view(held_).substr(static_cast<std::size_t>(at - begin_), length);
  }

 private:
  const ReadAt& read_;
  std::uint64_t size_;
  std::size_t ahead_;
  std::uint64_t begin_ = 0;  ///< of `held_` in the archive
  std::string held_;
};

/// Limits the memory for the local headers, or for the list of members. 400,000 members of np.savez with
/// names of 25 characters fit.
class RecordLimit {
 public:
  /// Error{input} if all records together are too long, or have too many extra fields, for each
  /// of which some programs allocate memory.
  void add(std::string_view record, std::string_view extras) {
    bytes_ += record.size();
    fields_ += count_extra_fields(extras);
    if (bytes_ > kMaxBytes || fields_ > kMaxFields) refuse("the headers of the members are too long");
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;
  static constexpr std::size_t kMaxFields = std::size_t{1} << 20U;

  std::size_t bytes_ = 0;
  std::size_t fields_ = 0;
};

constexpr std::size_t kRecords64 = EndRecord64::kLength + EndLocator::kLength;
constexpr std::size_t kMaxComment = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kMaxMembers = 400'000;
constexpr std::string_view kSignatureBytes = "PK\5\6";

/// Whether there is an end record at `at` whose comment ends where `tail`, the end of the file, ends.
bool ends_at_end(std::string_view tail, std::size_t at) {
  const std::string_view record = tail.substr(at);
  return is_record<EndRecord>(record) &&
         get(record, EndRecord::kCommentLength) == record.size() - EndRecord::kLength;
}

/// Where the end record is in `tail`, the end of the file. Python takes the last 22 bytes if they are a
/// record without comment, and otherwise the last signature; other programs take the last or the first record
/// that ends where the file ends.
std::size_t find_end_record(std::string_view tail) {
  const std::size_t last = tail.size() < EndRecord::kLength ? 0 : tail.size() - EndRecord::kLength;
  const std::size_t at = ends_at_end(tail, last) ? last : tail.rfind(kSignatureBytes);
  if (at == std::string_view::npos || tail.size() - at < EndRecord::kLength)
    refuse("truncated: no end record of a zip archive");
  if (!ends_at_end(tail, at)) refuse("damaged: the end record of the zip archive is not at the end");
  for (std::size_t other = tail.find(kSignatureBytes); other < at;
       other = tail.find(kSignatureBytes, other + 1))
    if (ends_at_end(tail, other)) refuse("ambiguous: two end records of a zip archive");
  return at;
}

/// Whether a field of EndRecord agrees with the field of EndRecord64 that replaces it.
template <class Small>
bool agrees(Small small, std::uint64_t large) {
  return small == large || small == std::numeric_limits<Small>::max();
}

/// Replaces what EndRecord, which begins at byte `at` of the file, says by what EndRecord64 says.
void read_end64(std::string_view before, std::string_view record, std::uint64_t at, End& end) {
  const std::string_view locator = before.substr(before.size() - EndLocator::kLength);
  if (get(locator, EndLocator::kDisk) != 0 || get(locator, EndLocator::kDisks) > 1)
    refuse("a part of a zip archive on several disks");
  if (before.size() < kRecords64 || get(locator, EndLocator::kRecordBegin) != at - kRecords64)
    refuse("damaged: the ZIP64 end record is not where its locator says");
  const std::string_view record64 = before.substr(before.size() - kRecords64);
  if (!is_record<EndRecord64>(record64) ||
      get(record64, EndRecord64::kRest) != EndRecord64::kLength - EndRecord64::kMadeBy.at)
    refuse("damaged: the ZIP64 end record is malformed");
  if (get(record64, EndRecord64::kDisk) != 0 || get(record64, EndRecord64::kListDisk) != 0)
    refuse("a part of a zip archive on several disks");
  end.count = get(record64, EndRecord64::kCount);
  end.list_begin = get(record64, EndRecord64::kListBegin);
  end.list_size = get(record64, EndRecord64::kListSize);
  if (get(record64, EndRecord64::kCountHere) != end.count ||
      !agrees(get(record, EndRecord::kCount), end.count) ||
      !agrees(get(record, EndRecord::kListBegin), end.list_begin) ||
      !agrees(get(record, EndRecord::kListSize), end.list_size))
    refuse("damaged: the end record and the ZIP64 end record disagree");
}

std::string read_tail(const ReadAt& read, std::uint64_t size) {
  std::string tail(
      static_cast<std::size_t>(std::min<std::uint64_t>(size, kRecords64 + EndRecord::kLength + kMaxComment)),
      '\0');
  if (read(std::as_writable_bytes(std::span(tail)), size - tail.size()) != tail.size())
    refuse("truncated while it was read");
  return tail;
}

/// Finds and reads the records at the end. Error{input} unless there is exactly one way to read
/// them, and if the list is too short for its members or has too many.
End read_end(const ReadAt& read, std::uint64_t size) {
  const std::string tail = read_tail(read, size);
  const std::size_t at_in_tail = find_end_record(tail);
  const std::uint64_t at = size - tail.size() + at_in_tail;
  const std::string_view record = std::string_view(tail).substr(at_in_tail);
  const std::string_view before = std::string_view(tail).substr(0, at_in_tail);
  End end{get(record, EndRecord::kCount), get(record, EndRecord::kListBegin),
          get(record, EndRecord::kListSize), std::string(record.substr(EndRecord::kLength))};
  if (get(record, EndRecord::kDisk) != 0 || get(record, EndRecord::kListDisk) != 0 ||
      get(record, EndRecord::kCountHere) != get(record, EndRecord::kCount))
    refuse("a part of a zip archive on several disks");

  std::uint64_t list_end = at;
  if (before.size() >= EndLocator::kLength &&
      is_record<EndLocator>(before.substr(before.size() - EndLocator::kLength))) {
    read_end64(before, record, at, end);
    list_end -= kRecords64;
  }
  if (end.list_size > list_end || end.list_begin != list_end - end.list_size)
    refuse("damaged: the list of members is not directly before the end record of the zip archive");
  if (end.count > kMaxMembers) refuse(fmt::format("more than {} members", kMaxMembers));
  if (end.count > end.list_size / ListEntry::kLength) refuse("damaged: the list of members is too short");
  return end;
}

constexpr std::size_t kListAhead = std::size_t{64} * 1024;  // bytes of the list that are read at a time

constexpr std::uint16_t kEncrypted = 1U << 0U | 1U << 6U | 1U << 13U;
constexpr std::uint16_t kPatched = 1U << 5U;
constexpr Method kAes{99};  // WinZip's encryption

constexpr std::uint16_t kMaxVersion = 63;  // of Python's zipfile: version 6.3 of the format

// Deflate's shortest code, 2 bits, stands for at most 258 bytes.
constexpr std::uint64_t kMaxPerByte = 1032;

void check_contents(const Member& member) {
  const auto [crc, size, stored_size] = member.contents;
  if (member.method == Method::stored && stored_size != size)
    refuse(fmt::format("it is stored, but has {} bytes instead of {}", stored_size, size));
  if (member.method == Method::deflated && size / kMaxPerByte > stored_size)
    refuse(fmt::format("{} bytes cannot be deflated to {}", size, stored_size));
}

void check_entry(const Member& member, std::string_view extras) {
  const std::uint16_t flags = get(member.listed, ListEntry::kFlags);
  check_name(member.name, (flags & kIsUtf8) != 0);
  check_unicode_path(extras, member.name);
  if ((flags & kEncrypted) != 0 || member.method == kAes) refuse("it is encrypted");
  if ((flags & kPatched) != 0) refuse("it is a patch");
  if ((get(member.listed, ListEntry::kVersion) & 0xffU) > kMaxVersion) refuse("it needs a later zip format");
  if (get(member.listed, ListEntry::kDisk) != 0) refuse("it is on another disk");
  if (member.name.ends_with('/') && member.contents.size > 0) refuse("it is a directory with data");
  const std::size_t comment_length = get(member.listed, ListEntry::kCommentLength);
  const std::string_view entry = member.listed;
  if ((flags & kIsUtf8) != 0 && !is_utf8_text(entry.substr(entry.size() - comment_length)))
    refuse("its comment is not text in UTF-8, although the archive says so");
  // Where it is the last one, as it may be in the result, programs look for a locator at its end.
  if (is_record<EndLocator>(entry.substr(entry.size() - EndLocator::kLength)))
    refuse("ambiguous: it ends with a record of a zip archive");
  check_contents(member);
}

/// The entry of the list that begins at byte `at` of the archive.
Member read_entry(Window& window, std::uint64_t at, const End& list, RecordLimit& limit) {
  constexpr const char* kMalformed = "damaged: the list of members is malformed";
  const std::uint64_t end = list.list_begin + list.list_size;
  if (end - at < ListEntry::kLength) refuse(kMalformed);
  std::string_view entry = window.bytes(at, ListEntry::kLength);
  if (!is_record<ListEntry>(entry)) refuse(kMalformed);
  const std::size_t name_length = get(entry, ListEntry::kNameLength);
  const std::size_t extra_length = get(entry, ListEntry::kExtraLength);
  const std::size_t length =
      ListEntry::kLength + name_length + extra_length + get(entry, ListEntry::kCommentLength);
  if (end - at < length) refuse(kMalformed);
  entry = window.bytes(at, length);

  Member member;
  member.listed = entry;
  member.name = entry.substr(ListEntry::kLength, name_length);
  member.method = Method{get(entry, ListEntry::kMethod)};
  Contents& contents = member.contents;
  contents = {get(entry, ListEntry::kCrc), get(entry, ListEntry::kSize), get(entry, ListEntry::kStoredSize)};
  member.begin = get(entry, ListEntry::kBegin);
  const std::string_view extras = entry.substr(ListEntry::kLength + name_length, extra_length);
  about_member(member.name, [&] {
    take_zip64(extras, {&contents.size, &contents.stored_size, &member.begin}, false);
    if (member.begin >= list.list_begin) refuse("its header is not before the list of members");
    check_entry(member, extras);
  });
  limit.add(entry, extras);
  return member;
}

/// Reads the list of members, in its order: everything but `data` and `local`.
std::vector<Member> read_list(const ReadAt& read, std::uint64_t size, const End& end) {
  std::vector<Member> members;
  members.reserve(static_cast<std::size_t>(end.count));
  Window window(read, size, kListAhead);
  RecordLimit limit;
  std::uint64_t at = end.list_begin;
  for (std::uint64_t i = 0; i < end.count; ++i) {
    members.push_back(read_entry(window, at, end, limit));
    at += members.back().listed.size();
  }
  if (at != end.list_begin + end.list_size)
    refuse("damaged: there are bytes after the last entry of the list of members");
  return members;
}

constexpr std::size_t kHeaderAhead = 4096;  // the members' data is between the headers

std::string_view extras_of(const Member& member) {
  return std::string_view(member.local)
      .substr(LocalHeader::kLength + get(member.local, LocalHeader::kNameLength));
}

/// The header of a member with a data descriptor has zeros or, by Info-ZIP, estimates.
void check_local_contents(const Member& member, bool has_descriptor) {
  Contents local{get(member.local, LocalHeader::kCrc), get(member.local, LocalHeader::kSize),
                 get(member.local, LocalHeader::kStoredSize)};
  take_zip64(extras_of(member), {&local.size, &local.stored_size}, true);
  if (has_descriptor) return;
  const Contents& listed = member.contents;
  if (local.crc != listed.crc) refuse("its two headers disagree about its CRC-32");
  if (local.size != listed.size || local.stored_size != listed.stored_size)
    refuse("its two headers disagree about its size");
}

/// Compares the local header of a member with its entry of the list.
void check_local_header(const Member& member) {
  const std::string& header = member.local;
  const std::string disagree = "its two headers disagree about its ";
  const std::size_t name_length = get(header, LocalHeader::kNameLength);
  if (std::string_view(header).substr(LocalHeader::kLength, name_length) != member.name)
    refuse(disagree + "name");
  if (Method{get(header, LocalHeader::kMethod)} != member.method) refuse(disagree + "compression");
  const std::uint16_t flags = get(header, LocalHeader::kFlags);
  constexpr std::uint16_t kMayDiffer = 1U << 1U | 1U << 2U;  // how a member was compressed
  if (((flags ^ get(member.listed, ListEntry::kFlags)) & ~kMayDiffer) != 0) refuse(disagree + "flags");
  if (get(header, LocalHeader::kTime) != get(member.listed, ListEntry::kTime)) refuse(disagree + "time");
  if (get(header, LocalHeader::kVersion) > get(member.listed, ListEntry::kVersion))
    refuse(disagree + "version");
  check_unicode_path(extras_of(member), member.name);
  check_local_contents(member, (flags & kHasDescriptor) != 0);
}

/// Reads the local header of a member, which ends before the list of members at byte `end`.
void read_local_header(Window& window, Member& member, std::uint64_t end) {
  if (end - member.begin < LocalHeader::kLength) refuse("its header overlaps the list of members");
  std::string_view header = window.bytes(member.begin, LocalHeader::kLength);
  if (!is_record<LocalHeader>(header)) refuse(fmt::format("it has no header at byte {}", member.begin));
  const std::size_t length =
      LocalHeader::kLength + get(header, LocalHeader::kNameLength) + get(header, LocalHeader::kExtraLength);
  if (end - member.begin < length) refuse("its header overlaps the list of members");
  header = window.bytes(member.begin, length);
  member.local = header;
  member.data = member.begin + length;
  check_local_header(member);
}

/// The data descriptor of a member, with its signature. The sizes have 64 bits if the local header has a
/// ZIP64 field or, by Java, if they need it.
std::string data_descriptor(const Member& member) {
  const Contents& contents = member.contents;
  const bool has_64 = extra_field(extras_of(member), kZip64).has_value() ||
                      std::max(contents.size, contents.stored_size) > kInZip64;
  std::string bytes(has_64 ? 24 : 16, '\0');
  put(bytes, kSignatureField, kDescriptorSignature);
  put(bytes, Field32{4}, contents.crc);
  if (has_64) {
    put(bytes, Field64{8}, contents.stored_size);
    put(bytes, Field64{16}, contents.size);
  } else {
    put(bytes, Field32{8}, static_cast<std::uint32_t>(contents.stored_size));
    put(bytes, Field32{12}, static_cast<std::uint32_t>(contents.size));
  }
  return bytes;
}

/// Checks that only a data descriptor is between a member's data and byte `next`, where other bytes begin.
void check_end(Window& window, const Member& member, std::uint64_t next) {
  if (next < member.data || member.contents.stored_size > next - member.data)
    refuse("its data overlaps what follows it");
  const std::uint64_t end = member.data + member.contents.stored_size;
  const std::uint64_t length = next - end;
  if ((get(member.local, LocalHeader::kFlags) & kHasDescriptor) == 0) {
    if (length > 0) refuse(fmt::format("{} bytes after its data belong to no member", length));
    return;
  }
  std::string expected = data_descriptor(member);
  if (length + sizeof kDescriptorSignature == expected.size())  // the signature is optional
    expected.erase(0, sizeof kDescriptorSignature);
  if (length != expected.size() || window.bytes(end, expected.size()) != expected)
    refuse("its data descriptor is malformed, or disagrees with the list of members");
}

/// Reads what is in front of each member's data, and sets `data` and `local`. Error{input} if it disagrees
/// with the list, which begins at byte `end`, or if there are other bytes between the members.
void read_local_headers(const ReadAt& read, std::vector<Member>& members, std::uint64_t end) {
  std::vector<Member*> order;
  order.reserve(members.size());
  for (Member& member : members) order.push_back(&member);
  std::ranges::stable_sort(order, std::less{}, &Member::begin);
  if (order.empty() ? end != 0 : order.front()->begin != 0)
    refuse("there are bytes before the first member of the zip archive");

  Window window(read, end, kHeaderAhead);
  RecordLimit limit;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Member& member = *order[i];
    const std::uint64_t next = i + 1 < order.size() ? order[i + 1]->begin : end;
    about_member(member.name, [&] {
      read_local_header(window, member, end);
      check_end(window, member, next);
    });
    limit.add(member.local, extras_of(member));
  }
}

/// Error{input} if two members have the same name.
void check_names_differ(const std::vector<Member>& members) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const Member& member : members) names.emplace_back(member.name);
  std::ranges::sort(names);
  const auto same = std::ranges::adjacent_find(names);
  if (same != names.end()) refuse(fmt::format("two members are named '{}'", npy::excerpt(*same)));
}

}  // namespace

std::string_view Member::key() const {
  return is_npy() ? std::string_view(name).substr(0, name.size() - 4) : std::string_view(name);
}

bool can_be_archive(std::span<const std::byte> start) {
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  return bytes.starts_with("PK\3\4") || bytes.starts_with("PK\5\6");
}

Archive read_archive(const ReadAt& read, std::uint64_t size) {
  End end = read_end(read, size);
  Archive archive{read_list(read, size, end), std::move(end.comment)};
  check_names_differ(archive.members);
  read_local_headers(read, archive.members, end.list_begin);
  return archive;
}

std::string member_text(std::string_view name) {
  return fmt::format("member '{}'", npy::excerpt(name));
}

bool is_utf8_text(std::string_view text) {
  while (!text.empty()) {
    const std::optional<char32_t> code = npy::take_code_point(text);
    if (!code || (*code < ' ' && *code != '\t' && *code != '\n' && *code != '\r')) return false;
  }
  return true;
}

void check_name(std::string_view name, bool is_utf8) {
  if (name.empty()) refuse("a member has no name");
  const auto is_ascii_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::ranges::any_of(name, is_ascii_control)) refuse("its name has control characters");
  for (std::string_view rest = is_utf8 ? name : ""; !rest.empty();) {
    const std::optional<char32_t> code = npy::take_code_point(rest);
    if (!code) refuse("its name is not UTF-8, although the archive says so");
    if (*code > 0x7f && *code < 0xa0) refuse("its name has control characters");
  }
}

}  // namespace clipper::npz
