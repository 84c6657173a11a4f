#pragma once

#include <sys/xattr.h>

#include "support/skip.hpp"

/// The extended attributes of files.
namespace clipper::testing {

inline constexpr const char* kAccessList = "system.posix_acl_access";
inline constexpr const char* kDefaultList = "system.posix_acl_default";

/// An ACL as linux/posix_acl_xattr.h encodes it: rw for the owner and user 1234, r for the group.
inline std::string access_list() {
  struct Entry {
    std::uint16_t tag;
    std::uint16_t permissions;
    std::uint32_t id;
  };
  constexpr std::uint32_t kVersion = 2;
  constexpr std::uint32_t kNobody = 0xffffffff;
  const std::vector<Entry> entries{
      {0x01, 6, kNobody}, {0x02, 6, 1234}, {0x04, 4, kNobody}, {0x10, 6, kNobody}, {0x20, 0, kNobody}};
  std::string list(reinterpret_cast<const char*>(&kVersion), sizeof kVersion);
  return list.append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry));
}

/// Sets an attribute. Returns false and reports a skip if the file system or the user's rights forbid it.
[[nodiscard]] inline bool set_attribute(const std::string& path, const char* name, const std::string& value) {
  if (::setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0) return true;
  REQUIRE((errno == EOPNOTSUPP || errno == EPERM));
  skip_unless_possible(std::string("an attribute such as ") + name);
  return false;
}

inline std::string attribute_of(const std::string& path, const char* name) {
  std::string value(64UL * 1024, '\0');
  const ssize_t size = ::getxattr(path.c_str(), name, value.data(), value.size());
  return size < 0 ? "none" : value.substr(0, static_cast<std::size_t>(size));
}

}  // namespace clipper::testing
