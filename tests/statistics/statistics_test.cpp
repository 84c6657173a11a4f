#include "statistics/statistics.hpp"

#include "clip/clip_cases.hpp"
#include "element/element.hpp"
#include "statistics/reference_histogram.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using cases::Elements;
using reference::edge;
using reference::Int128;
using reference::number;

/// The oracle: looks at one element at a time, as long double or 128-bit integer.
struct Expected {
  std::uint64_t nan = 0;
  std::uint64_t positive_infinite = 0;
  std::uint64_t negative_infinite = 0;
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  std::vector<ElementBits> finite;  ///< sorted by value, -0 before 0
};

Expected expected_of(DType dtype, const Bounds& bounds, const Elements& elements) {
  Expected result;
  for (const ElementBits bits : elements) {
    const long double x = number(dtype, bits);
    if (std::isnan(x)) ++result.nan;
    if (x < number(dtype, bounds.lo)) ++result.below;
    if (x > number(dtype, bounds.hi)) ++result.above;
    if (std::isinf(x)) ++(x > 0 ? result.positive_infinite : result.negative_infinite);
    if (!std::isfinite(x)) continue;
    result.finite.push_back(bits);
  }
  std::sort(result.finite.begin(), result.finite.end(), [&](ElementBits a, ElementBits b) {
    const long double x = number(dtype, a);
    const long double y = number(dtype, b);
    return x == y ? std::signbit(x) && !std::signbit(y) : x < y;
  });
  return result;
}

ElementStatistics statistics_of(DType dtype, const Bounds& bounds, const Elements& elements,
                                SimdLevel level = simd_levels().back()) {
  const std::vector<std::byte> memory = reference::in_memory(dtype, elements);
  return clipper::statistics_of(dtype, bounds, memory.data(), elements.size(), level);
}

Bounds no_bounds(DType dtype) {
  return {lowest_element(dtype), highest_element(dtype)};
}

void check_histogram(DType dtype, const Histogram& histogram, const Expected& expected) {
  if (expected.finite.empty()) {
    CHECK(histogram.rows == 0);
    return;
  }
  std::vector<std::uint64_t> counts(histogram.rows);
  std::size_t row = 0;
  CHECK(edge(histogram, 0) <= number(dtype, expected.finite.front()));
  for (const ElementBits bits : expected.finite) {
    while (row < histogram.rows && number(dtype, bits) >= edge(histogram, row + 1)) ++row;
    REQUIRE(row < histogram.rows);
    ++counts[row];
  }
  CHECK(std::equal(counts.begin(), counts.end(), histogram.counts.begin()));
  CHECK(counts.front() != 0);
  CHECK(counts.back() != 0);
}

/// Adds one element to moments, which moments_test compares with Python's fractions.
void add(Moments& moments, DType dtype, ElementBits bits) {
  if (is_floating(dtype)) return moments.add(reference::value(dtype, bits));
  const Int128 x = reference::integer(dtype, bits);
  const auto square = static_cast<UInt128>(x) * static_cast<UInt128>(x);
  moments.sum.add(x, 0);
  moments.squares.add(static_cast<std::uint64_t>(square), 0);
  moments.squares.add(static_cast<std::uint64_t>(square >> 64), 64);
}

void check(DType dtype, const ElementStatistics& actual, const Expected& expected, std::uint64_t count) {
  CHECK(actual.count == count);
  CHECK(actual.nan == expected.nan);
  CHECK(actual.positive_infinite == expected.positive_infinite);
  CHECK(actual.negative_infinite == expected.negative_infinite);
  CHECK(actual.below == expected.below);
  CHECK(actual.above == expected.above);
  REQUIRE(actual.finite.has_value() == !expected.finite.empty());
  REQUIRE(actual.mean().has_value() == !expected.finite.empty());
  check_histogram(dtype, actual.histogram, expected);
  if (expected.finite.empty()) return;
  CHECK(actual.finite->lowest == expected.finite.front());
  CHECK(actual.finite->highest == expected.finite.back());
  Moments moments;
  for (const ElementBits bits : expected.finite) add(moments, dtype, bits);
  CHECK(actual.mean() == moments.mean(expected.finite.size()));
  CHECK(actual.standard_deviation() == moments.standard_deviation(expected.finite.size()));
}

