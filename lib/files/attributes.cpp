#include "files/attributes.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "error.hpp"
#include "files/terms.hpp"

namespace clipper {
namespace {

constexpr const char* kAccessList = "system.posix_acl_access";
constexpr std::size_t kMaxBytes = 64UL * 1024;  // max size of an attribute in Linux

/// Whether getxattr() or removexattr() failed because there is no such attribute, or the file system has
/// none.
bool is_none(int error) {
  return error == ENODATA || error == EOPNOTSUPP;
}

[[noreturn]] void refuse(const InputFile& input, const std::string& what) {
  clipper::refuse(input.path(),
                  fmt::format("refused to avoid data loss: the new file cannot keep its {}; ", what) +
                      kDirect + " keeps it");
}

bool is_kept(std::string_view name) {
  return name == "security.selinux" || name.starts_with("user.");
}

/// The names, each followed by a NUL; empty if the file system has no attributes.
std::string attribute_names(const InputFile& input) {
  std::string names;
  for (;;) {
    const ssize_t size = ::flistxattr(input.descriptor().get(), nullptr, 0);
    if (size < 0 && errno == EOPNOTSUPP) return {};
    if (size < 0) throw_system_error(input.path(), "cannot read its extended attributes");
    names.resize(static_cast<std::size_t>(size));
    const ssize_t got = ::flistxattr(input.descriptor().get(), names.data(), names.size());
    if (got >= 0) return names.substr(0, static_cast<std::size_t>(got));
    if (errno != ERANGE) throw_system_error(input.path(), "cannot read its extended attributes");
  }
}

/// Nothing if the attribute does not exist or cannot be read.
std::optional<std::string> attribute(const Descriptor& file, const char* name) {
  std::string value(kMaxBytes, '\0');
  const ssize_t size = ::fgetxattr(file.get(), name, value.data(), value.size());
  if (size < 0) return std::nullopt;
  return value.substr(0, static_cast<std::size_t>(size));
}

void keep_owner(const InputFile& input, const Descriptor& replacement) {
  struct stat created {};
  if (::fstat(replacement.get(), &created) != 0) throw_system_error(input.path(), "cannot be replaced");
  const struct stat& status = input.status();
  if (created.st_uid == status.st_uid && created.st_gid == status.st_gid) return;
  if (::fchown(replacement.get(), status.st_uid, status.st_gid) == 0) return;
  refuse(input, fmt::format("owner {}:{}", status.st_uid, status.st_gid));
}

/// Returns false, with errno, on failure. `read` calls getxattr() for the ACL.
template <class Read>
bool give_access_list(const Descriptor& replacement, Read read) {
  std::array<char, kMaxBytes> list;  // not filled with zeros: that would take time at each replacement
  const ssize_t size = read(list.data(), list.size());
  if (size >= 0)
    return ::fsetxattr(replacement.get(), kAccessList, list.data(), static_cast<std::size_t>(size), 0) == 0;
  return is_none(errno) && (::fremovexattr(replacement.get(), kAccessList) == 0 || is_none(errno));
}

}  // namespace

bool keep_access_list(const std::string& path, const Descriptor& replacement) {
  return give_access_list(replacement, [&](char* list, std::size_t room) {
    return ::getxattr(path.c_str(), kAccessList, list, room);
  });
}

void keep_attributes(const InputFile& input, const Descriptor& replacement) {
  keep_owner(input, replacement);
  const auto read_access_list = [&](char* list, std::size_t room) {
    return ::fgetxattr(input.descriptor().get(), kAccessList, list, room);
  };
  if (!give_access_list(replacement, read_access_list)) refuse(input, "access control list");
  const std::string names = attribute_names(input);
  for (const char* name = names.c_str(); name < names.c_str() + names.size(); name += std::strlen(name) + 1) {
    if (!is_kept(name)) continue;
    const std::optional<std::string> value = attribute(input.descriptor(), name);
    if (value && value == attribute(replacement, name)) continue;
    if (!value || ::fsetxattr(replacement.get(), name, value->data(), value->size(), 0) != 0)
      refuse(input, fmt::format("attribute {}", name));
  }
}

}  // namespace clipper
