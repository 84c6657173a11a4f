#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "console/progress_text.hpp"

namespace clipper {

/// The Extent of files that one thread reads one after the other. Another thread may call extent().
class FileTally {
 public:
  /// `done` counts from 0 the bytes of elements that were read from all files. `sizes` has the bytes expected
  /// of each file, 0 if unknown.
  FileTally(const std::atomic<std::uint64_t>& done, std::vector<std::uint64_t> sizes);

  /// Corrects the size of the current file.
  void expect(std::uint64_t bytes) noexcept;

  /// The current file is done, although it may have been read only in part, or not at all.
  void next() noexcept;

  [[nodiscard]] Extent extent() const noexcept;

 private:
  const std::atomic<std::uint64_t>& done_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t begin_ = 0;  ///< of done_, when the current file was begun
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::size_t> files_ = 0;
};

/// The size of a regular file; 0 for everything else, and for "-".
[[nodiscard]] std::uint64_t expected_bytes(const std::string& path);

}  // namespace clipper