/// Edge elements of every kind, mixed with finite elements of similar magnitude.
Elements mixture(DType dtype, std::size_t count, bool finite) {
  Elements result;
  const Elements edges = cases::elements_of(dtype, 200);
  for (std::size_t i = 0; result.size() < count; i = (i + 7919) % edges.size())
    if (!finite || std::isfinite(number(dtype, edges[i]))) result.push_back(edges[i]);
  return result;
}

/// The numbers (first + i) * 2^exponent, their neighbours, and the smallest ones if they are between them.
Elements edges_of(DType dtype, int exponent, std::int64_t first) {
  Elements result;
  const std::int64_t lowest = element_key(dtype, lowest_finite(dtype));
  const std::int64_t highest = element_key(dtype, highest_finite(dtype));
  const auto add_finite = [&](std::int64_t key) {
    if (lowest <= key && key <= highest) result.push_back(element_with_key(dtype, key));
  };
  for (std::int64_t i = 0; i < 20; ++i) {
    const long double edge = std::ldexp(static_cast<long double>(first + i), exponent);
    if (edge < number(dtype, lowest_finite(dtype)) || edge > number(dtype, highest_finite(dtype))) continue;
    const ElementBits x = is_floating(dtype) ? nearest_element(dtype, Number(static_cast<double>(edge)))
                                             : static_cast<ElementBits>(static_cast<Int128>(edge));
    for (const std::uint64_t step : {~0ULL, 0ULL, 1ULL})
      add_finite(static_cast<std::int64_t>(static_cast<std::uint64_t>(element_key(dtype, x)) + step));
  }
  for (const std::int64_t key : {-3, -2, -1, 0, 1, 2})
    if (is_floating(dtype) && first < 0 && first + 20 > 0) add_finite(key);
  return result;
}

}  // namespace

TEST_CASE("statistics equal those of an oracle, at every level, for any number of elements") {
  for (const DTypeTraits& row : kDTypes)
    for (const bool finite : {false, true})
      for (std::size_t count = 0; count <= 67; ++count) {
        const Elements elements = mixture(row.dtype, count, finite);
        const auto bounds_of = cases::few_bounds_of(row.dtype);
        const auto [lo, hi] = bounds_of[count % bounds_of.size()];
        const Expected expected = expected_of(row.dtype, {lo, hi}, elements);
        for (const SimdLevel level : simd_levels()) {
          INFO(count << " " << row.name << " " << to_string(level) << " " << finite);
          check(row.dtype, statistics_of(row.dtype, {lo, hi}, elements, level), expected, count);
        }
      }
}

TEST_CASE("statistics of all edge elements, with every bound, equal those of an oracle") {
  for (const DTypeTraits& row : kDTypes) {
    const Elements elements = cases::elements_of(row.dtype, 200);
    for (const auto& [lo, hi] : cases::few_bounds_of(row.dtype)) {
      const Expected expected = expected_of(row.dtype, {lo, hi}, elements);
      for (const SimdLevel level : simd_levels()) {
        INFO(row.name << " " << to_string(level));
        check(row.dtype, statistics_of(row.dtype, {lo, hi}, elements, level), expected, elements.size());
      }
    }
  }
}

TEST_CASE("elements on and beside the edges of rows are counted in their rows") {
  for (const DTypeTraits& row : kDTypes)
    for (const int exponent : {-1074, -150, -149, -126, -24, -1, 0, 1, 4, 11, 27, 59, 105, 122, 1018})
      for (const std::int64_t first :
           {-20LL, -16LL, -7LL, 0LL, 3LL, 100LL, (1LL << 23) - 40, 1LL << 23, 1LL << 50}) {
        const Elements elements = edges_of(row.dtype, exponent, first);
        if (elements.empty()) continue;
        const Expected expected = expected_of(row.dtype, no_bounds(row.dtype), elements);
        for (const SimdLevel level : simd_levels()) {
          INFO(row.name << " " << exponent << " " << first << " " << to_string(level));
          check(row.dtype, statistics_of(row.dtype, no_bounds(row.dtype), elements, level), expected,
                elements.size());
        }
      }
}

TEST_CASE("zeros of either sign are neither below nor above each other") {
  for (const DTypeTraits& row : kDTypes) {
    const ElementBits minus_zero = reference::sign_bit(row.dtype);
    if (!is_floating(row.dtype) || reference::value(row.dtype, minus_zero) != 0) continue;
    for (const ElementBits bound : {ElementBits{0}, minus_zero}) {
      const ElementStatistics statistics =
          statistics_of(row.dtype, {bound, bound}, {0, minus_zero, 1, minus_zero | 1});
      CHECK(statistics.below == 1);
      CHECK(statistics.above == 1);
    }
  }
}

