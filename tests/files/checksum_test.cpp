#include <set>

#include "files/descriptor.hpp"
#include "support/files.hpp"

namespace clipper::testing {
namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> all(size);
  std::uint32_t state = 1;
  for (std::byte& each : all) each = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return all;
}

}  // namespace

TEST_CASE("The checksum is XXH64") {
  // Expected values from the xxhsum program of the XXH64 authors.
  CHECK(checksum(bytes("")) == 0xef46db3751d8e999);
  CHECK(checksum(bytes("a")) == 0xd24ec4f1a98c6e5b);
  CHECK(checksum(bytes("abc")) == 0x44bc2cf5ad770999);
  CHECK(checksum(bytes("Nobody inspects the spammish repetition")) == 0xfbcea83c8a378bf1);
}

TEST_CASE("A checksum depends on the number of bytes") {
  std::set<std::uint64_t> sums;
  const std::vector<std::byte> zeros(100);
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    sums.insert(checksum(std::span(zeros).first(size)));
  CHECK(sums.size() == zeros.size() + 1);
}

TEST_CASE("placed_sum() detects changed, exchanged and shifted bytes, and sums of parts add up") {
  constexpr std::size_t kBlock = 4096;
  const auto all = pattern(5 * kBlock + 100);
  const std::uint64_t whole = placed_sum(all, 128);
  const std::span span(all);
  for (const std::size_t at : {std::size_t{0}, kBlock, 3 * kBlock, 5 * kBlock, all.size()})
    CHECK(placed_sum(span.first(at), 128) + placed_sum(span.subspan(at), 128 + at) == whole);
  CHECK(placed_sum(all, 0) != whole);
  CHECK(placed_sum(span.first(all.size() - 1), 128) != whole);

  auto other = all;
  std::swap_ranges(other.begin(), other.begin() + kBlock, other.begin() + 2 * kBlock);
  CHECK(placed_sum(other, 128) != whole);
  other = all;
  std::swap_ranges(other.begin() + 8, other.begin() + 16, other.begin() + 40);
  CHECK(placed_sum(other, 128) != whole);
  for (std::size_t at = 0; at < all.size(); at += 97) {
    other = all;
    other[at] ^= std::byte{1};
    CHECK(placed_sum(other, 128) != whole);
  }
}

}  // namespace clipper::testing
