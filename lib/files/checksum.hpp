#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// 64-bit checksums that detect bytes that were changed, exchanged, shifted, lost or torn. They are no
/// protection against deliberate collisions.
namespace clipper {

/// XXH64 (github.com/Cyan4973/xxHash), with the same value on every machine.
class Checksum {
 public:
  static constexpr std::size_t kStripe = 32;

  explicit Checksum(std::uint64_t seed = 0) noexcept
      : lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1}, seed_(seed) {}

  /// The size of `bytes` must be a multiple of kStripe in every call but the last.
  void add(std::span<const std::byte> bytes) noexcept {
    size_ += bytes.size();
    std::array<std::uint64_t, 4> lanes = lanes_;
    for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe))
      for (std::size_t i = 0; i < lanes.size(); ++i)
        lanes[i] = round(lanes[i], load<std::uint64_t>(bytes.subspan(8 * i)));
    lanes_ = lanes;
    std::ranges::copy(bytes, rest_.begin());
  }

  [[nodiscard]] std::uint64_t value() const noexcept {
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

 private:
  static constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
  static constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
  static constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
  static constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
  static constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

  template <class Word>
  static std::uint64_t load(std::span<const std::byte> bytes) noexcept {
    Word word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    if constexpr (std::endian::native == std::endian::little) return word;
    Word swapped = 0;
    for (std::size_t i = 0; i < sizeof word; ++i) swapped = swapped << 8 | (word >> 8 * i & 0xFF);
    return swapped;
  }
  static std::uint64_t round(std::uint64_t lane, std::uint64_t word) noexcept {
    return std::rotl(lane + word * kPrime2, 31) * kPrime1;
  }

  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, kStripe> rest_{};
  std::uint64_t seed_;
  std::uint64_t size_ = 0;
};

[[nodiscard]] inline std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

inline constexpr std::size_t kSummedBlock = 4096;  ///< bytes of a block of placed_sum()

/// The checksum of bytes at `offset` of a file: the sum of the checksums of their blocks, each seeded with
/// its place in the file. Many threads can sum parts of a file, and the sums of parts can be added and
/// subtracted, if all parts but the last are whole blocks.
[[nodiscard]] inline std::uint64_t placed_sum(std::span<const std::byte> bytes,
                                              std::uint64_t offset) noexcept {
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
