#include "npz/archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "error.hpp"
#include "npz/codecs.hpp"
#include "npz/end_record.hpp"
#include "npz/libzip.hpp"
#include "npz/member_name.hpp"
#include "npz/window.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

// The records of all members are held in memory. 65,536 members of np.savez with names of 30 characters have
// 11 MiB.
constexpr std::uint64_t kMaxMembers = 65'536;
constexpr std::size_t kMaxRecords = std::size_t{16} << 20U;

constexpr std::size_t kListAhead = std::size_t{64} * 1024;
constexpr std::size_t kHeadersAhead = 4096;  // the members' data is between the headers

constexpr std::uint16_t kEncrypted = 1U << 0U | 1U << 6U | 1U << 13U;
constexpr std::uint16_t kPatched = 1U << 5U;

// Deflate's shortest code, 2 bits, stands for at most 258 bytes.
constexpr std::uint64_t kMostPerByte = 1032;

/// Returns work(). If work() refuses the archive, the error gets the member's name in front. Errors of
/// reading pass.
template <class Work>
auto about_member(std::string_view name, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    refuse(fmt::format("{}: {}", member_text(name), error.what()));
  }
}

/// Replaces each number that is in the ZIP64 field of `extras`. The field has these numbers or, if
/// `may_have_all`, all numbers.
void take_zip64(std::string_view extras, std::initializer_list<std::uint64_t*> numbers, bool may_have_all) {
  const std::optional<std::string_view> field = extra_field(extras, kZip64);
  std::string_view rest = field.value_or("");
  const bool has_all = may_have_all && rest.size() == numbers.size() * sizeof(std::uint64_t);
  for (std::uint64_t* const number : numbers) {
    const bool is_in_field = *number == kInZip64;
    if (!is_in_field && !has_all) continue;
    if (rest.size() < sizeof(std::uint64_t)) refuse("its ZIP64 field is too short");
    const std::uint64_t value = get(rest, Field64{0});
    if (!is_in_field && value != *number) refuse("its ZIP64 field disagrees with its other fields");
    *number = value;
    rest.remove_prefix(sizeof(std::uint64_t));
  }
  if (!rest.empty()) refuse("its ZIP64 field is too long");
}

/// Programs of different ages take the name from different fields.
void check_unicode_path(std::string_view extras, std::string_view name) {
  constexpr std::size_t kPreamble = 5;  // a version and the CRC-32 of the name
  const std::optional<std::string_view> field = extra_field(extras, kUnicodePath);
  if (field && (field->size() < kPreamble || field->substr(kPreamble) != name))
    refuse("its extra field 0x7075 gives it another name");
}

void check_contents(const Member& member) {
  const auto [crc, size, stored_size] = member.contents;
  if (member.method == Method::stored && stored_size != size)
    refuse(fmt::format("it is stored, but has {} bytes instead of {}", stored_size, size));
  if (member.method == Method::deflated && size / kMostPerByte > stored_size)
    refuse(fmt::format("{} bytes cannot be deflated to {}", size, stored_size));
}

void check_entry(const Member& member, std::string_view extras) {
  const std::uint16_t flags = get(member.listed, ListEntry::kFlags);
  check_name(member.name, (flags & kIsUtf8) != 0);
  check_unicode_path(extras, member.name);
  if ((flags & kEncrypted) != 0) refuse("it is encrypted");
  if ((flags & kPatched) != 0) refuse("it is a patch");
  if (get(member.listed, ListEntry::kDisk) != 0) refuse("it is on another disk");
  if (member.name.ends_with('/') && member.contents.size > 0) refuse("it is a directory with data");
  check_contents(member);
}

/// The entry of the list that begins at byte `at` of the archive.
Member read_entry(Window& window, std::uint64_t at, const End& list) {
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
  return member;
}

std::vector<Member> read_list(const ReadAt& read, std::uint64_t size, const End& end) {
  if (end.count > kMaxMembers) refuse(fmt::format("more than {} members", kMaxMembers));
  if (end.count > end.list_size / ListEntry::kLength) refuse("damaged: the list of members is too short");
  Window window(read, size, kListAhead);
  std::vector<Member> members;
  members.reserve(static_cast<std::size_t>(end.count));
  std::uint64_t at = end.list_begin;
  std::size_t records = 0;
  while (members.size() < end.count) {
    members.push_back(read_entry(window, at, end));
    at += members.back().listed.size();
    records += members.back().listed.size();
    if (records > kMaxRecords) refuse("the list of members is too long");
  }
  if (at != end.list_begin + end.list_size)
    refuse("damaged: there are bytes after the last entry of the list of members");
  return members;
}

