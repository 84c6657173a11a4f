#include "shared_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attributes.hpp"
#include "directory.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr std::string_view kClaim = "run";
constexpr std::string_view kPlaced = "placed";
constexpr std::string_view kLink = "link";

/// "1, 4 to 7"
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

/// Nothing if there is no such file.
std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) throw_system_error(path, "cannot be examined");
  return std::nullopt;
}

/// OUT itself, to be replaced.
std::string without_links(const std::string& path) {
  const auto status = status_of(path);
  return status && S_ISLNK(status->st_mode) ? resolved(path) : path;
}

/// False, with errno, if there is no such file then.
bool create_empty(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor fd(retry_interrupted([&] { return ::open(path.c_str(), kFlags, 0666); }));
  return fd.get() >= 0;
}

}  // namespace

SharedOutput::SharedOutput(const std::string& path, OutputFile::Existing existing)
    : path_(without_links(path)),
      partial_(path_ + ".partial"),
      directory_(path_ + ".shards"),
      existing_(existing) {}

/// False if there is none. A new one is not to be read by more people than what it replaces.
bool SharedOutput::open_partial(int flags) {
  const auto old = status_of(path_);
  const mode_t mode = old ? old->st_mode & 0777 : 0666;
  fd_ = Descriptor(retry_interrupted(
      [&] { return ::open(partial_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, mode); }));
  if (fd_.get() < 0 && errno == ENOENT) return false;
  if (fd_.get() < 0) throw_system_error(partial_, "cannot be opened");
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_system_error(partial_, "cannot be examined");
  inode_ = status.st_ino;
  size_ = status.st_size;
  return true;
}

bool SharedOutput::has_inode(const std::string& path) const {
  const auto status = status_of(path);
  return status && status->st_ino == inode_;
}

std::string SharedOutput::own(std::string_view name) const {
  return fmt::format("{}/{}.{}", directory_, name, inode_);
}

/// Markers are made when the file has its size. One without a size has got the inode of theirs, which is
/// gone.
void SharedOutput::refuse_another_file() const {
  if (size_ != 0 || unmarked().size() == shards_) return;
  struct stat now {};
  if (::fstat(fd_.get(), &now) != 0) throw_system_error(partial_, "cannot be examined");
  if (now.st_size == 0)
    throw Error(ErrorKind::refused,
                fmt::format("{}: its shards are marked in {}, but it is gone; remove both, and run all again",
                            partial_, directory_));
}

/// False if everything has to be looked at anew. The file gets a claim before it gets a size, and loses its
/// name before its claim.
bool SharedOutput::join(const std::string& text) {
  if (!open_partial(O_CREAT)) throw_system_error(partial_, "cannot be created");
  const std::optional<std::string> claim = read_claim(own(kClaim));
  if (!has_inode(partial_)) return false;
  if (claim && *claim != text)
    throw Error(ErrorKind::refused,
                fmt::format("{}: begun by another run: {}; finish that one, or remove it and {}", directory_,
                            *claim, partial_));
  if (claim) {
    refuse_another_file();
    return true;
  }
  if (size_ != 0)
    throw Error(ErrorKind::refused,
                fmt::format("{}: exists, and is not of clipper's shards; remove it", partial_));
  if (!make_claim(own(kClaim), text)) return false;
  if (has_inode(partial_)) return true;
  end();  // of a run that has ended since the file was opened
  return false;
}

/// Ends the run that OUT is of, if a killed shard has not. True if it is the one with that text.
bool SharedOutput::end_last(const std::string& text) {
  const Descriptor out(
      ::open(path_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));  // no other file gets its inode
  struct stat status {};
  if (out.get() < 0 || ::fstat(out.get(), &status) != 0) return false;
  inode_ = status.st_ino;
  const std::optional<std::string> claim = read_claim(own(kClaim));
  const bool is_placed = status_of(own(kPlaced)).has_value();
  if (!claim && !is_placed) return false;
  end();
  return is_placed && claim && *claim == text;
}

SharedOutput SharedOutput::open(const std::string& path, OutputFile::Existing existing, const Run& run) {
  SharedOutput output(path, existing);
  const auto status = status_of(output.path_);
  if (status && !S_ISREG(status->st_mode))
    throw Error(ErrorKind::refused, fmt::format("{}: not a file; shards need one", path));
  output.shards_ = run.shards;
  const std::string text = claim_text(run.shards, run.description);
  for (bool ready = false; !ready;) {
    output.in_place_ = output.end_last(text);
    if (output.in_place_) return output;
    OutputFile::check(path, existing);
    if (::mkdir(output.directory_.c_str(), 0777) != 0 && errno != EEXIST)
      throw_system_error(output.directory_, "cannot be created");
    ready = output.join(text);
  }
  const auto size = static_cast<off_t>(run.size);
  if (output.size_ < size && ::ftruncate(output.fd_.get(), size) != 0)
    throw_system_error(output.partial_, "cannot be written");
  return output;
}

OutputFile SharedOutput::part(std::uint64_t offset) const {
  Descriptor copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) throw_system_error(partial_, "cannot be opened");
  return OutputFile::open_part(std::move(copy), partial_, offset);
}

bool SharedOutput::finish(std::uint64_t shard) {
  if (::fsync(fd_.get()) != 0) throw_system_error(partial_, "cannot be written to the disk");
  check_close(fd_, partial_);
  if (!mark(shard)) return expect_in_place();
  missing_ = unmarked().size();
  return missing_ != 0 || place();
}

