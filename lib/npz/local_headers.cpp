#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "npz/extra_fields.hpp"
#include "npz/read_records.hpp"
#include "npz/refuse.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

constexpr std::size_t kAhead = 4096;  // the members' data is between the headers

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

}  // namespace

void read_local_headers(const ReadAt& read, std::vector<Member>& members, std::uint64_t end) {
  std::vector<Member*> order;
  order.reserve(members.size());
  for (Member& member : members) order.push_back(&member);
  std::ranges::stable_sort(order, std::less{}, &Member::begin);
  if (order.empty() ? end != 0 : order.front()->begin != 0)
    refuse("there are bytes before the first member of the zip archive");

  Window window(read, end, kAhead);
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

}  // namespace clipper::npz