/// The header of a member with a data descriptor has zeros or, by Info-ZIP, estimates.
void check_local_contents(const Member& member, std::string_view extras) {
  Contents local{get(member.local, LocalHeader::kCrc), get(member.local, LocalHeader::kSize),
                 get(member.local, LocalHeader::kStoredSize)};
  take_zip64(extras, {&local.size, &local.stored_size}, true);
  if (member.has_descriptor) return;
  const Contents& listed = member.contents;
  if (local.crc != listed.crc) refuse("its two headers disagree about its CRC-32");
  if (local.size != listed.size || local.stored_size != listed.stored_size)
    refuse("its two headers disagree about its size");
}

/// Reads the local header of a member, which ends before the list of members at byte `end`.
void read_local_header(Window& window, Member& member, std::uint64_t end) {
  if (end - member.begin < LocalHeader::kLength) refuse("its header overlaps the list of members");
  std::string_view header = window.bytes(member.begin, LocalHeader::kLength);
  if (!is_record<LocalHeader>(header)) refuse(fmt::format("it has no header at byte {}", member.begin));
  const std::size_t name_length = get(header, LocalHeader::kNameLength);
  const std::size_t length = LocalHeader::kLength + name_length + get(header, LocalHeader::kExtraLength);
  if (end - member.begin < length) refuse("its header overlaps the list of members");
  header = window.bytes(member.begin, length);
  member.local = header;
  member.data = member.begin + length;

  const std::string_view name = header.substr(LocalHeader::kLength, name_length);
  if (name != member.name) refuse("its two headers disagree about its name");
  if (Method{get(header, LocalHeader::kMethod)} != member.method)
    refuse("its two headers disagree about its compression");
  const auto difference =
      static_cast<std::uint16_t>(get(header, LocalHeader::kFlags) ^ get(member.listed, ListEntry::kFlags));
  if ((difference & (kEncrypted | kPatched | kHasDescriptor | kIsUtf8)) != 0)
    refuse("its two headers disagree about its flags");
  const std::string_view extras = header.substr(LocalHeader::kLength + name_length);
  check_unicode_path(extras, member.name);
  member.has_descriptor = (get(header, LocalHeader::kFlags) & kHasDescriptor) != 0;
  check_local_contents(member, extras);
}

/// The data descriptor of a member, with its signature. The sizes have 64 bits if the local header has a
/// ZIP64 field or, by Java, if they need it.
std::string data_descriptor(const Member& member) {
  const Contents& contents = member.contents;
  const std::size_t name_end = LocalHeader::kLength + member.name.size();
  const bool has_64 = extra_field(std::string_view(member.local).substr(name_end), kZip64).has_value() ||
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
  if (!member.has_descriptor) {
    if (length > 0) refuse(fmt::format("{} bytes after its data belong to no member", length));
    return;
  }
  std::string expected = data_descriptor(member);
  if (length + sizeof kDescriptorSignature == expected.size())  // the signature is optional
    expected.erase(0, sizeof kDescriptorSignature);
  if (length != expected.size() || window.bytes(end, expected.size()) != expected)
    refuse("its data descriptor is malformed, or disagrees with the list of members");
}

/// Reads the headers in the order in which they are in the archive, and checks that nothing else is there.
void read_local_headers(const ReadAt& read, std::vector<Member>& members, std::uint64_t end) {
  std::vector<Member*> order;
  order.reserve(members.size());
  std::size_t records = 0;
  for (Member& member : members) {
    order.push_back(&member);
    records += member.listed.size();
  }
  std::ranges::stable_sort(order, std::less{}, &Member::begin);
  if (order.empty() ? end != 0 : order.front()->begin != 0)
    refuse("there are bytes before the first member of the zip archive");

  Window window(read, end, kHeadersAhead);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Member& member = *order[i];
    const std::uint64_t next = i + 1 < order.size() ? order[i + 1]->begin : end;
    about_member(member.name, [&] {
      read_local_header(window, member, end);
      check_end(window, member, next);
    });
    records += member.local.size();
    if (records > kMaxRecords) refuse("the headers of the members are too long");
  }
}

void drop_records(std::vector<Member>& members) {
  for (Member& member : members) {
    std::string().swap(member.local);
    std::string().swap(member.listed);
  }
}

}  // namespace

std::string_view Member::key() const {
  return is_npy() ? std::string_view(name).substr(0, name.size() - 4) : std::string_view(name);
}

const Member* Archive::find(std::string_view name) const {
  const Member* found = nullptr;
  for (const Member& member : members) {
    if (member.name == name) return &member;
    if (member.key() == name) found = &member;
  }
  return found;
}

bool can_be_archive(std::span<const std::byte> start) {
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  return is_supported() && (bytes.starts_with("PK\3\4") || bytes.starts_with("PK\5\6"));
}

Archive read_archive(const ReadAt& read, std::uint64_t size, Records records) {
  End end = read_end(read, size);
  Archive archive{read_list(read, size, end), std::move(end.comment)};
  check_names_differ(archive.members);
  read_local_headers(read, archive.members, end.list_begin);
  if (records == Records::dropped) drop_records(archive.members);
  compare_with_libzip(read, size, archive);
  return archive;
}

}  // namespace clipper::npz
