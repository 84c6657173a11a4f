#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <tuple>
#include <utility>

#include "error.hpp"
#include "files/attributes.hpp"
#include "files/cleanup_registry.hpp"
#include "files/directory.hpp"
#include "files/exchange.hpp"
#include "files/linux_calls.hpp"
#include "files/output_file.hpp"
#include "files/output_target.hpp"

/// How an output gets its name.
namespace clipper {

void OutputFile::complete() const {
  if (mode_ && ::fchmod(fd_.get(), *mode_) != 0) throw_system_error(path_, "cannot set its permissions");
}

void OutputFile::commit(const std::function<void()>& last_look) {
  if (!is_regular()) return commit_stream();
  keep_permissions();
  complete();
  const bool on_disk = durability_ == Durability::on_disk;
  if (durability_ != Durability::none && ::fsync(fd_.get()) != 0)
    throw_system_error(path_, "cannot be flushed to disk");
  drop_rest(fd_, path_);
  check_close(fd_, path_);
  if (on_disk) place_->expect_sync();
  last_look();
  put_in_place();
  if (on_disk && !place_->sync()) throw_not_durable(path_, errno);
}

/// The old file's permissions may have changed since create().
void OutputFile::keep_permissions() {
  if (!mode_) return;
  const auto now = place_->status();
  if (!now || !S_ISREG(now->st_mode)) return;
  mode_ = now->st_mode & 0777;
  keep_access();
}

/// fsync() fails with EINVAL for pipes and devices.
void OutputFile::commit_stream() {
  if (durability_ == Durability::on_disk && ::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    throw_system_error(path_, "cannot be flushed to disk");
  if (::close(fd_.release()) != 0) throw_system_error(path_, "cannot be written");
}

void OutputFile::put_in_place() {
  const bool must_be_new = existing_ != Existing::replace;
  if (!temporary_ && !mode_) {
    if (link_as(*place_)) return;
    if (must_be_new && errno == EEXIST) refuse_existing(path_, existing_);
  }
  name_complete();
  const bool done = must_be_new ? rename_to_new()
                                : ::renameat(temporary_->directory(), temporary_->name(), place_->directory(),
                                             place_->name()) == 0;
  if (!done) throw_system_error(path_, "cannot be put in place");
  if (temporary_) forget_temporary();
}

/// Network file systems and FUSE lack RENAME_NOREPLACE and use a hard link instead; some lack hard links,
/// too.
bool OutputFile::rename_to_new() {
  const int directory = place_->directory();
  const char* const hidden = temporary_->name();
  if (rename_with(RENAME_NOREPLACE, directory, hidden, directory, place_->name()) == 0) return true;
  if (is_unsupported(errno)) {
    const FileId own = own_id();
    if (::linkat(directory, hidden, directory, place_->name(), 0) == 0) {
      remove_temporary(own);
      return true;
    }
    if (has_no_links(errno)) {
      if (existing_ == Existing::refuse)
        refuse(path_, Term{"existing", "replacing no file"} +
                          " needs a file system with hard links or exclusive renames");
      static std::mutex one_at_a_time;  // two outputs may have one name that differs in case
      const std::scoped_lock lock(one_at_a_time);
      if (!place_->status()) return ::renameat(directory, hidden, directory, place_->name()) == 0;
      errno = EEXIST;
    }
  }
  if (errno == EEXIST) refuse_existing(path_, existing_);
  return false;
}

/// The lock keeps other clippers from clipping this file while it may be taken back. They open the name, so
/// they find either the input, which is locked, too, or this file.
void OutputFile::replace(const InputFile& input) {
  std::ignore = clipper::lock(fd_, path_);
  name_complete();
  const FileId old = id_of(input.status());
  const FileId own = own_id();
  KeptAttributes kept(input);
  const std::function<bool()> is_right = [&] {
    return temporary_->id() == old && !input.has_changed() && kept.are_unchanged();
  };
  input.expect_unchanged();
  Exchanged result{};
  without_cleanup(registration_, [&] {
    result = exchange(*temporary_, *place_, own, is_right);
    return result == Exchanged::done ? old : own;
  });
  switch (result) {
    case Exchanged::done: remove_temporary(old); break;
    case Exchanged::taken_back: throw_taken_back(input, own);
    case Exchanged::stranded:
      unregister_temporary(std::exchange(registration_, -1));  // what has the hidden name stays
      throw Error(ErrorKind::not_durable,
                  fmt::format("{}: complete, but it replaced a file that another program had just written; "
                              "that file is now {}",
                              path_, temporary_->path()));
    case Exchanged::failed: throw_system_error(path_, "cannot be put in place");
    case Exchanged::unsupported:
      if (::renameat(temporary_->directory(), temporary_->name(), place_->directory(), place_->name()) != 0)
        throw_system_error(path_, "cannot be put in place");
      forget_temporary();
  }
  drop_pages(fd_, 0, 0);
  fd_ = Descriptor();  // unlocks it
}

FileId OutputFile::own_id() const {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_system_error(path_, "cannot be put in place");
  return id_of(status);
}

void OutputFile::throw_taken_back(const InputFile& input, const FileId& own) const {
  const auto left = temporary_->id();
  throw Error(
      ErrorKind::io,
      fmt::format("{}: changed while it was clipped", input.path()) +
          (!left || left == own ? ""
                                : fmt::format("; a file that another program had given this name is now {}",
                                              temporary_->path())));
}

/// Gives an unnamed file a hidden name, because linkat() cannot replace a file, but rename() can.
void OutputFile::name_complete() {
  if (!temporary_ && !name_temporary([&](const Place& place) { return link_as(place) ? fd_.get() : -1; }))
    throw_system_error(path_, "cannot be put in place");
}

/// Linux before 6.10 links a descriptor only for privileged processes: ENOENT. Does not use the heap: see
/// without_cleanup().
bool OutputFile::link_as(const Place& place) const {
  if (::linkat(fd_.get(), "", place.directory(), place.name(), AT_EMPTY_PATH) == 0) return true;
  if (errno != ENOENT) return false;
  return ::linkat(AT_FDCWD, path_of(fd_).data(), place.directory(), place.name(), AT_SYMLINK_FOLLOW) == 0;
}

/// Removes the hidden name of `file` after the output is in place.
void OutputFile::remove_temporary(const FileId& file) {
  const bool removed = temporary_->remove(file);
  const int error = errno;
  unregister_temporary(std::exchange(registration_, -1));
  if (!removed)
    throw Error(ErrorKind::not_durable,
                fmt::format("{}: complete, but the hidden file {} cannot be removed: {}", path_,
                            temporary_->path(), std::generic_category().message(error)));
  temporary_.reset();
}

}  // namespace clipper
