#include "files/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"

namespace clipper {
namespace {

constexpr const char* kAccessList = "system.posix_acl_access";
constexpr std::size_t kMaxAttribute = 64UL * 1024;  // max size of an attribute in Linux
constexpr std::size_t kMaxAttributes = 16UL << 20;  // more room is not tried for all attributes of a file

/// Whether getxattr() or removexattr() failed because there is no such attribute, or the file system has
/// none.
bool is_none(int error) {
  return error == ENODATA || error == EOPNOTSUPP;
}

/// Whether setting an owner or attribute failed because this user may not, or this file system cannot.
bool is_lasting(int error) {
  constexpr std::array kErrors{EPERM, EACCES, EOPNOTSUPP, ENOSYS, ENODATA, EINVAL, E2BIG, ERANGE};
  return std::ranges::find(kErrors, error) != kErrors.end();
}

[[noreturn]] void refuse_loss(const InputFile& input, const std::string& what, int error = errno) {
  if (!is_lasting(error)) throw_system_error(input.path(), "the new file cannot keep its " + what, error);
  refuse(input.path(), fmt::format("refused to avoid data loss: the new file cannot keep its {}; ", what) +
                           way_to_keep(" keeps it"));
}

bool is_kept(std::string_view name) {
  return name == "security.selinux" || name.starts_with("user.");
}

/// The names, each followed by a NUL; empty if the file system has no attributes.
std::string attribute_names(const InputFile& input) {
  std::string names;
  for (;;) {
    const ssize_t size = os::list_attributes(input.descriptor().get(), nullptr, 0);
    if (size < 0 && errno == EOPNOTSUPP) return {};
    if (size < 0) throw_system_error(input.path(), "cannot read its extended attributes");
    names.resize(static_cast<std::size_t>(size));
    const ssize_t got = os::list_attributes(input.descriptor().get(), names.data(), names.size());
    if (got >= 0) return names.substr(0, static_cast<std::size_t>(got));
    if (errno != ERANGE) throw_system_error(input.path(), "cannot read its extended attributes");
  }
}

/// Nothing if the attribute does not exist or cannot be read.
std::optional<std::string> attribute(const Descriptor& file, const char* name) {
  std::string value(kMaxAttribute, '\0');
  const ssize_t size = os::read_attribute(file.get(), name, value.data(), value.size());
  if (size < 0) return std::nullopt;
  return value.substr(0, static_cast<std::size_t>(size));
}

/// What the process sees of the user or group IDs of files. In a user namespace that maps only some, all
/// others look like one: see user_namespaces(7).
class SeenIds {
 public:
  SeenIds(const char* map, const char* unmapped) {
    constexpr std::uint64_t kAll = 0xFFFFFFFF;
    std::uint64_t mapped = 0;
    std::ifstream lines(map);
    if (!lines.is_open() && errno != ENOENT && errno != EACCES) throw_system_error(map, "cannot be opened");
    for (std::uint64_t inside = 0, outside = 0, count = 0; lines >> inside >> outside >> count;)
      mapped += count;
    all_ = mapped == kAll;
    if (!all_) std::ifstream(unmapped) >> unmapped_;
  }

  [[nodiscard]] bool has(std::uint64_t id) const { return all_ || id != unmapped_; }

