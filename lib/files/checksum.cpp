#include "files/checksum.hpp"

#include <xxhash.h>

#include <algorithm>

namespace clipper {

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  return XXH64(bytes.data(), bytes.size(), 0);
}

std::uint64_t placed_sum(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  std::uint64_t total = 0;
  for (; !bytes.empty(); offset += kSummedBlock) {
    const std::size_t size = std::min(kSummedBlock, bytes.size());
    total += XXH64(bytes.data(), size, offset);
    bytes = bytes.subspan(size);
  }
  return total;
}

}  // namespace clipper
