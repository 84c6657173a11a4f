#pragma once

#include "clip/clip.hpp"
#include "clip/reference_clip.hpp"
#include "support/catch.hpp"

/// Runs the kernels on elements in memory at every level and compares the results with the expected ones.
namespace clipper::cases {

/// Elements in memory between guard bytes, `offset` elements away from the allocation's alignment.
class Memory {
 public:
  Memory(const Operation& op, std::size_t count, std::size_t offset)
      : start_(kGuardSize + offset * traits(op.dtype).size),
        bytes_(start_ + count * traits(op.dtype).size + kGuardSize, std::byte{0xa5}) {}

  Memory(const Operation& op, std::span<const ElementBits> elements, std::size_t offset)
      : Memory(op, elements.size(), offset) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      reference::store(op.dtype, kNativeOrder, elements[i], data() + i * traits(op.dtype).size);
  }

  std::byte* data() { return bytes_.data() + start_; }

  friend bool operator==(const Memory& a, const Memory& b) {
    return a.bytes_.size() == b.bytes_.size() &&
           std::memcmp(a.bytes_.data(), b.bytes_.data(), a.bytes_.size()) == 0;
  }

 private:
  static constexpr std::size_t kGuardSize = 64;

  std::size_t start_;
  std::vector<std::byte> bytes_;
};

/// An operation, its elements and the expected result.
struct Case {
  Operation op;
  std::span<const ElementBits> elements;
  std::span<const ElementBits> expected;
};

/// Describes what is wrong with the result of a case, or says "nothing".
inline std::string what_is_wrong(const Case& test, SimdLevel level, Memory& result, const Memory& expected) {
  if (result == expected) return "nothing";
  const Operation& op = test.op;
  const std::string where = std::string{to_string(level)} + ": " + reference::text(op) + ": ";
  const std::string of_all = " of " + std::to_string(test.elements.size()) + " elements";
  for (std::size_t i = 0; i < test.elements.size(); ++i) {
    const ElementBits bits =
        reference::load(op.dtype, kNativeOrder, result.data() + i * traits(op.dtype).size);
    if (bits == test.expected[i]) continue;
    return where + "number " + std::to_string(i) + of_all + ", " +
           reference::text(op.dtype, test.elements[i]) + ", became " + reference::text(op.dtype, bits) +
           ", not " + reference::text(op.dtype, test.expected[i]);
  }
  return where + "something was written outside" + of_all;
}

/// Describes what is wrong with the counts of a case, or says "nothing".
inline std::string what_is_wrong(const Case& test, SimdLevel level, const ElementCounts& found,
                                 const ElementCounts& expected) {
  if (found == expected) return "nothing";
  return std::string{to_string(level)} + ": " + reference::text(test.op) + ": " +
         std::to_string(test.elements.size()) + " elements: " + reference::text(found) + ", not " +
         reference::text(expected);
}

/// Checks results and counts of every level in place, and that no other memory is written.
inline void check_in_place(const Case& test, std::size_t offset) {
  const Memory source{test.op, test.elements, offset};
  const Memory expected{test.op, test.expected, offset};
  const ElementCounts counts = reference::count(test.op, test.elements, test.expected);
  for (const SimdLevel level : simd_levels()) {
    Memory changed = source;
    clip(test.op, changed.data(), changed.data(), test.elements.size(), level);
    REQUIRE(what_is_wrong(test, level, changed, expected) == "nothing");
    Memory counted = source;
    const ElementCounts found =
        clip_and_count(test.op, counted.data(), counted.data(), test.elements.size(), level);
    REQUIRE(what_is_wrong(test, level, counted, expected) == "nothing");
    REQUIRE(what_is_wrong(test, level, found, counts) == "nothing");
  }
}

/// Checks results and counts of every level from one buffer to another, and that no other memory is written.
inline void check_apart(const Case& test, std::size_t from, std::size_t to) {
  const Memory source{test.op, test.elements, from};
  const Memory expected{test.op, test.expected, to};
  const ElementCounts counts = reference::count(test.op, test.elements, test.expected);
  for (const SimdLevel level : simd_levels()) {
    Memory read = source;
    Memory written{test.op, test.elements.size(), to};
    clip(test.op, read.data(), written.data(), test.elements.size(), level);
    REQUIRE(what_is_wrong(test, level, written, expected) == "nothing");
    Memory counted{test.op, test.elements.size(), to};
    const ElementCounts found =
        clip_and_count(test.op, read.data(), counted.data(), test.elements.size(), level);
    REQUIRE(what_is_wrong(test, level, counted, expected) == "nothing");
    REQUIRE(what_is_wrong(test, level, found, counts) == "nothing");
    REQUIRE(read == source);
  }
}

}  // namespace clipper::cases
