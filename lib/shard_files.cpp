#include "shard_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "descriptor.hpp"
#include "directory.hpp"
#include "error.hpp"

namespace clipper {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

void Tries::again() {
  if (--left_ <= 0)
    throw Error(ErrorKind::io,
                fmt::format("{}: its shards' files are changed by others again and again", path_));
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) throw_system_error(path, "cannot be examined");
  return std::nullopt;
}

/// The rule of the kernel's fs.protected_regular. A network file system may show every file as one user's.
void expect_own(const std::string& path, const struct stat& status, mode_t type) {
  if ((status.st_mode & S_IFMT) != type)
    refuse(path, type == S_IFDIR ? "not a directory that shards made; remove it"
                                 : "not a file that shards write to; remove it");
  if (status.st_uid == ::geteuid()) return;
  struct stat directory {};
  if (::stat(directory_of(path).c_str(), &directory) != 0) throw_system_error(path, "cannot be examined");
  if (status.st_uid != directory.st_uid)
    refuse(path, fmt::format("belongs to user {}, not to you; remove it, or write the output elsewhere",
                             status.st_uid));
}

/// What is there already is not opened: a FIFO would wait for a writer.
bool create_empty(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Descriptor fd(retry_interrupted([&] { return ::open(path.c_str(), kFlags, 0666); }));
  return fd.get() >= 0 || errno == EEXIST;
}

bool is_shard_file(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos || !is_number(name.substr(dot + 1))) return false;
  const std::string_view kind = name.substr(0, dot);
  constexpr std::string_view kOf = "-of-";
  if (kind.starts_with(kLink)) return kind.size() == kLink.size() + 16;
  const std::size_t of = kind.find(kOf);
  return kind == kClaim || kind == kPlaced ||
         (of != kind.npos && is_number(kind.substr(0, of)) && is_number(kind.substr(of + kOf.size())));
}

std::string list_text(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (end - i > 1) text += fmt::format("{}{}", end - i > 2 ? " to " : ", ", numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace clipper
