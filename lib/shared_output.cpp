#include "shared_output.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attributes.hpp"
#include "directory.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// The names in a directory but for those with a dot; none if it is not there.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
  if (!open && errno != ENOENT) throw_system_error(directory, "cannot be read");
  if (!open) return names;
  errno = 0;
  while (const dirent* const entry = ::readdir(open.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  if (errno != 0) throw_system_error(directory, "cannot be read");
  return names;
}

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
      claim_(directory_ + "/run"),
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

bool SharedOutput::has_claim(ino_t inode) const {
  const std::optional<Claim> claim = read_claim(claim_);
  return claim && claim->inode == inode;
}

std::string SharedOutput::placed() const {
  return fmt::format("{}/placed.{}", directory_, inode_);
}

/// Whether OUT is this run's. That its inode is the same could be by chance, long after OUT.partial is gone.
bool SharedOutput::is_placed() const {
  return has_inode(path_) && status_of(placed());
}

/// False if everything has to be looked at anew.
bool SharedOutput::open_claimed(const Claim& claim) {
  if (open_partial(0) && inode_ == claim.inode) return true;
  if (has_claim(claim.inode))
    throw Error(ErrorKind::refused,
                fmt::format("{}: its shards are marked in {}, but it is gone; remove that, and run all again",
                            partial_, directory_));
  return false;
}

/// False if everything has to be looked at anew.
bool SharedOutput::begin(const Run& run) {
  if (!open_partial(O_CREAT)) throw_system_error(partial_, "cannot be created");
  if (size_ != 0) {
    if (read_claim(claim_)) return false;
    throw Error(ErrorKind::refused,
                fmt::format("{}: exists, and is not of clipper's shards; remove it", partial_));
  }
  return make_claim(claim_, {claim_text(run.shards, run.description), inode_});
}

/// False if everything has to be looked at anew.
bool SharedOutput::join(const Run& run, const Claim& claim) {
  const std::string text = claim_text(run.shards, run.description);
  inode_ = claim.inode;
  if (is_placed()) {
    end();  // whoever has put it there may have been killed before that
    in_place_ = claim.text == text;
    if (in_place_ || !has_claim(claim.inode)) return in_place_;
  }
  if (claim.text != text)
    throw Error(ErrorKind::refused,
                fmt::format("{}: begun by another run: {}; finish that one, or remove it and {}", directory_,
                            claim.text, partial_));
  return open_claimed(claim);
}

SharedOutput SharedOutput::open(const std::string& path, OutputFile::Existing existing, const Run& run) {
  SharedOutput output(path, existing);
  const auto status = status_of(output.path_);
  if (status && !S_ISREG(status->st_mode))
    throw Error(ErrorKind::refused, fmt::format("{}: not a file; shards need one", path));
  output.shards_ = run.shards;
  for (bool ready = false; !ready;) {
    OutputFile::check(path, existing);
    if (::mkdir(output.directory_.c_str(), 0777) != 0 && errno != EEXIST)
      throw_system_error(output.directory_, "cannot be created");
    const std::optional<Claim> claim = read_claim(output.claim_);
    ready = claim ? output.join(run, *claim) : output.begin(run);
  }
  if (output.in_place_) return output;
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

void SharedOutput::finish(std::uint64_t shard) {
  if (::fsync(fd_.get()) != 0) throw_system_error(partial_, "cannot be written to the disk");
  check_close(fd_, partial_);
  if (!mark(shard)) return expect_in_place();
  if (missing().empty()) place();
}

/// False if the run has ended.
bool SharedOutput::mark(std::uint64_t shard) const {
  if (!has_claim(inode_)) return false;
  const std::string path = fmt::format("{}/{}-of-{}.{}", directory_, shard, shards_, inode_);
  if (create_empty(path)) return true;
  if (errno != ENOENT) throw_system_error(path, "cannot be created");
  return false;
}

std::vector<std::uint64_t> SharedOutput::missing() const {
  std::set<std::string> names;
  for (std::string& name : names_in(directory_)) names.insert(std::move(name));
  std::vector<std::uint64_t> without;
  for (std::uint64_t shard = 0; shard < shards_; ++shard)
    if (!names.contains(fmt::format("{}-of-{}.{}", shard, shards_, inode_))) without.push_back(shard);
  return without;
}

/// For when another process has ended the run. The file is open: its inode is no other's.
void SharedOutput::expect_in_place() {
  in_place_ = has_inode(path_);
  if (!in_place_)
    throw Error(ErrorKind::refused,
                fmt::format("{}: taken away while it was written; run it again", partial_));
  end();
}

/// OUT.partial may be the next run's by now. So the file gets a name of its own first, and only if that is
/// the right file, it becomes OUT.
void SharedOutput::place() {
  const std::string link = fmt::format("{}/link-{}.{}", directory_, random_suffix(), inode_);
  const bool linked = ::link(partial_.c_str(), link.c_str()) == 0;
  if (!linked && errno == ENOENT) return expect_in_place();
  const std::string& source = linked ? link : partial_;  // some file systems have no hard links
  if (!has_inode(source)) {
    ::unlink(link.c_str());
    return expect_in_place();
  }
  keep_mode();
  if (!create_empty(placed()) && errno != ENOENT) throw_system_error(placed(), "cannot be created");
  const bool put = existing_ == OutputFile::Existing::refuse ? ::link(source.c_str(), path_.c_str()) == 0
                                                             : ::rename(source.c_str(), path_.c_str()) == 0;
  if (!put && errno == ENOENT) return expect_in_place();
  if (!put && errno == EEXIST && !has_inode(path_))
    throw Error(ErrorKind::refused, fmt::format("{}: exists already (--no-clobber)", path_));
  if (!put && errno != EEXIST) throw_system_error(path_, "cannot be put in place");
  in_place_ = true;
  end();
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

/// False if one is still there. The claim goes at the end: until then there is no next run, and what was
/// there before is nobody's any more. What says that the file is in place stays even longer, for those that
/// have read the claim.
bool SharedOutput::remove_markers() const {
  const auto remove = [](const std::string& path) { return ::unlink(path.c_str()) == 0 || errno == ENOENT; };
  if (has_inode(partial_) && !remove(partial_)) return false;
  const std::vector<std::string> names = names_in(directory_);
  const bool claimed = has_claim(inode_);
  const std::string own = fmt::format(".{}", inode_);
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", directory_, name);
    if (path == claim_ || path == placed() || !(claimed || name.ends_with(own))) continue;
    if (!remove(path)) return false;
  }
  if (claimed && !remove(claim_)) return false;
  return remove(placed());
}

void SharedOutput::finalize(const std::string& path, OutputFile::Existing existing) {
  SharedOutput output(path, existing);
  const std::optional<Claim> claim = read_claim(output.claim_);
  if (!claim) {  // that of a killed shard, which was about to end, may be gone, too
    if (const auto status = status_of(output.path_)) {
      output.inode_ = status->st_ino;
      return output.end();
    }
    throw Error(ErrorKind::refused, fmt::format("{}: no shard of it has been run", path));
  }
  output.inode_ = claim->inode;
  if (output.is_placed()) return output.end();
  if (!output.open_claimed(*claim)) return finalize(path, existing);
  output.shards_ = shards_of(*claim);
  const std::vector<std::uint64_t> missing = output.missing();
  if (!missing.empty())
    throw Error(ErrorKind::refused,
                fmt::format("{}: shard{} {} of {} {} missing", path, missing.size() == 1 ? "" : "s",
                            list_text(missing), output.shards_, missing.size() == 1 ? "is" : "are"));
  output.place();
}

}  // namespace clipper
