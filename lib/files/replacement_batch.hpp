#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "files/input_file.hpp"
#include "files/output_file.hpp"

namespace clipper {

/// Files that are replaced in place, of which many share the price of being on the disk: all of a batch are
/// written there, then each gets its name, then their directories are written. Each file still is entirely
/// old or entirely new at every instant.
class ReplacementBatch {
 public:
  struct Replacement {
    InputFile input;    ///< stays locked until then
    OutputFile output;  ///< all of it is written, but not committed

    /// Called once, when it is in place and on the disk, or with what OutputFile::commit() would have thrown,
    /// or Error{io} if the input has changed in between. By the thread that commits the batch; must not
    /// throw.
    std::function<void(std::exception_ptr)> done;
  };

  ReplacementBatch();

  /// Commits the batch if it is large enough then. Callable from many threads.
  void add(Replacement replacement);

  /// Commits what was added and is not committed yet; false if there was nothing. What is not committed when
  /// this is destroyed, stays as it was.
  bool commit();

 private:
  std::mutex commit_mutex_;
  std::mutex mutex_;                  ///< of what follows
  std::vector<Replacement> waiting_;  ///< the batch, until it is committed
  std::uint64_t bytes_ = 0;           ///< of the batch
  std::size_t max_;                   ///< files in a batch
};

}  // namespace clipper
