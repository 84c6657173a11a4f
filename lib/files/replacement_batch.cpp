#include "files/replacement_batch.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "os/os.hpp"

namespace clipper {
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
