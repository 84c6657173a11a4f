#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "attributes.hpp"
#include "directory.hpp"
#include "output_target.hpp"
#include "shard_files.hpp"
#include "shared_output.hpp"

/// How a run ends: its output is put in place, and what is beside it is removed.
namespace clipper {
namespace {

/// A further name of a file, which is removed in the end.
class Link {
 public:
  explicit Link(std::string path) : path_(std::move(path)) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { ::unlink(path_.c_str()); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace

/// For when another process has ended the run. The file is open: its inode is no other's.
bool SharedOutput::expect_in_place() {
  in_place_ = has_inode(path_);
  if (in_place_) end(ErrorKind::not_durable);
  return in_place_;
}

/// OUT.partial may be the next run's by now. So the file gets a name of its own first, and only if that is
/// the right file, it becomes OUT.
bool SharedOutput::place() {
  const Link link(own(fmt::format("{}{}", kLink, random_suffix())));
  const bool linked = ::link(partial_.c_str(), link.path().c_str()) == 0;
  if (!linked && errno == ENOENT) return expect_in_place();
  if (!linked && !has_no_links(errno)) throw_system_error(link.path(), "cannot be created");
  const std::string& source = linked ? link.path() : partial_;
  if (!has_inode(source)) return expect_in_place();
  if (const off_t size = partial_status().st_size; size != bytes_) refuse_size(size);
  keep_mode();
  if (!create_empty(own(kPlaced))) {
    if (errno == ENOENT) return expect_in_place();
    throw_system_error(own(kPlaced), "cannot be created");
  }
  if (!put(source)) {
    if (errno == ENOENT) return expect_in_place();
    if (errno != EEXIST) throw_system_error(path_, "cannot be put in place");
    if (!has_inode(path_)) refuse_existing(path_, existing_);
  }
  in_place_ = true;
  end(ErrorKind::not_durable);
  return true;
}

/// False, with errno.
bool SharedOutput::put(const std::string& source) const {
  if (existing_ == OutputFile::Existing::replace) return ::rename(source.c_str(), path_.c_str()) == 0;
  if (::link(source.c_str(), path_.c_str()) == 0) return true;
  if (!has_no_links(errno)) return false;
  if (::renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (is_unsupported(errno))
    refuse(path_,
           "--no-clobber cannot be kept on a file system without hard links and exclusive renames; clipper "
           "--finalize without it puts the output in place");
  return false;
}

/// A file that is replaced hands on its permissions.
void SharedOutput::keep_mode() const {
  const auto old = existing_file();
  if (!old || old->st_ino == inode_) return;
  if (!keep_access_list(path_, fd_) || ::fchmod(fd_.get(), old->st_mode & 0777) != 0)
    throw_system_error(path_, "its permissions cannot be kept");
}

/// The output is in place: has that on the disk, and removes what is beside it. Error{failure} if it cannot.
void SharedOutput::end(ErrorKind failure) const {
  try {
    const std::string directory = directory_of(path_);
    if (!sync_directory(directory)) throw_system_error(directory, "cannot be written to the disk");
    remove_markers();
    ::rmdir(directory_.c_str());  // unless others use it
  } catch (const Error& error) {
    throw Error(failure, fmt::format("{}: complete, but {}", path_, error.what()));
  } catch (const std::bad_alloc&) {
    throw Error(failure, path_ + ": complete, but out of memory");
  }
}

/// The claim goes when all else has; what says that the file is in place stays even longer, for those that
/// have read the claim. Another run is alive only if OUT.partial is its file, which it has before it has a
/// name here.
void SharedOutput::remove_markers() const {
  const auto remove = [](const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_system_error(path, "cannot be removed");
  };
  if (has_inode(partial_)) remove(partial_);
  const std::vector<std::string> names = names_in(directory_);
  const auto next = status_of(partial_);
  const std::string alive = next ? fmt::format(".{}", next->st_ino) : "/";
  for (const std::string& name : names) {
    const std::string path = directory_ + "/" + name;
    const bool is_last = path == own(kClaim) || path == own(kPlaced);
    if (!is_last && is_shard_file(name) && !name.ends_with(alive)) remove(path);
  }
  remove(own(kClaim));
  remove(own(kPlaced));
}

void SharedOutput::finalize(const std::string& path, OutputFile::Existing existing) {
  SharedOutput output(path, existing);
  for (Tries tries(path); !output.finish_all();) tries.again();
}

/// False if everything has to be looked at anew.
bool SharedOutput::finish_all() {
  const bool was_placed = has_directory() && end_last(std::nullopt).has_value();
  const bool has_partial = open_partial(0);
  const std::optional<Claim> claim = has_partial ? read_claim(own(kClaim)) : std::nullopt;
  shards_ = claim ? claim->shards : 0;
  bytes_ = claim ? static_cast<off_t>(claim->size) : 0;
  const std::vector<std::uint64_t> missing = claim ? unmarked() : std::vector<std::uint64_t>();
  if (has_partial && !has_inode(partial_)) return expect_in_place();  // it has just been ended
  if (!claim) {
    ::rmdir(directory_.c_str());  // of a shard that was killed before it began
    if (was_placed) return true;
    refuse(path_, status_of(path_) ? "no shards of it wait to be put in place; they are there already, or "
                                     "something else has written it"
                                   : "no shard of it has been run");
  }
  expect_size();
  if (missing.empty()) return place();
  refuse(path_, fmt::format("shard{} {} of {} {} missing", missing.size() == 1 ? "" : "s", list_text(missing),
                            shards_, missing.size() == 1 ? "is" : "are"));
}

/// Ends the run that OUT is of, if a killed shard has not. What it was, if it has put OUT in place; `text` is
/// the one that is wanted.
std::optional<std::string> SharedOutput::end_last(std::optional<std::string_view> text) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor out(::open(path_.c_str(), kFlags));  // no other file gets its inode
  if (out.get() < 0 && errno == ENOENT) return std::nullopt;
  struct stat status {};
  if (out.get() < 0 || ::fstat(out.get(), &status) != 0) throw_system_error(path_, "cannot be examined");
  inode_ = status.st_ino;
  const std::optional<Claim> claim = read_claim(own(kClaim));
  const bool is_placed = status_of(own(kPlaced)).has_value();
  if (!claim && !is_placed) return std::nullopt;
  const std::string last = claim ? claim->text : "";
  end(is_placed && last == text.value_or(last) ? ErrorKind::not_durable : ErrorKind::io);
  const bool is_same = is_placed && (!claim || static_cast<off_t>(claim->size) == status.st_size);
  return is_same ? std::optional(last) : std::nullopt;
}

}  // namespace clipper
