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
  /// `done` counts the bytes of elements read from all files, from 0 on. `sizes` are the expected bytes of
  /// each file, 0 if unknown.
  FileTally(const std::atomic<std::uint64_t>& done, std::vector<std::uint64_t> sizes);

  /// Corrects the size of the current file.
  void expect(std::uint64_t bytes) noexcept;

  /// Ends the current file, even if only a part of it or nothing was read.
  void next() noexcept;

  [[nodiscard]] Extent extent() const noexcept;

 private:
  const std::atomic<std::uint64_t>& done_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t begin_ = 0;  ///< value of done_ at the start of the current file
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::size_t> files_ = 0;
};

/// The size of a regular file; 0 for everything else, and for "-".
[[nodiscard]] std::uint64_t expected_bytes(const std::string& path);

}  // namespace clipper