TEST_CASE("moments are exact for floats of any exponents") {
  std::mt19937_64 random{1};
  for (const DTypeTraits& row : kDTypes) {
    if (!is_floating(row.dtype)) continue;
    const int fraction_bits = row.fraction_bits;
    const auto exponents = static_cast<int>(highest_finite(row.dtype) >> fraction_bits) + 1;
    for (const int spread : {1, 15, 16, 17, 22, 23, 40, 100, 600, 2046})
      for (const int part : {1, 3, 1000}) {  // every how many elements have another exponent than the first
        const int first = static_cast<int>(random() % static_cast<std::uint64_t>(exponents));
        Elements elements;
        for (int i = 0; i < 1500; ++i) {
          const int other = static_cast<int>(random() % static_cast<std::uint64_t>(spread));
          const auto exponent = static_cast<ElementBits>(std::max(first - (i % part == 0 ? other : 0), 0));
          ElementBits fraction = random() & ((ElementBits{1} << fraction_bits) - 1);
          if (i % 5 == 0) fraction = i % 2 == 0 ? 0 : (ElementBits{1} << fraction_bits) - 1;
          const ElementBits element = exponent << fraction_bits | fraction;
          if (reference::is_nan(row.dtype, element)) continue;
          elements.push_back(element);
          // Large elements cancel: otherwise small ones would not change the mean.
          const ElementBits negative = element | reference::sign_bit(row.dtype);
          if (static_cast<int>(exponent) + 70 > first && !reference::is_nan(row.dtype, negative))
            elements.push_back(negative);
        }
        Moments moments;
        for (const ElementBits bits : elements) add(moments, row.dtype, bits);
        for (const SimdLevel level : simd_levels()) {
          INFO(row.name << " " << spread << " " << part << " " << first << " " << to_string(level));
          const ElementStatistics actual = statistics_of(row.dtype, no_bounds(row.dtype), elements, level);
          CHECK(actual.mean() == moments.mean(elements.size()));
          CHECK(actual.standard_deviation() == moments.standard_deviation(elements.size()));
        }
      }
  }
}