bool SharedOutput::is_marked(std::uint64_t shard) const {
  return status_of(directory_ + "/" + marker(shard)).has_value();
}

std::string SharedOutput::marker(std::uint64_t shard) const {
  return fmt::format("{}-of-{}.{}", shard, shards_, inode_);
}

/// False if the run has ended.
bool SharedOutput::mark(std::uint64_t shard) const {
  if (!read_claim(own(kClaim))) return false;
  const std::string path = directory_ + "/" + marker(shard);
  if (!create_empty(path)) {
    if (errno != ENOENT) throw_system_error(path, "cannot be created");
    return false;
  }
  if (read_claim(own(kClaim))) return true;
  ::unlink(path.c_str());
  ::rmdir(directory_.c_str());
  return false;
}

std::vector<std::uint64_t> SharedOutput::unmarked() const {
  std::set<std::string> names;
  for (std::string& name : names_in(directory_)) names.insert(std::move(name));
  std::vector<std::uint64_t> without;
  for (std::uint64_t shard = 0; shard < shards_; ++shard)
    if (!names.contains(marker(shard))) without.push_back(shard);
  return without;
}

/// For when another process has ended the run. The file is open: its inode is no other's.
bool SharedOutput::expect_in_place() {
  in_place_ = has_inode(path_);
  if (in_place_) end();
  return in_place_;
}

/// OUT.partial may be the next run's by now. So the file gets a name of its own first, and only if that is
/// the right file, it becomes OUT.
bool SharedOutput::place() {
  const std::string link = own(fmt::format("{}-{}", kLink, random_suffix()));
  const bool linked = ::link(partial_.c_str(), link.c_str()) == 0;
  if (!linked && errno == ENOENT) return expect_in_place();
  const std::string& source = linked ? link : partial_;  // some file systems have no hard links
  if (!has_inode(source)) {
    ::unlink(link.c_str());
    return expect_in_place();
  }
  keep_mode();
  if (!create_empty(own(kPlaced)) && errno != ENOENT) throw_system_error(own(kPlaced), "cannot be created");
  const bool put = existing_ == OutputFile::Existing::refuse ? ::link(source.c_str(), path_.c_str()) == 0
                                                             : ::rename(source.c_str(), path_.c_str()) == 0;
  if (!put && errno == ENOENT) return expect_in_place();
  if (!put && errno == EEXIST && !has_inode(path_))
    throw Error(ErrorKind::refused, fmt::format("{}: exists already (--no-clobber)", path_));
  if (!put && errno != EEXIST) throw_system_error(path_, "cannot be put in place");
  in_place_ = true;
  end();
  return true;
}

/// A file that is replaced hands on its permissions.
void SharedOutput::keep_mode() const {
  const auto old = status_of(path_);
  if (!old || old->st_ino == inode_) return;
  if (!keep_access_list(path_, fd_) || ::fchmod(fd_.get(), old->st_mode & 0777) != 0)
    throw_system_error(path_, "its permissions cannot be kept");
}

/// The output is in place: has that on the disk, and removes what is beside it.
void SharedOutput::end() const {
  const std::string directory = directory_of(path_);
  const Descriptor fd(
      retry_interrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) throw_not_durable(path_, errno);
  try {
    if (remove_markers()) ::rmdir(directory_.c_str());
  } catch (const std::exception&) {
    return;  // what is left does no harm, and the next that comes tries again
  }
}

/// False if one is still there. The claim goes when all else has; what says that the file is in place stays
/// even longer, for those that have read the claim. Another run is alive only if OUT.partial is its file,
/// which it has before it has a name here.
bool SharedOutput::remove_markers() const {
  const auto remove = [](const std::string& path) { return ::unlink(path.c_str()) == 0 || errno == ENOENT; };
  if (has_inode(partial_) && !remove(partial_)) return false;
  const std::vector<std::string> names = names_in(directory_);
  const auto next = status_of(partial_);
  const std::string alive = next ? fmt::format(".{}", next->st_ino) : "/";
  for (const std::string& name : names) {
    const std::string path = directory_ + "/" + name;
    const bool is_last = path == own(kClaim) || path == own(kPlaced);
    if (!is_last && !name.ends_with(alive) && !remove(path)) return false;
  }
  return remove(own(kClaim)) && remove(own(kPlaced));
}

void SharedOutput::finalize(const std::string& path, OutputFile::Existing existing) {
  SharedOutput output(path, existing);
  (void)output.end_last({});
  const bool has_out = status_of(output.path_).has_value();
  const bool has_partial = output.open_partial(0);
  const std::optional<std::string> claim = has_partial ? read_claim(output.own(kClaim)) : std::nullopt;
  if (!claim) {
    ::rmdir(output.directory_.c_str());  // of a shard that was killed before it began
    if (has_out) return;
    throw Error(ErrorKind::refused, fmt::format("{}: no shard of it has been run", path));
  }
  output.shards_ = shards_of(*claim);
  output.refuse_another_file();
  const std::vector<std::uint64_t> missing = output.unmarked();
  if (!missing.empty() && !output.has_inode(output.partial_)) return finalize(path, existing);
  if (!missing.empty())
    throw Error(ErrorKind::refused,
                fmt::format("{}: shard{} {} of {} {} missing", path, missing.size() == 1 ? "" : "s",
                            list_text(missing), output.shards_, missing.size() == 1 ? "is" : "are"));
  if (!output.place()) finalize(path, existing);
}

}  // namespace clipper
