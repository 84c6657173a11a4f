#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "npz/archive.hpp"
#include "npz/refuse.hpp"

namespace clipper::npz {

/// Reads small pieces of an archive in order, several with one call of ReadAt.
class Window {
 public:
  /// Reads `ahead` bytes at a time, or more if more are asked for. `read` must outlive this.
  Window(const ReadAt& read, std::uint64_t size, std::size_t ahead)
      : read_(read), size_(size), ahead_(ahead) {}

  /// The `length` bytes at byte `at`, until the next call. Error{input} if the archive ends before their end.
  [[nodiscard]] std::string_view bytes(std::uint64_t at, std::size_t length) {
    if (at > size_ || length > size_ - at) refuse("truncated: a record of the zip archive is incomplete");
    if (at < begin_ || at - begin_ > held_.size() || length > held_.size() - (at - begin_)) {
      begin_ = at;
      held_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(length, ahead_), size_ - at)));
      if (read_(std::as_writable_bytes(std::span(held_)), at) != held_.size())
        refuse("truncated while it was read");
    }
    return std::string_view(held_).substr(static_cast<std::size_t>(at - begin_), length);
  }

 private:
  const ReadAt& read_;
  std::uint64_t size_;
  std::size_t ahead_;
  std::uint64_t begin_ = 0;  ///< of `held_` in the archive
  std::string held_;
};

}  // namespace clipper::npz
