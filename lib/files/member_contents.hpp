#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "files/descriptor.hpp"

namespace clipper {

/// Where the contents of a member of an archive are: in the archive itself, in an unnamed file, or in memory.
class MemberContents {
 public:
  /// A stored member: the bytes of the archive from `begin` on.
  MemberContents(std::uint64_t begin, std::uint64_t size) : where_(begin), size_(size) {}

  /// The same after a header that the archive does not have.
  MemberContents(std::vector<std::byte> header, std::uint64_t begin, std::uint64_t size)
      : header_(std::move(header)), where_(begin - header_.size()), size_(header_.size() + size) {}
  MemberContents(Descriptor file, std::uint64_t size) : where_(std::move(file)), size_(size) {}
  explicit MemberContents(std::vector<std::byte> held) : where_(std::move(held)) {
    size_ = std::get<std::vector<std::byte>>(where_).size();
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Where the contents begin in the file that is read. Modulo 2^64: a header that is not in the file may be
  /// longer than what is before the elements.
  [[nodiscard]] std::uint64_t begin() const noexcept {
    const auto* const begin = std::get_if<std::uint64_t>(&where_);
    return begin != nullptr ? *begin : 0;
  }

  /// Reads at `offset` of the contents. Returns the number of bytes, less than requested only at the end.
  /// Callable from many threads. Error{io} names `path`.
  [[nodiscard]] std::size_t read_at(const Descriptor& archive, std::span<std::byte> bytes,
                                    std::uint64_t offset, const std::string& path) const {
    if (offset >= size_) return 0;
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), size_ - offset));
    if (const auto* const begin = std::get_if<std::uint64_t>(&where_)) {
      std::size_t done = 0;
      if (offset < header_.size()) {
        done = std::min<std::uint64_t>(bytes.size(), header_.size() - offset);
        std::copy_n(header_.begin() + static_cast<std::ptrdiff_t>(offset), done, bytes.begin());
      }
      return done + clipper::read_at(archive, bytes.subspan(done), *begin + offset + done, path);
    }
    if (const auto* const file = std::get_if<Descriptor>(&where_))
      return clipper::read_at(*file, bytes, offset, path);
    const auto& held = std::get<std::vector<std::byte>>(where_);
    std::copy_n(held.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    return bytes.size();
  }

 private:
  std::vector<std::byte> header_;
  std::variant<std::uint64_t, Descriptor, std::vector<std::byte>> where_;
  std::uint64_t size_ = 0;
};

}  // namespace clipper
