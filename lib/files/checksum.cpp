#include "files/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace clipper {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

template <class Word>
std::uint64_t load(std::span<const std::byte> bytes) noexcept {
  Word word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  if constexpr (std::endian::native == std::endian::little) return word;
  Word swapped = 0;
  for (std::size_t i = 0; i < sizeof word; ++i) swapped = swapped << 8 | (word >> 8 * i & 0xFF);
  return swapped;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) noexcept {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

}  // namespace

Checksum::Checksum(std::uint64_t seed) noexcept
    : lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1}, seed_(seed) {}

void Checksum::add(std::span<const std::byte> bytes) noexcept {
  size_ += bytes.size();
  std::array<std::uint64_t, 4> lanes = lanes_;
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe))
    for (std::size_t i = 0; i < lanes.size(); ++i)
      lanes[i] = round(lanes[i], load<std::uint64_t>(bytes.subspan(8 * i)));
  lanes_ = lanes;
  std::ranges::copy(bytes, rest_.begin());
}

std::uint64_t Checksum::value() const noexcept {
  std::uint64_t sum = seed_ + kPrime5;
  if (size_ >= kStripe) {
    sum = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
          std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) sum = (sum ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  sum += size_;
  std::span<const std::byte> bytes = std::span(rest_).first(size_ % kStripe);
  for (; bytes.size() >= 8; bytes = bytes.subspan(8))
    sum = std::rotl(sum ^ round(0, load<std::uint64_t>(bytes)), 27) * kPrime1 + kPrime4;
  if (bytes.size() >= 4) {
    sum = std::rotl(sum ^ load<std::uint32_t>(bytes) * kPrime1, 23) * kPrime2 + kPrime3;
    bytes = bytes.subspan(4);
  }
  for (const std::byte byte : bytes)
    sum = std::rotl(sum ^ std::to_integer<std::uint64_t>(byte) * kPrime5, 11) * kPrime1;
  sum = (sum ^ sum >> 33) * kPrime2;
  sum = (sum ^ sum >> 29) * kPrime3;
  return sum ^ sum >> 32;
}

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

std::uint64_t placed_sum(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  std::uint64_t total = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kSummedBlock, bytes.size()))) {
    Checksum sum(offset);
    sum.add(bytes.first(std::min(kSummedBlock, bytes.size())));
    total += sum.value();
    offset += kSummedBlock;
  }
  return total;
}

}  // namespace clipper
