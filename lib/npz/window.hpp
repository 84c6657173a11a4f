#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "npz/archive.hpp"

namespace clipper::npz {

/// Reads small pieces of an archive in order, several with one call of ReadAt.
class Window {
 public:
  /// Reads `ahead` bytes at a time, or more if more are asked for. `read` must outlive this.
  Window(const ReadAt& read, std::uint64_t size, std::size_t ahead)
      : read_(read), size_(size), ahead_(ahead) {}

  /// The `length` bytes at byte `at`, until the next call. Error{input} if the archive ends before their end.
  [[nodiscard]] std::string_view bytes(std::uint64_t at, std::size_t length);

 private:
  const ReadAt& read_;
  std::uint64_t size_;
  std::size_t ahead_;
  std::uint64_t begin_ = 0;  ///< of `held_` in the archive
  std::string held_;
};

}  // namespace clipper::npz
