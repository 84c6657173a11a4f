#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npz/archive.hpp"
#include "npz/extra_fields.hpp"
#include "npz/refuse.hpp"

/// The steps of read_archive(), in this order, and how they read.
namespace clipper::npz {

/// What the records at the end of an archive say.
struct End {
  std::uint64_t count = 0;  ///< of members
  std::uint64_t list_begin = 0;
  std::uint64_t list_size = 0;  ///< the list ends where the records at the end begin
  std::string comment;
};

/// Finds and reads the records at the end. Error{input} unless there is exactly one way to read
/// them, and if the list is too short for its members or has too many.
[[nodiscard]] End read_end(const ReadAt& read, std::uint64_t size);

/// Reads the list of members, in its order: everything but `data` and `local`.
[[nodiscard]] std::vector<Member> read_list(const ReadAt& read, std::uint64_t size, const End& end);

/// Reads what is in front of each member's data, and sets `data` and `local`. Error{input} if it disagrees
/// with the list, which begins at byte `end`, or if there are other bytes between the members.
void read_local_headers(const ReadAt& read, std::vector<Member>& members, std::uint64_t end);

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

/// Limits the memory for the local headers, or for the list of members. 400,000 members of np.savez with
/// names of 25 characters fit.
class RecordLimit {
 public:
  /// Error{input} if all records together are too long, or have too many extra fields, for each
  /// of which some programs allocate memory.
  void add(std::string_view record, std::string_view extras) {
    bytes_ += record.size();
    fields_ += count_extra_fields(extras);
    if (bytes_ > kMaxBytes || fields_ > kMaxFields) refuse("the headers of the members are too long");
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;
  static constexpr std::size_t kMaxFields = std::size_t{1} << 20U;

  std::size_t bytes_ = 0;
  std::size_t fields_ = 0;
};

}  // namespace clipper::npz
