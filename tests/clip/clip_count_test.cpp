#include "clip/clip.hpp"
#include "clip/clip_cases.hpp"
#include "clip/clip_check.hpp"
#include "clip/reference_clip.hpp"

namespace clipper {
namespace {

using cases::Bounds;
using cases::Elements;
using cases::Memory;

/// Around as many vectors, of each level's size, as a lane of one byte can count; of two bytes, of a half
/// too.
std::vector<std::size_t> counts_around_blocks(std::size_t element_size) {
  std::vector<std::size_t> result;
  for (const std::size_t vector_size : {16u, 32u, 64u}) {
    const std::size_t lanes = vector_size / element_size;
    for (const std::size_t vectors : {255u, 256u, 511u})
      result.insert(result.end(), {vectors * lanes, vectors * lanes + 1});
    if (element_size != 2) continue;
    for (const std::size_t vectors : {65'535u, 65'536u}) result.push_back(vectors * lanes + 1);
  }
  return result;
}

}  // namespace

TEST_CASE("counts do not overflow in a block and miss no element at the edges of blocks") {
  for (const DTypeTraits& row : kKernelDTypes) {
    const ElementBits middle = cases::one(row.dtype);
    const Operation op = cases::operation(row.dtype, {middle, middle});
    for (const std::size_t count : counts_around_blocks(row.size))
      for (const SimdLevel level : simd_levels()) {
        const auto counts_of = [&](ElementBits element) {
          Memory memory{op, Elements(count, element), 0};
          return clip_and_count(op, memory.data(), memory.data(), count, level);
        };
        INFO(count << " " << row.name << " " << to_string(level));
        CHECK(counts_of(middle) == ElementCounts{});
        CHECK(counts_of(middle - 1) == ElementCounts{count, 0, 0, true});
        CHECK(counts_of(middle + 1) == ElementCounts{0, count, 0, true});
        if (is_floating(row.dtype))
          CHECK(counts_of(reference::all_ones(row.dtype)) == ElementCounts{0, 0, count, false});
      }
  }
}

TEST_CASE("NaN is counted in every block, and infinities of both signs are not taken for it") {
  for (const DTypeTraits& row : kKernelDTypes) {
    if (!is_floating(row.dtype)) continue;
    constexpr std::size_t kBlock = 16'384;  // bytes; see Tally::kMaxVectors
    const std::size_t block = kBlock / row.size;
    Elements elements(3 * block + 5);
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = i % 3 == 0 ? cases::lowest(row.dtype) : cases::highest(row.dtype);
    for (const Bounds& bounds : cases::few_bounds_of(row.dtype))
      for (const std::size_t position : {elements.size(), std::size_t{0}, block - 1, block, 2 * block + 7,
                                         3 * block - 1, 3 * block, 3 * block + 4}) {
        Elements some = elements;
        const ElementBits sign = position % 2 == 0 ? 0 : reference::sign_bit(row.dtype);
        if (position < some.size()) some[position] = sign | (cases::highest(row.dtype) + 1);
        Operation op = cases::operation(row.dtype, bounds);
        cases::check_in_place({op, some, reference::clip(op, some)}, 0);
      }
  }
}

TEST_CASE("a change of one element is noticed at any position, even if only its bits change") {
  for (const DTypeTraits& row : kKernelDTypes)
    for (const SimdLevel level : simd_levels())
      for (const std::size_t position : {0u, 1u, 63u, 64u, 255u, 998u, 999u, 1000u}) {
        Operation op = cases::operation(row.dtype, {cases::one(row.dtype), cases::highest(row.dtype)});
        Elements elements(1001, cases::one(row.dtype));
        const auto counts_of = [&] {
          Memory memory{op, elements, 0};
          return clip_and_count(op, memory.data(), memory.data(), elements.size(), level);
        };
        CHECK(counts_of() == ElementCounts{});
        elements[position] = 0;
        CHECK(counts_of() == ElementCounts{1, 0, 0, true});
        if (!is_floating(row.dtype)) continue;
        const ElementBits minus_zero = reference::sign_bit(row.dtype);
        std::tie(op.lo, op.hi) = Bounds{cases::one(row.dtype), minus_zero};  // lo > hi: all become -0
        std::fill(elements.begin(), elements.end(), minus_zero);
        CHECK(counts_of() == ElementCounts{});
        elements[position] = 0;
        CHECK(counts_of() == ElementCounts{0, 0, 0, true});
        elements[position] = reference::all_ones(row.dtype);
        CHECK(counts_of() == ElementCounts{0, 0, 1, false});
        op.nan = elements[position];
        CHECK(counts_of() == ElementCounts{0, 0, 1, false});
        op.nan = minus_zero;
        CHECK(counts_of() == ElementCounts{0, 0, 1, true});
      }
}

TEST_CASE("a change in any block is noticed, in place and from one buffer to another") {
  constexpr std::size_t kCount = 40'000;
  for (const DTypeTraits& row : kKernelDTypes)
    for (const SimdLevel level : simd_levels())
      for (const std::size_t position : {0u, 16'384u, 39'999u}) {
        Operation op = cases::operation(row.dtype, {cases::one(row.dtype), cases::highest(row.dtype)});
        op.arithmetic = cases::arithmetic_of(row.dtype);
        Elements elements(kCount, cases::one(row.dtype));
        const Memory unchanged{op, elements, 0};
        for (const bool is_changed : {false, true}) {
          INFO(row.name << " " << to_string(level) << ", position " << position);
          const ElementCounts expected = is_changed ? ElementCounts{1, 0, 0, true} : ElementCounts{};
          if (is_changed) elements[position] = 0;
          Memory in_place{op, elements, 0};
          CHECK(clip_and_count(op, in_place.data(), in_place.data(), kCount, level) == expected);
          CHECK(in_place == unchanged);
          Memory read{op, elements, 0};
          Memory written{op, kCount, 0};
          CHECK(clip_and_count(op, read.data(), written.data(), kCount, level) == expected);
          CHECK(written == unchanged);
        }
      }
}

TEST_CASE("the counts of parts add up to the counts of the whole") {
  ElementCounts counts{1, 2, 3, false};
  counts += {10, 20, 30, true};
  CHECK(counts == ElementCounts{11, 22, 33, true});
  counts += ElementCounts{};
  CHECK(counts == ElementCounts{11, 22, 33, true});
}

}  // namespace clipper
