#include "npz/archive.hpp"

#include <algorithm>
#include <utility>

#include "npz/codecs.hpp"
#include "npz/end_record.hpp"
#include "npz/libzip.hpp"
#include "npz/local_headers.hpp"
#include "npz/member_list.hpp"
#include "npz/member_name.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

Archive read_members(const ReadAt& read, std::uint64_t size) {
  End end = read_end(read, size);
  Archive archive;
  archive.members.reserve(static_cast<std::size_t>(end.count));
  read_list(read, size, end, [&](Member member) { archive.members.push_back(std::move(member)); });
  check_names_differ(archive.members);
  read_local_headers(read, archive.members, end.list_begin);
  archive.comment = std::move(end.comment);
  return archive;
}

bool has_descriptors(const Archive& archive) {
  return std::ranges::any_of(archive.members, [](const Member& member) {
    return (get(member.listed, ListEntry::kFlags) & kHasDescriptor) != 0;
  });
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

Archive read_archive(const ReadAt& read, std::uint64_t size) {
  // The members are freed while libzip holds its own, so that an archive of the max number of members
  // takes little memory, and read again.
  const bool descriptors = has_descriptors(read_members(read, size));
  compare_with_libzip(read, size, descriptors);
  return read_members(read, size);
}

}  // namespace clipper::npz