 private:
  bool all_ = false;
  std::uint64_t unmapped_ = 65534;
};

bool is_owner_known(const os::Status& status) {
  static const SeenIds users("/proc/self/uid_map", "/proc/sys/kernel/overflowuid");
  static const SeenIds groups("/proc/self/gid_map", "/proc/sys/kernel/overflowgid");
  return users.has(status.st_uid) && groups.has(status.st_gid);
}

void keep_owner(const InputFile& input, const Descriptor& replacement) {
  os::Status created{};
  if (os::fstat(replacement.get(), &created) != 0) throw_system_error(input.path(), "cannot be replaced");
  const os::Status& status = input.status();
  if (!is_owner_known(status))
    refuse_loss(input,
                fmt::format("owner {}:{}, which may stand for users without an ID in this user namespace",
                            status.st_uid, status.st_gid),
                EPERM);
  if (created.st_uid == status.st_uid && created.st_gid == status.st_gid) return;
  if (os::fchown(replacement.get(), status.st_uid, status.st_gid) == 0) return;
  refuse_loss(input, fmt::format("owner {}:{}", status.st_uid, status.st_gid));
}

/// Returns false, with errno, on failure. `read` calls getxattr() for the ACL.
template <class Read>
bool give_access_list(const Descriptor& replacement, Read read) {
  std::array<char, kMaxAttribute> list;  // not filled with zeros: that would take time at each replacement
  const ssize_t size = read(list.data(), list.size());
  const int fd = replacement.get();
  if (size >= 0)
    return os::write_attribute(fd, kAccessList, list.data(), static_cast<std::size_t>(size)) == 0;
  return is_none(errno) && (os::remove_attribute(fd, kAccessList) == 0 || is_none(errno));
}

}  // namespace

bool keep_access_list(const std::string& path, const Descriptor& replacement) {
  return give_access_list(replacement, [&](char* list, std::size_t room) {
    return os::getxattr(path.c_str(), kAccessList, list, room);
  });
}

void keep_attributes(const InputFile& input, const Descriptor& replacement) {
  keep_owner(input, replacement);
  const auto read_access_list = [&](char* list, std::size_t room) {
    return os::read_attribute(input.descriptor().get(), kAccessList, list, room);
  };
  if (!give_access_list(replacement, read_access_list)) refuse_loss(input, "access control list");
  const std::string names = attribute_names(input);
  for (const char* name = names.c_str(); name < names.c_str() + names.size(); name += std::strlen(name) + 1) {
    if (!is_kept(name)) continue;
    const std::optional<std::string> value = attribute(input.descriptor(), name);
    if (value && value == attribute(replacement, name)) continue;
    if (!value || os::write_attribute(replacement.get(), name, value->data(), value->size()) != 0)
      refuse_loss(input, fmt::format("attribute {}", name));
  }
}

/// Nothing, with errno, if that fails: ERANGE if there is not enough room. The ACL is read by name, because
/// MooseFS does not list it.
std::optional<std::size_t> KeptAttributes::read(Attributes& to) const noexcept {
  ssize_t listed = os::list_attributes(input_.descriptor().get(), to.names.data(), to.names.size());
  if (listed < 0 && errno == EOPNOTSUPP) listed = 0;
  if (listed < 0) return std::nullopt;
  std::size_t end = 0;
  const auto add = [&](const char* name) {
    std::int32_t size = 0;
    if (to.kept.size() - end <= sizeof size) {
      errno = ERANGE;
      return false;
    }
    char* const value = to.kept.data() + end + sizeof size;
    size = static_cast<std::int32_t>(
        os::read_attribute(input_.descriptor().get(), name, value, to.kept.size() - end - sizeof size));
    if (size < 0 && !is_none(errno)) return false;
    std::memcpy(to.kept.data() + end, &size, sizeof size);
    end += sizeof size + static_cast<std::size_t>(std::max(size, 0));
    return true;
  };
  if (!add(kAccessList)) return std::nullopt;
  const char* const last = to.names.data() + listed;
  for (const char* name = to.names.data(); name < last; name += std::strlen(name) + 1)
    if (is_kept(name) && !add(name)) return std::nullopt;
  return end;
}

KeptAttributes::KeptAttributes(const InputFile& input)
    : input_(input), status_(status_of(input.descriptor(), input.path())) {
  for (std::size_t room = 256;; room *= 4) {
    before_ = {std::vector<char>(room), std::vector<char>(room)};
    if (const auto size = read(before_)) {
      size_ = *size;
      now_ = before_;
      return;
    }
    if (errno != ERANGE || room > kMaxAttributes)
      throw_system_error(input.path(), "cannot read its extended attributes");
  }
}

bool KeptAttributes::are_unchanged() noexcept {
  os::Status now{};
  if (os::fstat(input_.descriptor().get(), &now) != 0) return false;
  if (now.st_mode != status_.st_mode || now.st_uid != status_.st_uid || now.st_gid != status_.st_gid)
    return false;
  return read(now_) == size_ && std::memcmp(now_.kept.data(), before_.kept.data(), size_) == 0;
}

}  // namespace clipper
