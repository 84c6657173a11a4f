#include "npz/window.hpp"

#include <algorithm>
#include <span>

#include "npz/refuse.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {

std::string_view Window::bytes(std::uint64_t at, std::size_t length) {
  if (at > size_ || length > size_ - at) refuse("truncated: a record of the zip archive is incomplete");
  if (at < begin_ || at - begin_ > held_.size() || length > held_.size() - (at - begin_)) {
    begin_ = at;
    held_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(length, ahead_), size_ - at)));
    if (read_(std::as_writable_bytes(std::span(held_)), at) != held_.size())
      refuse("truncated while it was read");
  }
  return std::string_view(held_).substr(static_cast<std::size_t>(at - begin_), length);
}

}  // namespace clipper::npz
