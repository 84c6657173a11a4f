#include "console/file_tally.hpp"

#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

namespace clipper {

FileTally::FileTally(const std::atomic<std::uint64_t>& done, std::vector<std::uint64_t> sizes)
    : done_(done),
      sizes_(std::move(sizes)),
      bytes_(std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0})) {}

void FileTally::expect(std::uint64_t bytes) noexcept {
  bytes_ += bytes - sizes_[files_];
  sizes_[files_] = bytes;
}

void FileTally::next() noexcept {
  expect(done_ - begin_);
  begin_ = done_;
  ++files_;
}

Extent FileTally::extent() const noexcept {
  return {done_, bytes_, files_, sizes_.size()};
}

std::uint64_t expected_bytes(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = path == "-" ? 0 : std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace clipper
