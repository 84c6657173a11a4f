#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "os/os.hpp"

/// How a complete file gets its name.
namespace clipper {

void OutputFile::flush() const {
  if (durability_ != Durability::none && os::fsync(fd_.get()) != 0)
    throw_system_error(path_, "cannot be flushed to disk");
}

void OutputFile::commit(const std::function<void()>& last_look) {
  if (!is_regular()) return commit_stream();
  keep_permissions();
  complete();
  const bool on_disk = durability_ == Durability::on_disk;
  flush();
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

bool OutputFile::has_bytes_of(const Descriptor& other) const {
  constexpr std::uint64_t kAtOnce = 256UL << 10;
  const auto status = status_of(other, path_);
  if (!S_ISREG(status.st_mode) || status.st_size != status_of(fd_, path_).st_size) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::byte> own(std::min(kAtOnce, size));
  std::vector<std::byte> others(own.size());
  for (std::uint64_t at = 0; at < size; at += own.size()) {
    own.resize(std::min<std::uint64_t>(own.size(), size - at));
    others.resize(own.size());
    if (read_at(fd_, own, at, path_) < own.size() || read_at(other, others, at, path_) < own.size() ||
        own != others)
      return false;
  }
  return true;
}

bool OutputFile::is_there_already() const {
  if (!backup_ || !is_regular() || !mode_ || existing_ != Existing::replace) return false;
  const Descriptor old = open_at(place_->directory(), place_->name(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (old.get() < 0 && errno != EACCES && errno != ENOENT) throw_system_error(path_, "cannot be opened");
  if (old.get() >= 0 && has_bytes_of(old)) return true;
  if (has_other_backup(*place_, *backup_)) refuse_backup(*place_, *backup_);
  return false;
}

/// fsync() fails with EINVAL for pipes and devices.
void OutputFile::commit_stream() {
  if (durability_ == Durability::on_disk && os::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    throw_system_error(path_, "cannot be flushed to disk");
  if (os::close(fd_.release()) != 0) throw_system_error(path_, "cannot be written");
}

void OutputFile::put_in_place() {
  const std::lock_guard turn(creating(place_->path()));
  if (backup_ && existing_ == Existing::replace) kept_ = KeptFile::keep(*place_, *backup_);
  if (kept_) return with_way_back([&] { replace_kept(); });
  const bool must_be_new = existing_ != Existing::replace || backup_;
  if (!temporary_ && !mode_) {
    if (link_as(*place_)) return;
    if (must_be_new && errno == EEXIST) refuse_existing(path_, existing_);
  }
  name_complete();
  const bool done = must_be_new ? rename_to_new()
                                : os::renameat(temporary_->directory(), temporary_->name(),
                                               place_->directory(), place_->name()) == 0;
  if (!done) throw_not_in_place();
  if (temporary_) forget_temporary();
}

/// Exchanges the names and looks, so that no other file than that of the backup is replaced.
void OutputFile::replace_kept() {
  if (durability_ == Durability::on_disk && !place_->sync())
    throw_system_error(path_, "its backup cannot be flushed to disk");
  const FileId old = kept_->file();
  const std::string why = path_ + ": another file took its name while its backup was made; try again";
  take_place_of({old, [&] { return temporary_->id() == old && kept_->has_backup(); },
                 [&] {
                   if (place_->id() != old || !kept_->has_backup()) throw Error(ErrorKind::refused, why);
                 },
                 ErrorKind::refused, why});
}

/// Calls `work`, which replaces the file. After an error, the file loses the name of its backup again.
template <class Work>
void OutputFile::with_way_back(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    const std::string left = kept_ ? kept_->take_back() : "";
    if (left.empty()) throw;
    throw Error(error.kind(), error.message() + left, error.system_error());
  }
}

/// Network file systems and FUSE lack RENAME_NOREPLACE and use a hard link instead; some lack hard links,
/// too.
bool OutputFile::rename_to_new() {
  const int directory = place_->directory();
  const char* const hidden = temporary_->name();
  if (os::rename_new(directory, hidden, directory, place_->name()) == 0) return true;
  if (os::is_unsupported(errno)) {
    const FileId own = own_id();
    if (os::linkat(directory, hidden, directory, place_->name(), 0) == 0) {
      remove_temporary(own);
      return true;
    }
    if (has_no_links(errno)) {
      if (existing_ == Existing::refuse)
        refuse(path_, Term{"existing", "replacing no file"} +
                          " needs a file system with hard links or exclusive renames");
      static std::mutex one_at_a_time;  // two outputs may have one name that differs in case
      const std::scoped_lock lock(one_at_a_time);
      if (!place_->status()) return os::renameat(directory, hidden, directory, place_->name()) == 0;
      errno = EEXIST;
    }
  }
  if (errno == EEXIST) refuse_existing(path_, existing_);
  return false;
}

/// The backup's link changes the time by which expect_unchanged() knows other attributes: they are read
/// before it.
void OutputFile::keep_replaced(InputFile& input) {
  if (!backup_) return;
  with_way_back([&] {
    attributes_ = std::make_unique<KeptAttributes>(input);
    input.expect_unchanged();
    kept_ = KeptFile::keep(*place_, *backup_);
    if (kept_ && kept_->file() == id_of(input.status())) return input.accept_links();
    input.expect_unchanged();
    throw_changed(path_);
  });
}

void OutputFile::take_back_replaced(int error) {
  with_way_back([&] { throw_system_error(path_, "its backup cannot be flushed to disk", error); });
}

/// The lock keeps other clippers from clipping this file while it may be taken back. They open the name, so
/// they find either the input, which is locked, too, or this file.
void OutputFile::replace(InputFile& input) {
  with_way_back([&] {
    std::ignore = clipper::lock(fd_, path_);
    name_complete();
    const FileId old = id_of(input.status());
    if (!attributes_) attributes_ = std::make_unique<KeptAttributes>(input);
    take_place_of({old,
                   [&] {
                     return temporary_->id() == old && !input.has_changed() && attributes_->are_unchanged() &&
                            (!kept_ || kept_->has_backup());
                   },
                   [&] { input.expect_unchanged(); }, ErrorKind::io,
                   input.path() + ": changed while it was clipped"});
  });
  drop_pages(fd_, 0, 0);
  fd_ = Descriptor();  // unlocks it
}

/// Where names cannot be exchanged, the last look comes right before a rename.
void OutputFile::take_place_of(const Replaced& replaced) {
  name_complete();
  const FileId own = own_id();
  replaced.expect_unchanged();
  Exchanged result{};
  without_cleanup(registration_.id, [&] {
    result = exchange(*temporary_, *place_, own, replaced.is_right);
    return result == Exchanged::done ? replaced.old : own;
  });
  switch (result) {
    case Exchanged::done:
      if (kept_) kept_->settle();
      remove_temporary(replaced.old);
      break;
    case Exchanged::taken_back: throw_taken_back(replaced, own);
    case Exchanged::stranded:
      unregister_temporary(std::exchange(registration_.id, -1));  // what has the hidden name stays
      throw Error(ErrorKind::not_durable,
                  fmt::format("{}: complete, but it replaced a file that another program had just written; "
                              "that file is now {}",
                              path_, temporary_->path()));
    case Exchanged::failed: throw_not_in_place();
    case Exchanged::unsupported:
      if (os::renameat(temporary_->directory(), temporary_->name(), place_->directory(), place_->name()) != 0)
        throw_not_in_place();
      forget_temporary();
      if (kept_) kept_->settle();
  }
  if (kept_) kept_->drop_older();
}

void OutputFile::throw_not_in_place() const {
  if (os::is_held_open(errno))
    refuse(path_,
           "cannot be replaced, and is unchanged: it is open, and this system keeps the names of open files");
  throw_system_error(path_, "cannot be put in place");
}

FileId OutputFile::own_id() const {
  os::Status status{};
  if (os::fstat(fd_.get(), &status) != 0) throw_system_error(path_, "cannot be put in place");
  return id_of(status);
}

void OutputFile::throw_taken_back(const Replaced& replaced, const FileId& own) const {
  const auto left = temporary_->id();
  throw Error(replaced.kind,
              replaced.why + (!left || left == own
                                  ? ""
                                  : fmt::format("; a file that another program had given this name is now {}",
                                                temporary_->path())));
}

/// Gives an unnamed file a hidden name, because linkat() cannot replace a file, but rename() can.
void OutputFile::name_complete() {
  if (!temporary_ && !name_temporary([&](const Place& place) { return link_as(place) ? fd_.get() : -1; }))
    throw_system_error(path_, "cannot be put in place");
}

/// Does not use the heap: see without_cleanup().
bool OutputFile::link_as(const Place& place) const {
  return os::link_file(fd_.get(), place.directory(), place.name()) == 0;
}

/// Removes the hidden name of `file` after the output is in place.
void OutputFile::remove_temporary(const FileId& file) {
  const bool removed = temporary_->remove(file);
  const int error = errno;
  unregister_temporary(std::exchange(registration_.id, -1));
  if (!removed)
    throw Error(ErrorKind::not_durable,
                fmt::format("{}: complete, but the hidden file {} cannot be removed: {}", path_,
                            temporary_->path(), os::error_text(error)));
  temporary_.reset();
}

namespace {

constexpr std::size_t kMaxFiles = 256;
// Max size of a batch in bytes, because old and new files take up space at the same time.
constexpr std::uint64_t kMaxBytes = 256UL * 1024 * 1024;

/// Each file keeps three descriptors open, and one batch can grow while another is committed. The other half
/// of the process's descriptors is for the threads.
std::size_t max_files() {
  const std::uint64_t limit = os::limit_of(os::Limit::descriptors).value_or(1);
  return std::clamp<std::uint64_t>(limit / 2 / 6, 1, kMaxFiles);
}

/// The commit of a batch. An error in one file does not stop the others.
class Commit {
 public:
  explicit Commit(std::vector<ReplacementBatch::Replacement>& files)
      : files_(files), errors_(files.size()), directory_ids_(files.size()) {}

  void run(const ReplacementBatch::Around& around) {
    each([&](const ReplacementBatch::Replacement& file) { file.output.complete(); });
    write_to_disk();
    each([&](ReplacementBatch::Replacement& file) {
      check_close(file.output.descriptor(), file.output.path());
      file.output.place().expect_sync();
      directory_of(file) = file.output.place().directory_id();
      directories_.try_emplace(directory_of(file), file.output.place());
    });
    around([&] {
      each([&](ReplacementBatch::Replacement& file) { file.output.keep_replaced(file.input); });
      const auto keeps = [](const auto& file) { return file.output.keeps_replaced(); };
      if (std::ranges::any_of(files_, keeps))
        flush_names([](OutputFile& file, int error) { file.take_back_replaced(error); });
      each([&](ReplacementBatch::Replacement& file) { file.output.replace(file.input); });
      flush_names([](const OutputFile& file, int error) { throw_not_durable(file.path(), error); });
      for (std::size_t i = 0; i < files_.size(); ++i) files_[i].done(errors_[i]);
    });
  }

 private:
  template <class Step>
  void each(Step step) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (errors_[i]) continue;
      try {
        step(files_[i]);
      } catch (...) {
        errors_[i] = std::current_exception();
      }
    }
  }

  void write_to_disk() {
    std::map<std::uint64_t, int> failed;  // errno of syncfs() for each file system, 0 for success
    each([&](const ReplacementBatch::Replacement& file) {
      const Descriptor& fd = file.output.descriptor();
      const auto error_of = [](int result) { return result == 0 ? 0 : errno; };
      int error = 0;
      if (files_.size() == 1 || !is_of_one_machine(fd.get())) {
        error = error_of(os::fsync(fd.get()));
      } else {
        const auto [known, is_new] = failed.emplace(file.input.status().st_dev, 0);
        if (is_new) known->second = error_of(os::syncfs(fd.get()));
        // syncfs() does not report which file could not be written and, before Linux 5.8, not even that one
        // could not.
        constexpr unsigned kWritten = SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
        error = known->second != 0 ? known->second : error_of(os::sync_file_range(fd.get(), 0, 0, kWritten));
        if (os::is_unsupported(error)) error = error_of(os::fsync(fd.get()));
      }
      if (error != 0) throw_system_error(file.output.path(), "cannot be flushed to disk", error);
    });
  }

  /// One flush for each directory, whatever the number of its files.
  void flush_names(const std::function<void(OutputFile& file, int error)>& fail) {
    std::map<FileId, int> failed;
    for (const auto& [id, place] : directories_)
      if (!place.sync()) failed[id] = errno;
    if (failed.empty()) return;
    each([&](ReplacementBatch::Replacement& file) {
      if (const auto found = failed.find(directory_of(file)); found != failed.end())
        fail(file.output, found->second);
    });
  }

  FileId& directory_of(const ReplacementBatch::Replacement& file) {
    return directory_ids_[static_cast<std::size_t>(&file - files_.data())];
  }

  std::vector<ReplacementBatch::Replacement>& files_;
  std::vector<std::exception_ptr> errors_;
  std::vector<FileId> directory_ids_;
  std::map<FileId, Place> directories_;  ///< one place in each directory
};

}  // namespace

ReplacementBatch::ReplacementBatch(Around around) : around_(std::move(around)), max_(max_files()) {}

void ReplacementBatch::add(Replacement replacement) {
  std::unique_lock lock(mutex_);
  waiting_.reserve(max_);  // not before there is a file: a run without replacements needs no memory for them
  bytes_ += replacement.input.size();
  waiting_.push_back(std::move(replacement));
  const bool enough = waiting_.size() >= max_ || bytes_ >= kMaxBytes;
  lock.unlock();
  if (enough) commit();
}

bool ReplacementBatch::commit() {
  const std::lock_guard one_at_a_time(commit_mutex_);
  std::vector<Replacement> files;
  {
    const std::lock_guard lock(mutex_);
    files.swap(waiting_);
    bytes_ = 0;
  }
  if (!files.empty()) Commit(files).run(around_);
  return !files.empty();
}

}  // namespace clipper
