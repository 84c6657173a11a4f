#include "npz/archive.hpp"

#include <utility>

#include "npz/codecs.hpp"
#include "npz/member_name.hpp"
#include "npz/read_records.hpp"

namespace clipper::npz {

std::string_view Member::key() const {
  return is_npy() ? std::string_view(name).substr(0, name.size() - 4) : std::string_view(name);
}

bool can_be_archive(std::span<const std::byte> start) {
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  return is_supported() && (bytes.starts_with("PK\3\4") || bytes.starts_with("PK\5\6"));
}

Archive read_archive(const ReadAt& read, std::uint64_t size) {
  End end = read_end(read, size);
  Archive archive{read_list(read, size, end), std::move(end.comment)};
  check_names_differ(archive.members);
  read_local_headers(read, archive.members, end.list_begin);
  return archive;
}

}  // namespace clipper::npz
