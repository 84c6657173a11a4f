#include "clip/clip.hpp"
#include "clip/clip_cases.hpp"
#include "element/small_floats.hpp"
#include "simd/levels.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

/// The bounds of many elements, with the expected answer for each.
template <class T>
struct Pairs {
  std::vector<T> min;
  std::vector<T> max;

  void add(ElementBits lo, ElementBits hi) {
    min.push_back(from_bits<T>(lo));
    max.push_back(from_bits<T>(hi));
  }
  [[nodiscard]] bool are_ordered(DType dtype, std::size_t begin, std::size_t end, SimdLevel level) const {
    return are_ordered_bounds(dtype, reinterpret_cast<const std::byte*>(min.data() + begin),
                              reinterpret_cast<const std::byte*>(max.data() + begin), end - begin, level);
  }
  [[nodiscard]] bool expected(std::size_t i) const { return comparable(min[i]) <= comparable(max[i]); }
};

}  // namespace

TEST_CASE("bounds are ordered if min <= max, which no NaN is, at every level") {
  for (const DTypeTraits& row : kKernelDTypes)
    with_type(row.dtype, [&]<class T>() {
      Pairs<T> pairs;
      const cases::Elements elements = cases::bounds_of(row.dtype);
      for (const ElementBits lo : elements)
        for (const ElementBits hi : elements) pairs.add(lo, hi);
      if constexpr (HalfType<T>)
        for (ElementBits bits = 0; bits < 65536; ++bits)
          for (const ElementBits other :
               {bits, bits ^ 0x8000, bits ^ 1, ElementBits{0}, ElementBits{0x7f81}}) {
            pairs.add(bits, other);
            pairs.add(other, bits);
          }
      for (const SimdLevel level : simd_levels()) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < pairs.min.size(); ++i) {
          // The same pair in all lanes of whole vectors, and as a rest.
          constexpr std::size_t kLanes = 64;
          Pairs<T> many;
          many.min.assign(kLanes, pairs.min[i]);
          many.max.assign(kLanes, pairs.max[i]);
          wrong += many.are_ordered(row.dtype, 0, kLanes, level) != pairs.expected(i) ? 1 : 0;
          wrong += many.are_ordered(row.dtype, 0, 1, level) != pairs.expected(i) ? 1 : 0;
        }
        CHECK(wrong == 0);
      }
    });
}

TEST_CASE("one refused pair among ordered ones is found at every place") {
  for (const DTypeTraits& row : kKernelDTypes)
    with_type(row.dtype, [&]<class T>() {
      constexpr std::size_t kCount = 10'000 / sizeof(T);
      Pairs<T> pairs;
      for (std::size_t i = 0; i < kCount; ++i) pairs.add(1, 2);
      for (const SimdLevel level : simd_levels()) {
        CHECK(pairs.are_ordered(row.dtype, 0, kCount, level));
        CHECK(pairs.are_ordered(row.dtype, 3, 3, level));
        for (std::size_t i = 0; i < kCount; i += i % 1024 < 130 ? 1 : 61) {
          std::swap(pairs.min[i], pairs.max[i]);
          REQUIRE_FALSE(pairs.are_ordered(row.dtype, 1, kCount, level) == (i != 0));
          REQUIRE_FALSE(pairs.are_ordered(row.dtype, 0, i + 1, level));
          REQUIRE(pairs.are_ordered(row.dtype, 0, i, level));
          std::swap(pairs.min[i], pairs.max[i]);
        }
      }
    });
}

}  // namespace clipper
