#include "files/input_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "element/text.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"

namespace clipper {

InputFile::InputFile(Descriptor fd, std::string path, Look& look)
    : fd_(std::move(fd)), path_(std::move(path)), status_(look(fd_, path_)) {}

InputFile::InputFile(Descriptor fd, std::string path, const InputFile& archive, Source source)
    : fd_(std::move(fd)),
      path_(std::move(path)),
      status_(archive.status_),
      place_(archive.place_),
      regular_(true),
      locked_(archive.locked_),
      trailing_ignored_(archive.trailing_ignored_),
      member_(true),
      source_(std::move(source)) {}

InputFile InputFile::member(std::string path, Source source) const {
  Descriptor copy(os::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) throw_system_error(path, "cannot be opened");
  copy.set_caching(fd_.caching());
  return {std::move(copy), std::move(path), *this, std::move(source)};
}

/// The status of a stream changes while it is read.
void InputFile::read_from(Source source) {
  source_ = std::move(source);
  if (!regular_) status_ = status_of(fd_, path_);
  regular_ = true;
}

/// A member drops only its own bytes: others of its archive may have been read ahead.
InputFile::~InputFile() {
  if (member_)
    drop_pages(fd_, begin(), size());
  else
    drop_pages(fd_, 0, 0);
}

/// Leaves a file in the page cache that was there: others use it, and this process reads it from there.
void InputFile::set_caching(Caching caching) noexcept {
  if (caching == Caching::dropped && !is_mostly_cached(fd_, size())) fd_.set_caching(caching);
}

InputFile InputFile::open(const std::string& path, Caching caching) {
  if (path == "-") {
    if (os::isatty(STDIN_FILENO) != 0)
      throw Error(ErrorKind::usage, "standard input is a terminal; pipe or redirect a .npy file to it");
    Descriptor copy(os::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) throw_system_error("standard input", "cannot be opened");
    enlarge_pipe(copy);
    return {std::move(copy), "standard input", status_of};
  }
  InputFile file = open_path(path, 0, caching);
  if (S_ISFIFO(file.status_.st_mode)) enlarge_pipe(file.fd_);
  return file;
}

InputFile InputFile::open_regular(const std::string& path, Caching caching) {
  InputFile file = open_path(path, O_NONBLOCK, caching);  // do not wait for the writer of a FIFO
  if (!file.regular_) throw Error(ErrorKind::input, fmt::format("{}: not a regular file", path));
  return file;
}

InputFile InputFile::open_below(const std::string& base, const std::string& path) {
  const auto refuse_path = [&](std::string_view why) {
    throw Error(ErrorKind::input, fmt::format("{}: its external data '{}' {}", base, path, why));
  };
  constexpr int kFlags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
  const std::string directory = directory_of(base);
  Descriptor fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (fd.get() < 0) throw_system_error(directory, "cannot be opened");
  for (const std::string_view part : split(path, '/')) {
    const std::string name(part);
    if (name.empty() || name == ".." || name.find('\0') != name.npos)
      refuse_path("is not a relative path below its directory");
    Descriptor next = open_at(fd.get(), name.c_str(), kFlags);
    if (next.get() < 0 && errno == ELOOP) refuse_path("is, or is behind, a symbolic link");
    if (next.get() < 0)
      throw_system_error(fmt::format("{}: its external data '{}'", base, path), "cannot be opened");
    fd = std::move(next);
  }
  InputFile file(std::move(fd), fmt::format("{}/{}", directory, path), settled_status);
  if (!S_ISREG(file.status_.st_mode)) refuse_path("is not a regular file");
  file.regular_ = true;
  return file;
}

namespace {

/// "; as a pattern it matches 2 files": about a pattern in quotes, which no shell has expanded.
Message words_about_pattern(const std::string& path) {
  const std::string pattern = path.substr(path.rfind('/') + 1);
  if (pattern.find_first_of("*?[") == pattern.npos) return "";
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(os::native(directory_of(path)), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = os::text_of(entry->path().filename());
    if (!name.starts_with('.') && os::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) ++count;
  }
  if (count == 0) return "";
  return fmt::format("; as a pattern it matches {} file{}", count, count == 1 ? "" : "s") +
         Message(Term{"pattern", "", Says::advice});
}

[[noreturn]] void refuse_unopened(const std::string& path, int error) {
  throw Error(ErrorKind::io,
              fmt::format("{}: cannot be opened: {}", path, os::error_text(error)) +
                  (error == ENOENT ? words_about_pattern(path) : Message("")),
              error);
}

/// sshfs has no locks between its clients. To replace an open file it first removes it: a process that is
/// killed in between leaves no file at all.
void expect_replaceable(const Descriptor& fd, const std::string& path) {
  if (is_on_fuse(fd.get(), "fuse.sshfs"))
    refuse(path, "refused to avoid data loss: " + kInPlaceChange +
                     " is not safe on sshfs, which cannot replace files atomically; write to another file");
}

std::string bytes_text(std::uint64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "byte" : "bytes");
}

}  // namespace

