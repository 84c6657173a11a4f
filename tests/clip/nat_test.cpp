#include <random>

#include "clip/clip.hpp"
#include "element/logical_type.hpp"
#include "support/catch.hpp"

namespace clipper {
TEST_CASE("NaT passes the bounds of dates like a NaN, or is replaced, at each position and level") {
  std::mt19937_64 random(1);
  for (const auto& [lo, hi] :
       {std::pair<std::int64_t, std::int64_t>{-5, 7}, {7, -5}, {kNaT, 7}, {kNaT + 1, -9}})
    for (const std::optional<std::int64_t> by :
         {std::optional<std::int64_t>(), std::optional<std::int64_t>(3)})
      for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{64}, std::size_t{4099}}) {
        Operation operation;
        operation.dtype = DType::int64;
        operation.has_nat = true;
        operation.lo = to_bits(lo);
        operation.hi = to_bits(hi);
        if (by) operation.nan = to_bits(*by);
        std::vector<std::int64_t> elements(count);
        std::vector<std::int64_t> expected(count);
        ElementCounts counts;
        std::size_t first = count;
        for (std::size_t i = 0; i < count; ++i) {
          const bool is_nat = random() % 4 == 0;
          const std::int64_t x = is_nat ? kNaT : static_cast<std::int64_t>(random() % 30) - 15;
          const std::int64_t raised = std::max(x, lo);
          const std::int64_t y = is_nat ? by.value_or(kNaT) : std::min(raised, hi);
          counts.nan += is_nat ? 1 : 0;
          counts.raised += !is_nat && y > x ? 1 : 0;
          counts.lowered += !is_nat && y < x ? 1 : 0;
          counts.changed = counts.changed || y != x;
          elements[i] = x;
          expected[i] = y;
          if (y == kNaT && first == count) first = i;
        }
        for (const SimdLevel level : simd_levels()) {
          std::vector<std::int64_t> results(count);
          const auto* const in = reinterpret_cast<const std::byte*>(elements.data());
          auto* const out = reinterpret_cast<std::byte*>(results.data());
          CHECK(clip_and_count(operation, in, out, count, level) == counts);
          CHECK((results == expected));
          results = elements;
          clip(operation, out, out, count, level);
          CHECK((results == expected));
          CHECK(find_nan(operation, out, count).value_or(count) == first);
        }
      }
}

}  // namespace clipper