TEST_CASE("counts overflow neither in the lanes of a vector nor between blocks") {
  for (const DTypeTraits& row : kDTypes)
    for (const SimdLevel level : simd_levels()) {
      const std::size_t lanes = 64 / row.size;
      for (const std::size_t count : {255 * lanes - 1, 255 * lanes, 256 * lanes + 1, std::size_t{300'001}}) {
        INFO(count << " " << row.name << " " << to_string(level));
        const ElementBits one = cases::one(row.dtype);
        Elements elements(count, one);
        elements.back() = one + 1;
        const Bounds bounds{one + 1, one};
        const ElementStatistics statistics = statistics_of(row.dtype, bounds, elements, level);
        CHECK(statistics.below == count - 1);
        CHECK(statistics.above == 1);
        CHECK(statistics.histogram.counts[0] == count - 1);
        CHECK(statistics.histogram.counts[statistics.histogram.rows - 1] == 1);
      }
    }
}

TEST_CASE("every level gives the same bits, even for a rounded mean") {
  for (const DTypeTraits& row : kDTypes) {
    const Elements elements = mixture(row.dtype, 100'003, true);
    const ElementStatistics one =
        statistics_of(row.dtype, no_bounds(row.dtype), elements, SimdLevel::baseline);
    for (const SimdLevel level : simd_levels())
      CHECK(statistics_of(row.dtype, no_bounds(row.dtype), elements, level).mean() == one.mean());
  }
}

TEST_CASE("parts of a tensor may be added in any order") {
  for (const DTypeTraits& row : kDTypes) {
    INFO(row.name);
    const Elements elements = mixture(row.dtype, 3'000, false);
    const auto bounds = cases::few_bounds_of(row.dtype).at(2);
    std::vector<ElementStatistics> parts;
    for (std::size_t begin = 0; begin < elements.size(); begin += 1 + begin / 3) {
      const std::size_t end = std::min(elements.size(), begin + 1 + begin / 3);
      const Elements part(elements.begin() + static_cast<std::ptrdiff_t>(begin),
                          elements.begin() + static_cast<std::ptrdiff_t>(end));
      parts.push_back(statistics_of(row.dtype, {bounds.first, bounds.second}, part));
    }
    ElementStatistics forward{};
    ElementStatistics backward{};
    forward.dtype = backward.dtype = row.dtype;
    for (const ElementStatistics& part : parts) forward += part;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) backward += *part;
    const Expected expected = expected_of(row.dtype, {bounds.first, bounds.second}, elements);
    check(row.dtype, forward, expected, elements.size());
    check(row.dtype, backward, expected, elements.size());
    CHECK(forward.mean() == backward.mean());
    const ElementStatistics whole = statistics_of(row.dtype, {bounds.first, bounds.second}, elements);
    CHECK(forward.histogram == whole.histogram);
    CHECK(backward.histogram == whole.histogram);
  }
}

TEST_CASE("a mean is exact even if the sum overflows float64") {
  const auto mean_of = [](DType dtype, const Elements& elements) {
    return statistics_of(dtype, no_bounds(dtype), elements).mean().value();
  };
  const ElementBits most = highest_finite(DType::float64);
  CHECK(mean_of(DType::float64, Elements(1000, most)) == from_bits<double>(most));
  CHECK(mean_of(DType::float64, Elements(1000, lowest_finite(DType::float64))) == -from_bits<double>(most));
  CHECK(mean_of(DType::float64, Elements(3, 1)) == from_bits<double>(1));
  CHECK(mean_of(DType::int64, Elements(1000, ~ElementBits{0})) == -1);
  CHECK(mean_of(DType::int64, Elements(1000, ElementBits{1} << 63)) == -0x1p63);
  CHECK(mean_of(DType::uint64, Elements(1000, ~ElementBits{0})) == 0x1p64);
  CHECK(mean_of(DType::uint64, {~ElementBits{0}, 1}) == 0x1p63);
  Elements cancelling;
  for (int i = 0; i < 32; ++i)
    for (const double x : {1e300, 1.0, -1e300}) cancelling.push_back(to_bits(x));
  ElementStatistics sum{};
  sum.dtype = DType::float64;
  for (const ElementBits element : cancelling)
    sum += statistics_of(DType::float64, no_bounds(DType::float64), {element});
  CHECK(sum.mean() == 1.0 / 3);
}

TEST_CASE("infinities are extremes of a tensor; a tensor of NaNs has none") {
  const auto statistics = [](const std::vector<float>& values) {
    Elements elements;
    for (const float value : values) elements.push_back(to_bits(value));
    return statistics_of(DType::float32, no_bounds(DType::float32), elements);
  };
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(statistics({1, -inf, nan}).min() == to_bits(-inf));
  CHECK(statistics({1, -inf, nan}).max() == to_bits(1.0F));
  CHECK(statistics({inf, nan}).min() == to_bits(inf));
  CHECK(statistics({-inf, -nan}).max() == to_bits(-inf));
  CHECK_FALSE(statistics({nan, -nan}).min());
  CHECK_FALSE(statistics({nan, -nan}).mean());
  CHECK_FALSE(statistics({}).max());
}

TEST_CASE("rows are as narrow as the range of the elements allows") {
  for (const DTypeTraits& row : kKernelDTypes) {
    const auto rows_of = [&](ElementBits lowest, ElementBits highest) {
      return histogram_for(row.dtype, lowest, highest);
    };
    INFO(row.name);
    CHECK(rows_of(cases::one(row.dtype), cases::one(row.dtype)).rows == 1);
    const Histogram all = rows_of(lowest_finite(row.dtype), highest_finite(row.dtype));
    CHECK(all.rows > Histogram::kMaxRows / 2);
    CHECK(all.rows <= Histogram::kMaxRows);
  }
  const Histogram uneven = histogram_for(DType::float64, to_bits(-0x1p-1074), to_bits(0x1p1023));
  CHECK(edge(uneven, 0) < 0);
  const Histogram offset = histogram_for(DType::float64, to_bits(1.7e9), to_bits(1.7e9 + 1));
  CHECK(offset.exponent == -4);
  CHECK(offset.rows == 17);
  CHECK(edge_text(DType::float64, offset, 0) == "1700000000");
  CHECK(edge_text(DType::float64, offset, 1) == "1700000000.0625");
}

}  // namespace clipper