InputFile InputFile::open_path(const std::string& path, int flags, Caching caching) {
  Descriptor fd = open_file(path, flags | O_RDONLY | O_NOCTTY);
  if (fd.get() < 0) refuse_unopened(path, errno);
  InputFile file(std::move(fd), path, settled_status);
  if (S_ISDIR(file.status_.st_mode)) throw_system_error(path, "cannot be read", EISDIR);
  file.regular_ = S_ISREG(file.status_.st_mode);
  if (!file.regular_) return file;
  file.set_caching(caching);
  constexpr std::uint64_t kMaxStart = 8192;  // a small file needs no other read
  file.start_.resize(std::min(kMaxStart, file.size()));
  file.start_.resize(clipper::read_at(file.fd_, file.start_, 0, path));
  return file;
}

/// overlayfs copies a file of its lower layer when that is opened to be written, but only under this name.
void InputFile::refuse_replaced(const std::string& path, const os::Status& was, const InputFile& now) {
  const bool is_overlay = os::file_system(now.fd_.get()) == os::FileSystem::overlayfs;
  if (is_overlay && was.st_nlink > 1 && now.status_.st_nlink == 1)
    refuse(path, "overlayfs has separated it from its other hard links; to change only this file, try again");
  refuse(path, "was replaced while it was opened; try again");
}

