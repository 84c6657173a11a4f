#include "files/member_contents.hpp"

#include <algorithm>

namespace clipper {

std::size_t MemberContents::read_at(const Descriptor& archive, std::span<std::byte> bytes,
                                    std::uint64_t offset, const std::string& path) const {
  if (offset >= size_) return 0;
  bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), size_ - offset));
  if (const auto* const begin = std::get_if<std::uint64_t>(&where_))
    return clipper::read_at(archive, bytes, *begin + offset, path);
  if (const auto* const file = std::get_if<Descriptor>(&where_))
    return clipper::read_at(*file, bytes, offset, path);
  const auto& held = std::get<std::vector<std::byte>>(where_);
  std::copy_n(held.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
  return bytes.size();
}

}  // namespace clipper
