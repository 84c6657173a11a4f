#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "files/input_file.hpp"
#include "files/output_file.hpp"

namespace clipper {

/// Replaces many files in place and shares the cost of flushing them to disk: the data of all files in a
/// batch is flushed, then each file gets its name, then the directories are flushed. Each file is completely
/// old or completely new at every instant.
class ReplacementBatch {
 public:
  struct Replacement {
    InputFile input;    ///< locked until it is replaced
    OutputFile output;  ///< completely written, not committed

    /// Called once by the thread that commits the batch: with null after the file is in place and on the
    /// disk; otherwise with the error of OutputFile::replace(), or Error{io} if the input has changed. Must
    /// not throw.
    std::function<void(std::exception_ptr)> done;
  };

  /// Calls `place` in the same thread, which replaces the files of one batch and calls done() for each.
  using Around = std::function<void(const std::function<void()>& place)>;

  explicit ReplacementBatch(Around around = [](const auto& place) { place(); });

  /// Adds a file, and commits the batch if it is large enough. Callable from many threads.
  void add(Replacement replacement);

  /// Commits all files that were added and not committed yet. Returns false if there were none. Files that
  /// are not committed when the batch is destroyed stay unchanged.
  bool commit();

 private:
  Around around_;
  std::mutex commit_mutex_;
  std::mutex mutex_;                  ///< guards waiting_ and bytes_
  std::vector<Replacement> waiting_;  ///< the current batch
  std::uint64_t bytes_ = 0;           ///< size of the current batch
  std::size_t max_;                   ///< max files in a batch
};

}  // namespace clipper
