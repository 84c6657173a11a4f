#include "files/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "error.hpp"

namespace clipper {
namespace {

/// Error{io} if the error of stat() or open() may be temporary.
void expect_lasting(int error, const std::string& path) {
  if (!is_of_name(error)) throw_system_error(path, "cannot be examined", error);
}

constexpr std::string_view kInput = "/dev/stdin";
constexpr std::string_view kOutput = "/dev/stdout";

/// The stream that the path names, also where /dev lacks the name, as in a container; -1 for other paths.
int stream_of(std::string_view path) {
  if (path == kInput) return STDIN_FILENO;
  return path == kOutput ? STDOUT_FILENO : -1;
}

/// A file that is held open: its inode is not reused meanwhile.
struct HeldFile {
  explicit HeldFile(const std::string& path) : fd(open_file(path, O_PATH)) {
    if (stream_of(path) >= 0)
      id = find_file(path);
    else if (fd.get() < 0)
      expect_lasting(errno, path);
    else
      id = id_of(status_of(fd, path));
  }

  Descriptor fd;
  std::optional<FileId> id;  ///< nothing if find_file() would return nothing
};

/// Whether the links in the path lead to a descriptor, such as /proc/self/fd/1.
bool is_descriptor(std::string path) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  for (int links = 0; links < kMaxLinks; ++links) {
    const os::FileSystem system = os::file_system(directory_of(path).c_str());
    if (system == os::FileSystem::unknown) return false;
    if (system == os::FileSystem::procfs) return true;
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(os::native(path), error);
    if (error) return false;
    path = os::text_of(os::native(path).parent_path() / target);
  }
  return false;
}

/// The name of the stream, if the path is "-" and the stream a regular file.
std::string path_of(const std::string& path, std::string_view name) {
  os::Status status{};
  const bool is_file = path == "-" && os::fstat(stream_of(name), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? std::string(name) : path;
}

constexpr int kMaxTries = 1000;  // each try needs another program to rename within the same microseconds

bool swap(const Place& a, const Place& b) {
  return os::exchange_names(a.directory(), a.name(), b.directory(), b.name()) == 0;
}

/// Puts back the file that came out. The second exchange should bring out the file put in last, the
/// replacement. If it brings out another file, a program has just renamed that over the replacement: it is
/// newer, so it is put back in turn.
Exchanged take_back(const Place& hidden, const Place& place, const FileId& replacement) {
  FileId put_last = replacement;
  bool has_put_back = false;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const auto going_back = hidden.id();
    if (!swap(hidden, place)) {
      has_put_back = os::rename_new(hidden.directory(), hidden.name(), place.directory(), place.name()) == 0;
      if (has_put_back || errno != EEXIST) break;
      continue;  // somebody has just taken the name that nobody had
    }
    has_put_back = true;
    const auto came_out = hidden.id();
    if (!came_out || !going_back || *came_out == put_last) break;
    put_last = *going_back;
  }
  const auto named = place.id();
  const bool may_be_replacement = named ? *named == replacement : errno != ENOENT && !has_put_back;
  return may_be_replacement ? Exchanged::stranded : Exchanged::taken_back;
}

}  // namespace

bool is_of_name(int error) noexcept {
  constexpr std::array kOfNames{ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG};
  return std::ranges::find(kOfNames, error) != kOfNames.end();
}

FileId id_of(const os::Status& status) noexcept {
  return {status.st_dev, status.st_ino};
}

std::uint64_t hash_of(const FileId& id) noexcept {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&id), sizeof id});
}

std::optional<FileId> find_file(const std::string& path) {
  os::Status status{};
  const int stream = stream_of(path);
  const int failed = stream < 0 ? os::stat(path.c_str(), &status) : os::fstat(stream, &status);
  if (failed == 0) return id_of(status);
  if (stream < 0) expect_lasting(errno, path);
  return std::nullopt;
}

std::string input_path(const std::string& path) {
  return path_of(path, kInput);
}

std::string output_path(const std::string& path) {
  return path_of(path, kOutput);
}

/// If both look the same, compares them again while both are held open: one inode may have belonged to the
/// first file at the first look, and to the second at the second look.
bool is_same_file(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return false;
  const std::optional<FileId> first = find_file(a);
  if (!first || first != find_file(b)) return false;
  const HeldFile held_a(a);
  const HeldFile held_b(b);
  return held_a.id && held_a.id == held_b.id;
}

bool is_same_target(const std::string& a, const std::string& b) {
  if (is_same_file(a, b)) return true;
  const auto name_of = [](const std::string& path) { return os::folded(path.substr(path.rfind('/') + 1)); };
  if (a == "-" || b == "-" || name_of(a) != name_of(b) || find_file(a) || find_file(b)) return false;
  const std::optional<FileId> directory = find_file(directory_of(a));
  return directory && directory == find_file(directory_of(b));
}

/// Opens a directory without read permission with O_PATH: it can be used for everything but sync().
Place Place::of(const std::string& path, std::string_view what) {
  const std::string directory = directory_of(path);
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") throw_system_error(path, what, EISDIR);
  Descriptor fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (fd.get() < 0 && errno == EACCES) fd = open_file(directory, O_PATH | O_DIRECTORY);
  if (fd.get() < 0 && errno == ENOENT)
    throw Error(ErrorKind::io,
                fmt::format("{}: directory {} does not exist; create it first", path, directory));
  if (fd.get() < 0) throw_system_error(path, what);
  return {std::make_shared<const Descriptor>(std::move(fd)), std::move(name), path};
}

Place Place::resolved(const std::string& path) {
  os::Status status{};
  if (os::stat(path.c_str(), &status) != 0) {
    expect_lasting(errno, path);
    throw_system_error(path, "cannot be opened", ENOENT);
  }
  if (auto place = of_file(path, status)) return *std::move(place);
  refuse(path, "leads to a file that is not under its name: it was removed, replaced or hidden by a mount");
}

