#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "npz/extra_fields.hpp"
#include "npz/read_records.hpp"
#include "npz/refuse.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

constexpr std::size_t kAhead = std::size_t{64} * 1024;

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

}  // namespace

std::vector<Member> read_list(const ReadAt& read, std::uint64_t size, const End& end) {
  std::vector<Member> members;
  members.reserve(static_cast<std::size_t>(end.count));
  Window window(read, size, kAhead);
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

}  // namespace clipper::npz
