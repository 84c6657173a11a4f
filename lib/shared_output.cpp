#include "shared_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "directory.hpp"
#include "error.hpp"
#include "place.hpp"
#include "shard_files.hpp"

namespace clipper {
namespace {

/// OUT itself, to be replaced.
std::string without_links(const std::string& path) {
  const auto status = status_of(path);
  return status && S_ISLNK(status->st_mode) ? resolved(path) : path;
}

}  // namespace

SharedOutput::SharedOutput(const std::string& path, OutputFile::Existing existing)
    : path_(without_links(path)),
      partial_(path_ + ".partial"),
      directory_(path_ + ".shards"),
      existing_(existing) {}

/// What OUT is; nothing if there is none yet.
std::optional<struct stat> SharedOutput::existing_file() const {
  const auto status = status_of(path_);
  if (status && !S_ISREG(status->st_mode)) refuse(path_, "not a file; shards need one");
  return status;
}

/// False if there is none. A new one is not to be read by more people than what it replaces.
bool SharedOutput::open_partial(int flags) {
  const auto old = status_of(path_);
  const mode_t mode = old ? old->st_mode & 0777 : 0666;
  if (const auto there = status_of(partial_)) expect_own(partial_, *there, S_IFREG);  // before it is opened
  const int all_flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags;
  fd_ = Descriptor(retry_interrupted([&] { return ::open(partial_.c_str(), all_flags, mode); }));
  if (fd_.get() < 0 && errno == ENOENT) return false;
  if (fd_.get() < 0) throw_system_error(partial_, "cannot be opened");
  const struct stat status = partial_status();
  inode_ = status.st_ino;
  size_ = status.st_size;
  return true;
}

struct stat SharedOutput::partial_status() const {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_system_error(partial_, "cannot be examined");
  expect_own(partial_, status, S_IFREG);
  return status;
}

bool SharedOutput::has_inode(const std::string& path) const {
  const auto status = status_of(path);
  return status && status->st_ino == inode_;
}

std::string SharedOutput::own(std::string_view name) const {
  return fmt::format("{}/{}.{}", directory_, name, inode_);
}

/// False if there is no directory of shards.
bool SharedOutput::has_directory() const {
  const auto status = status_of(directory_);
  if (status) expect_own(directory_, *status, S_IFDIR);
  return status.has_value();
}

/// The file has its size before there are markers. One without a size has got the inode of theirs, which is
/// gone.
void SharedOutput::expect_size() const {
  if (size_ == bytes_ || (size_ == 0 && unmarked().size() == shards_)) return;
  if (const off_t size = partial_status().st_size; size != bytes_) refuse_size(size);
}

void SharedOutput::refuse_size(off_t size) const {
  if (size == 0)
    refuse(partial_,
           fmt::format("its shards are marked in {}, but it is gone; remove both, and run all again",
                       directory_));
  refuse(partial_, fmt::format("has {} bytes instead of {}: changed by something else; remove it and {}, "
                               "and run all shards again",
                               size, bytes_, directory_));
}

/// Makes the run ready, or finds it done. False if everything has to be looked at anew.
bool SharedOutput::begin(const std::string& text) {
  const bool had_directory = has_directory();
  in_place_ = had_directory && end_last(text) == text;
  if (in_place_) return true;
  std::ignore = existing_file();
  OutputFile::check(path_, existing_);
  if (!had_directory && Place::of(path_).is_append_only()) refuse(path_, "its directory is append-only");
  if (!had_directory && ::mkdir(directory_.c_str(), 0777) != 0) {
    if (errno == EEXIST) return false;
    throw_system_error(directory_, "cannot be created");
  }
  try {
    return join(text);
  } catch (...) {
    ::rmdir(directory_.c_str());  // unless others use it
    throw;
  }
}

/// The file gets a claim before it gets a size, and loses its name before its claim.
bool SharedOutput::join(const std::string& text) {
  if (!open_partial(O_CREAT)) throw_system_error(partial_, "cannot be created");
  const std::optional<Claim> claim = read_claim(own(kClaim));
  if (!has_inode(partial_)) return false;
  if (claim && claim->text != text)
    refuse(directory_, fmt::format("begun by another run: {}; finish that one, or remove it and {}",
                                   claim->text, partial_));
  if (claim) {
    expect_size();
    return true;
  }
  if (size_ != 0) refuse(partial_, "exists, and is not of clipper's shards; remove it");
  try {
    if (!make_claim(own(kClaim), text)) return false;
  } catch (const Error& error) {
    // No shard can make a claim here, therefore the file is no other shard's either.
    if (error.kind() == ErrorKind::refused) ::unlink(partial_.c_str());
    throw;
  }
  if (has_inode(partial_)) return true;
  end(ErrorKind::io);  // of a run that has ended since the file was opened
  return false;
}

SharedOutput SharedOutput::open(const std::string& path, OutputFile::Existing existing, const Run& run) {
  SharedOutput output(path, existing);
  output.shards_ = run.shards;
  output.bytes_ = static_cast<off_t>(run.size);
  const std::string text = claim_text(run.shards, run.size, run.description);
  for (Tries tries(path); !output.begin(text);) tries.again();
  if (!output.in_place_ && output.size_ == 0 && ::ftruncate(output.fd_.get(), output.bytes_) != 0)
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
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_system_error(path, "cannot be removed");
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

}  // namespace clipper
