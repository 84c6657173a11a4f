#include "memory/byte_table.hpp"

#include <random>

#include "simd/levels.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using Bytes = std::vector<std::byte>;

ByteTable random_table(unsigned seed) {
  ByteTable table;
  std::mt19937 random{seed};
  for (std::byte& entry : table) entry = static_cast<std::byte>(random());
  return table;
}

/// All bytes in random order, again and again.
Bytes shuffled_bytes(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i);
  std::shuffle(bytes.begin(), bytes.end(), std::mt19937{});
  return bytes;
}

/// Looks up `count` bytes from one place in memory to another, and in place; writes nothing around them.
bool is_right(const ByteTable& table, std::size_t count, std::size_t offset, ByteLookup lookup) {
  constexpr std::size_t kGuard = 64;
  const Bytes source = shuffled_bytes(kGuard + count + kGuard);
  Bytes expected(source.size(), std::byte{0xa5});
  Bytes written = expected;
  Bytes expected_in_place = source;
  Bytes in_place = source;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte entry = table[std::to_integer<std::size_t>(source[kGuard + i])];
    expected[offset + i] = entry;
    expected_in_place[kGuard + i] = entry;
  }
  look_up(table, source.data() + kGuard, written.data() + offset, count, lookup);
  look_up(table, in_place.data() + kGuard, in_place.data() + kGuard, count, lookup);
  return written == expected && in_place == expected_in_place;
}

}  // namespace

TEST_CASE("every lookup gives the entry of every byte, whatever the table") {
  for (const SimdLevel level : simd_levels())
    for (const ByteLookup lookup : byte_lookups(level))
      for (unsigned seed = 0; seed < 100; ++seed) {
        INFO(to_string(level) << ", lookup " << static_cast<int>(lookup) << ", table " << seed);
        REQUIRE(is_right(random_table(seed), 4096, 0, lookup));
      }
}

TEST_CASE("any number of bytes at any alignment is looked up") {
  const ByteTable table = random_table(1);
  for (const ByteLookup lookup : byte_lookups(simd_levels().back()))
    for (std::size_t count = 0; count <= 260; ++count)
      for (const std::size_t offset : {0u, 1u, 31u, 64u}) {
        INFO("lookup " << static_cast<int>(lookup) << ", " << count << " bytes, offset " << offset);
        REQUIRE(is_right(table, count, offset, lookup));
      }
}

TEST_CASE("a level has the lookups of the levels below it") {
  std::span<const ByteLookup> below;
  for (const SimdLevel level : simd_levels()) {
    const std::span<const ByteLookup> lookups = byte_lookups(level);
    REQUIRE(lookups.size() > below.size());
    CHECK(std::equal(below.begin(), below.end(), lookups.begin()));
    below = lookups;
  }
  if (simd_levels().back() == SimdLevel::v4) CHECK((below.back() == ByteLookup::avx512vbmi) == has_vbmi());
}

TEST_CASE("bytes become entries of 2, 4 and 8 bytes, also where both end at the same byte") {
  const Bytes entries = shuffled_bytes(256 * 8);
  for (const std::size_t size : {2UL, 4UL, 8UL})
    for (const std::size_t count : {0UL, 1UL, 255UL, 1000UL}) {
      const Bytes source = shuffled_bytes(count);
      Bytes expected;
      for (const std::byte x : source) {
        const auto* const entry = entries.data() + std::to_integer<std::size_t>(x) * size;
        expected.insert(expected.end(), entry, entry + size);
      }
      Bytes apart(count * size);
      look_up(entries, size, source.data(), apart.data(), count);
      CHECK((apart == expected));
      Bytes together(count * size);
      std::copy(source.begin(), source.end(), together.end() - static_cast<std::ptrdiff_t>(count));
      look_up(entries, size, together.data() + count * (size - 1), together.data(), count);
      CHECK((together == expected));
    }
}

TEST_CASE("bytes are counted") {
  for (const std::size_t count : {0UL, 1UL, 7UL, 1000UL}) {
    const Bytes bytes = shuffled_bytes(count);
    const auto counts = count_bytes(bytes);
    for (std::size_t byte = 0; byte < counts.size(); ++byte)
      CHECK(counts[byte] ==
            static_cast<std::uint64_t>(std::ranges::count(bytes, static_cast<std::byte>(byte))));
  }
}

TEST_CASE("the bits of entries are counted at every level") {
  for (const SimdLevel level : simd_levels())
    for (const std::size_t count : {0UL, 1UL, 63UL, 64UL, 65UL, 4095UL, 4096UL, 4097UL, 20'000UL})
      for (const std::byte used : {std::byte{0xff}, std::byte{0x81}, std::byte{}}) {
        ByteTable table = random_table(1);
        for (std::byte& entry : table) entry &= used;
        const Bytes bytes = shuffled_bytes(count);
        const auto counts = count_bits(table, bytes.data(), count, level);
        for (unsigned bit = 0; bit < counts.size(); ++bit)
          CHECK(counts[bit] == static_cast<std::uint64_t>(std::ranges::count_if(bytes, [&](std::byte byte) {
                  return (table[std::to_integer<std::size_t>(byte)] >> bit & std::byte{1}) != std::byte{};
                })));
      }
}

}  // namespace clipper