/// Opens the last name without following links: the file that is locked is the file that is read and
/// replaced, whatever happens to the links in `path` meanwhile. The kernel follows the path of a descriptor
/// to its file, realpath() to the name that the file once had: both must be one file.
InputFile InputFile::open_to_change(const std::string& path, Caching caching) {
  if (path == "-") refuse(path, kInPlaceChange + " needs a regular file");
  os::Status followed{};  // fails if fs.protected_symlinks forbids following the links
  if (os::stat(path.c_str(), &followed) != 0) refuse_unopened(path, errno);
  if (S_ISDIR(followed.st_mode)) throw_system_error(path, "cannot be read", EISDIR);
  if (!S_ISREG(followed.st_mode)) refuse(path, kInPlaceChange + " needs a regular file");
  Place place = Place::resolved(path);
  Descriptor fd = open_at(place.directory(), place.name(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
  if (fd.get() < 0 && errno == ELOOP) refuse(path, "was replaced while it was opened; try again");
  if (fd.get() < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
    refuse(path, "is write-protected");
  if (fd.get() < 0) throw_system_error(path, "cannot be opened");
  InputFile file(std::move(fd), path, status_of);  // lock() waits until it is settled
  if (id_of(file.status_) != id_of(followed)) refuse_replaced(path, followed, file);
  expect_replaceable(file.fd_, path);
  file.place_ = std::move(place);
  file.regular_ = true;
  file.set_caching(caching);
  file.lock();
  return file;
}

/// flock() locks the file, not the name: the file may have been replaced before the lock was taken.
void InputFile::lock() {
  locked_ = clipper::lock(fd_, path_);
  status_ = settled_status(fd_, path_);
  if (!place_->is(id_of(status_))) refuse(path_, "was replaced while it was opened; try again");
}

bool InputFile::is_changed(const os::Status& now) const noexcept {
  return is_written(status_, now) || (place_ && now.st_nlink != status_.st_nlink);
}

/// A link changes the time of the last change of attributes, too.
void InputFile::accept_links() {
  const os::Status now = status_of(fd_, path_);
  if (is_written(status_, now)) throw_changed(path_);
  status_.st_nlink = now.st_nlink;
  status_.st_ctim = now.st_ctim;
}

bool InputFile::has_changed() const noexcept {
  os::Status now{};
  if (source_ && source_->other && source_->other->has_changed()) return true;
  return os::fstat(fd_.get(), &now) != 0 || is_changed(now);
}

/// A program that writes may set the modification time back, but not the time of the last change of
/// attributes.
void InputFile::expect_unwritten() const {
  if (source_ && source_->other) source_->other->expect_unwritten();
  const os::Status now = status_of(fd_, path_);
  if (is_changed(now)) throw_changed(path_);
  if (regular_) expect_same_attributes(now);
}

void InputFile::expect_same_attributes(const os::Status& now) const {
  if (!has_same_attributes(status_, now))
    throw Error(ErrorKind::io,
                fmt::format("{}: was written to, or its attributes changed, while it was read", path_));
}

/// Opens the name again, too: NFS asks the server then, but shows an open file as it was for longer.
void InputFile::expect_unwritten_anywhere(std::chrono::steady_clock::time_point last_read) const {
  constexpr std::chrono::milliseconds kKept{1100};  // FUSE, MooseFS and GlusterFS keep attributes for 1 s
  if (clock_of(fd_) == FileClock::foreign) {
    std::this_thread::sleep_for(last_read + kKept - std::chrono::steady_clock::now());
    const Descriptor again = open_file(path_, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    os::Status now{};
    if (again.get() >= 0 && os::fstat(again.get(), &now) == 0 && id_of(now) == id_of(status_)) {
      if (is_written(status_, now)) throw_changed(path_);
      expect_same_attributes(now);
    }
  }
  expect_unwritten();
}

void InputFile::expect_unchanged() const {
  const auto named = place_->status();
  if (!named) throw Error(ErrorKind::io, fmt::format("{}: was renamed or removed while it was read", path_));
  if (id_of(*named) != id_of(status_)) refuse(path_, "was replaced by another file while it was read");
  expect_unwritten();
}

std::size_t InputFile::read(std::span<std::byte> bytes) {
  std::size_t done = 0;
  if (regular_) {
    done = read_some_at(bytes, position_);
    position_ += done;
    return done;
  }
  while (done < bytes.size()) {
    const ssize_t got =
        retry_interrupted([&] { return os::read(fd_.get(), bytes.data() + done, bytes.size() - done); });
    if (got < 0) throw_system_error(path_, "cannot be read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void InputFile::read_exactly(std::span<std::byte> bytes) {
  if (read(bytes) < bytes.size())
    throw Error(ErrorKind::input, fmt::format("{}: truncated: ends before its last element", path_));
}

void InputFile::expect_end() {
  std::array<std::byte, 16384> bytes{};
  while (read(std::span(bytes).first(trailing_ignored_ ? bytes.size() : 1)) != 0)
    if (!trailing_ignored_)
      throw Error(ErrorKind::input,
                  path_ + ": unexpected bytes after the array" + Term{"trailing", "", Says::advice});
}

void refuse_trailing(const std::string& path, std::uint64_t count) {
  throw Error(ErrorKind::input,
              path + ": " + bytes_text(count) + " after the array" + Term{"trailing", "", Says::advice});
}

void InputFile::expect_size(std::uint64_t end) const {
  if (!regular_ || size() <= end) return;
  if (!trailing_ignored_) refuse_trailing(path_, size() - end);
  if (place_)
    refuse(path_, fmt::format("refused to avoid data loss: in place, the {} after the array would be lost; "
                              "write to another file",
                              bytes_text(size() - end)));
}

void InputFile::read_next_at(std::span<std::byte> bytes, std::uint64_t offset) {
  if (is_regular())
    read_at(bytes, offset);
  else
    read_exactly(bytes);
}

std::size_t InputFile::read_some_at(std::span<std::byte> bytes, std::uint64_t offset) const {
  if (!source_) return read_own_at(bytes, offset);
  return source_->contents.read_with(
      [this](std::span<std::byte> part, std::uint64_t at) { return read_own_at(part, at); }, bytes, offset,
      path_);
}

std::size_t InputFile::read_own_at(std::span<std::byte> bytes, std::uint64_t offset) const {
  if (offset > start_.size() || bytes.size() > start_.size() - offset)
    return clipper::read_at(fd_, bytes, offset, path_);
  std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
  return bytes.size();
}

void InputFile::read_at(std::span<std::byte> bytes, std::uint64_t offset) const {
  const std::size_t done = read_some_at(bytes, offset);
  if (done < bytes.size()) throw_changed(path_, fmt::format(": it now ends at byte {}", offset + done));
}

std::uint64_t stored_bytes(const InputFile& file) noexcept {
  constexpr std::uint64_t kBlock = 512;  // of st_blocks, whatever the file system
  return static_cast<std::uint64_t>(file.status().st_blocks) * kBlock;
}

bool is_sparse(const InputFile& file) noexcept {
  return file.is_regular() && file.source() == nullptr && stored_bytes(file) < file.size();
}

/// Where the file system does not know holes, it answers that the first one is at the end of the file.
Hole next_hole(const InputFile& file, std::uint64_t from, std::uint64_t end) noexcept {
  if (from >= end) return {end, end};
  const int fd = file.descriptor().get();
  const off_t hole = os::lseek(fd, static_cast<off_t>(from), SEEK_HOLE);
  if (hole < 0 || static_cast<std::uint64_t>(hole) >= end) return {end, end};
  const off_t data = os::lseek(fd, hole, SEEK_DATA);
  if (data < 0 && errno != ENXIO) return {end, end};
  const std::uint64_t begin = static_cast<std::uint64_t>(hole);
  return {begin, data < 0 ? end : std::min(static_cast<std::uint64_t>(data), end)};
}

DirectFile::DirectFile(const InputFile& input) : input_(input), known_(input.status()) {
  if (input.size() < start_.size()) return;  // not an .npy file: read_header() reports that
  input.read_at(start_, 0);
  unfinished_ = interrupted_ = npy::is_unfinished(start_);
  if (unfinished_) {
    mark_ = start_;
    start_ = npy::finished_start(mark_);
  } else if (is_on_fuse(input.descriptor().get(), "fuse.glusterfs")) {
    // GlusterFS clients show cached data for up to a second, despite the lock.
    refuse(input.path(), "refused to avoid data loss: " + Term{"direct", "changing a file directly"} +
                             " is not safe on GlusterFS, which may show other clients' changes late; " +
                             Term{"not_direct", "replace the file", Says::advice} +
                             ", or write to another file");
  }
}

std::optional<npy::Start> DirectFile::start() const {
  return interrupted_ ? std::optional(start_) : std::nullopt;
}

void DirectFile::begin(std::string_view what) {
  const npy::Start mark = npy::unfinished_start(start_, checksum(std::as_bytes(std::span(what))));
  if (interrupted_ && mark != mark_)
    refuse(input_.path(), "another " + Term{"direct", "direct change"} +
                              " was interrupted; finish it first, with the parameters that it had");
  mark_ = mark;
}

void DirectFile::read(std::span<std::byte> bytes, std::uint64_t offset) {
  expect_own();
  input_.read_at(bytes, offset);
}

/// The part is read once more, because a write in the same tick as this process's last one shows in no time.
void DirectFile::write(std::span<const std::byte> before, std::span<const std::byte> after,
                       std::uint64_t offset) {
  if (!unfinished_) mark();
  expect_own();
  std::vector<std::byte> step(std::min<std::size_t>(before.size(), 64UL * 1024));
  for (std::size_t at = 0; at < before.size(); at += step.size()) {
    const std::span now(step.data(), std::min(step.size(), before.size() - at));
    input_.read_at(now, offset + at);
    if (std::memcmp(now.data(), before.data() + at, now.size()) != 0) refuse_written();
  }
  write_at(input_.descriptor(), after, offset, input_.path());
  known_ = status();
}

/// The mark is on the disk before any element changes.
void DirectFile::mark() {
  expect_own();
  write_at(input_.descriptor(), mark_, 0, input_.path());
  unfinished_ = true;
  known_ = status();
  sync();
}

void DirectFile::commit() {
  expect_own();
  if (!unfinished_) return;
  sync();
  check_close(input_.descriptor(), input_.path());
  expect_own();  // others had much time to write meanwhile
  write_at(input_.descriptor(), start_, 0, input_.path());
  unfinished_ = false;
  os::Status now{};  // the file is complete: if it cannot be examined, the change has not failed
  if (os::fstat(input_.descriptor().get(), &now) == 0) expect_whole(now);
  if (os::fsync(input_.descriptor().get()) != 0)
    throw Error(
        ErrorKind::not_durable,
        fmt::format("{}: complete, but may not survive a power failure: it cannot be flushed to disk: {}",
                    input_.path(), os::error_text(errno)));
}

void DirectFile::sync() const {
  if (os::fdatasync(input_.descriptor().get()) != 0)
    throw_system_error(input_.path(), "cannot be flushed to disk");
}

/// Cannot detect a write between this process's last write and the fstat() after it, nor a write in the same
/// tick: such a write stays in the file.
void DirectFile::expect_own() const {
  if (is_written(known_, status())) refuse_written();
}

os::Status DirectFile::status() const {
  const os::Status now = status_of(input_.descriptor(), input_.path());
  expect_whole(now);
  return now;
}

/// A file without a name could not be finished after an interruption.
void DirectFile::expect_whole(const os::Status& now) const {
  if (now.st_nlink == 0) refuse(input_.path(), "was removed while it was changed");
  if (now.st_size != input_.status().st_size) refuse_written();
}

void DirectFile::refuse_written() const {
  throw Error(ErrorKind::io, fmt::format("{}: another process wrote to it while it was changed{}",
                                         input_.path(), unfinished_ ? " and may have damaged it" : ""));
}

}  // namespace clipper