std::optional<Place> Place::of_file(const std::string& path, os::Status& status) {
  constexpr int kMaxTries = 100;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const std::string real = os::real_path(path);
    if (real.empty() && errno != ENOENT && errno != ENOTDIR) throw_system_error(path, "cannot be opened");
    if (!real.empty()) {
      Place place = of(real);
      if (place.is(id_of(status))) return place;
    }
    if (is_descriptor(path)) return std::nullopt;
    if (os::stat(path.c_str(), &status) != 0) throw_system_error(path, "cannot be examined");
  }
  throw_system_error(path, "cannot be examined", ESTALE);
}

Place Place::beside(std::string_view suffix, bool shortened) const {
  std::size_t room = shortened ? NAME_MAX - 1 - suffix.size() : name_.size();
  // NTFS and exFAT reject names that end within a UTF-8 character.
  while (room > 0 && room < name_.size() && (static_cast<unsigned char>(name_[room]) & 0xC0U) == 0x80U)
    --room;
  std::string name = fmt::format(".{}{}", name_.substr(0, room), suffix);
  std::string path = path_.substr(0, path_.size() - name_.size()) + name;
  return {directory_, std::move(name), std::move(path)};
}

Place Place::with_suffix(std::string_view suffix) const {
  return {directory_, name_ + std::string(suffix), path_ + std::string(suffix)};
}

Place Place::with_name(const std::string& name) const {
  return {directory_, name, path_.substr(0, path_.size() - name_.size()) + name};
}

std::optional<os::Status> Place::status() const {
  os::Status status{};
  if (os::fstatat(directory(), name(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status;
  if (errno != ENOENT) throw_system_error(path_, "cannot be examined");
  return std::nullopt;
}

std::optional<FileId> Place::id() const noexcept {
  os::Status status{};
  if (os::fstatat(directory(), name(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return id_of(status);
}

bool Place::is(const FileId& id) const {
  const auto now = status();
  return now && id_of(*now) == id;
}

FileId Place::directory_id() const {
  return id_of(status_of(*directory_, directory_of(path_)));
}

bool Place::is_same_place(const Place& other) const {
  if (directory_id() != other.directory_id()) return false;
  if (name_ == other.name_) return true;
  return os::are_on_one_mount(directory(), name(), other.name());
}

bool Place::is_below(std::span<const FileId> directories) const {
  return clipper::is_below(directory(), directories, path_);
}

bool is_below(int directory, std::span<const FileId> directories, const std::string& path) {
  const auto known = [&](int failed, const os::Status& status) {
    if (failed != 0) throw_system_error(directory_of(path), "cannot be examined");
    return id_of(status);
  };
  os::Status status{};
  FileId id = known(os::fstat(directory, &status), status);
  if (std::ranges::find(directories, id) != directories.end()) return true;
  Descriptor parent;
  for (int fd = directory;; fd = parent.get()) {
    const FileId above = known(os::fstatat(fd, "..", &status, 0), status);
    if (std::ranges::find(directories, above) != directories.end()) return true;
    if (above == id) return false;  // ".." of the root directory is the root directory
    id = above;
    parent = open_at(fd, "..", O_PATH);
    if (parent.get() < 0) throw_system_error(directory_of(path), "cannot be examined");
  }
}

bool Place::is_append_only() const noexcept {
  return os::is_append_only(directory());
}

void Place::expect_sync() const {
  if ((os::fcntl(directory(), F_GETFL) & O_PATH) != 0)
    throw_system_error(directory_of(path_), "cannot be opened", EACCES);
}

bool Place::sync() const noexcept {
  return os::fsync(directory()) == 0;
}

bool Place::remove(const FileId& file) const noexcept {
  return remove_name(directory(), name(), file);
}

bool remove_name(int directory, const char* name, const FileId& file) noexcept {
  os::Status status{};
  if (os::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && id_of(status) != file) return true;
  return os::unlinkat(directory, name, 0) == 0 || errno == ENOENT;
}

void drop(const Descriptor& fd, const Place& place, const std::function<bool()>& unlink) noexcept {
  os::Status status{};
  const bool is_known = os::fstat(fd.get(), &status) == 0;
  const auto is_of_another = [&] {
    const auto named = place.id();
    return named && is_known && *named != id_of(status);
  };
  if (is_of_another() || unlink() || errno != ENOSPC) return;
  if (!is_known || status.st_nlink != 1 || is_of_another() || os::ftruncate(fd.get(), 0) != 0) return;
  std::ignore = unlink();
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max(slash, os::root_length(path)));
}

std::string resolved(const std::string& path) {
  std::string real = os::real_path(path);
  if (real.empty()) throw_system_error(path, "cannot be opened");
  return real;
}

std::string random_suffix() {
  std::uint64_t number = 0;
  if (os::getrandom(&number, sizeof number, 0) != sizeof number)
    throw_system_error("temporary name", "the system has no random number for it");
  return fmt::format("{:016x}", number);
}

void throw_not_durable(const std::string& path, int error) {
  throw Error(
      ErrorKind::not_durable,
      fmt::format(
          "{}: complete, but may not survive a power failure: its directory cannot be flushed to disk: {}",
          path, os::error_text(error)));
}

Exchanged exchange(const Place& hidden, const Place& place, const FileId& replacement,
                   const std::function<bool()>& is_right) noexcept {
  if (!swap(hidden, place)) return os::is_unsupported(errno) ? Exchanged::unsupported : Exchanged::failed;
  return is_right() ? Exchanged::done : take_back(hidden, place, replacement);
}

}  // namespace clipper
