#include <numeric>

#include "clipper.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "support/catch.hpp"

/// What follows the clip, for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

constexpr double kLow = 0.2;  // (kHigh - kLow) + kLow is less than kHigh
constexpr double kHigh = 0.9;

/// All finite elements of a dtype in ascending order.
template <class Bits>
std::vector<Bits> finite_elements(DType dtype) {
  std::vector<Bits> elements;
  for (std::uint32_t bits = 0; bits <= std::numeric_limits<Bits>::max(); ++bits)
    if (number_of(dtype, bits).kind == Number::Kind::finite) elements.push_back(static_cast<Bits>(bits));
  std::ranges::stable_sort(elements, {}, [&](Bits element) { return element_key(dtype, element); });
  return elements;
}

template <class Bits>
std::vector<double> stretched(DType dtype, const std::vector<Bits>& elements, Parameter min, Parameter max) {
  std::vector<double> out(elements.size());
  clip(dtype, elements.data(), out.data(), elements.size(),
       {.min = std::move(min), .max = std::move(max), .stretch = {{kLow, kHigh}}, .to = DType::float64}, 1);
  return out;
}

}  // namespace

TEST_CASE("A stretch of 8 bits gives exactly its ends for every pair of bounds, and nothing beyond them") {
  for (const DTypeTraits& row : kDTypes) {
    if (row.size != 1) continue;
    CAPTURE(row.name);
    const std::vector<std::uint8_t> elements = finite_elements<std::uint8_t>(row.dtype);
    std::size_t wrong = 0;
    for (std::size_t min = 0; min < elements.size(); ++min)
      for (std::size_t max = min; max < elements.size(); max += kStep) {
        const Number low = number_of(row.dtype, elements[min]);
        const Number high = number_of(row.dtype, elements[max]);
        const std::vector<std::uint8_t> in{elements[min], elements[max], elements[(min + max) / 2],
                                           elements.front(), elements.back()};
        const std::vector<double> out = stretched(row.dtype, in, low, high);
        const double upper = low == high ? kLow : kHigh;
        wrong += out[0] == kLow && out[1] == upper && out[2] >= kLow && out[2] <= kHigh && out[3] == kLow &&
                         out[4] == upper
                     ? 0
                     : 1;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("A stretch of 16 bits gives exactly its ends for every element as min and as max") {
  for (const DTypeTraits& row : kDTypes) {
    if (row.size != 2) continue;
    CAPTURE(row.name);
    const std::vector<std::uint16_t> elements = finite_elements<std::uint16_t>(row.dtype);
    const std::size_t count = elements.size();
    std::size_t wrong = 0;
    // Arrays give each element its own bounds, which lie a stride of elements apart.
    for (const std::size_t stride : std::to_array<std::size_t>({1, 2, 77, 4099, 30011})) {
      const std::vector<std::uint16_t> mins(elements.begin(),
                                            elements.end() - static_cast<std::ptrdiff_t>(stride));
      const std::vector<std::uint16_t> maxs(elements.begin() + static_cast<std::ptrdiff_t>(stride),
                                            elements.end());
      const Tensor tensor{.dtype = row.dtype, .shape = {static_cast<std::int64_t>(count - stride)}};
      const auto with_bounds = [&](const std::vector<std::uint16_t>& in) {
        return stretched(row.dtype, in, from_memory(tensor, mins.data()), from_memory(tensor, maxs.data()));
      };
      for (const double result : with_bounds(mins)) wrong += result == kLow ? 0 : 1;
      const std::vector<double> upper = with_bounds(maxs);
      for (std::size_t i = 0; i < upper.size(); ++i) {
        const bool are_zeros = number_of(row.dtype, mins[i]) == number_of(row.dtype, maxs[i]);
        wrong += upper[i] == (are_zeros ? kLow : kHigh) ? 0 : 1;
      }
    }
    for (std::size_t i = 0; i + 1000 < count; i += 7 * kStep) {  // as numbers
      const std::vector<double> out = stretched<std::uint16_t>(
          row.dtype, {elements[i], elements[i + 1000], elements[i + 500]}, number_of(row.dtype, elements[i]),
          number_of(row.dtype, elements[i + 1000]));
      wrong += out[0] == kLow && out[1] == kHigh && out[2] > kLow && out[2] < kHigh ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("All elements of 16 bits are stretched between numbers as the manual says") {
  std::vector<std::uint16_t> all(1 << 16);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (const DTypeTraits& row : kDTypes) {
    if (row.size != 2) continue;
    CAPTURE(row.name);
    const std::vector<std::uint16_t> finite = finite_elements<std::uint16_t>(row.dtype);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < finite.size(); i += 997 * kStep) {
      const double min = round_to<double>(number_of(row.dtype, finite[i / 2]));
      const double max = round_to<double>(number_of(row.dtype, finite[finite.size() - 1 - i / 3]));
      if (min >= max) continue;
      const std::vector<double> out = stretched(row.dtype, all, min, max);
      for (std::size_t k = 0; k < all.size(); ++k) {
        const double x = round_to<double>(number_of(row.dtype, all[k]));
        const double y = std::clamp((x - min) / (max - min) * (kHigh - kLow) + kLow, kLow, kHigh);
        wrong += out[k] == (x <= min   ? kLow
                            : x >= max ? kHigh
                                       : y) ||
                         (std::isnan(x) && std::isnan(out[k]))
                     ? 0
                     : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("A request of a program subtracts, divides and stretches") {
  const std::vector<float> in{-1, 0, 3, 9};
  std::vector<float> out(4);
  clip(in, out, {.min = 0, .max = 6, .stretch = {{0, 1}}});
  CHECK(out == std::vector<float>{0, 0, 0.5, 1});
  const Counts counts = clip(in, out, {.max = 6, .subtract = 1, .divide = 2});
  CHECK(out == std::vector<float>{-1, -0.5, 1, 2.5});
  CHECK(counts.lowered == 1);
  const std::vector<double> by{1, 2, 4, 8};
  clip(in, out, {.divide = from_memory({.dtype = DType::float64, .shape = {4}}, by.data())});
  CHECK(out == std::vector<float>{-1, 0, 0.75, 1.125});
}

TEST_CASE("A request of a program subtracts and divides by statistics, of each index along an axis") {
  const std::vector<float> in{1, 3, 10, 30};
  std::vector<float> out(4);
  clip(in, out, {.max = 5, .subtract = Statistic::mean, .divide = "max"});
  CHECK(out == std::vector<float>{-0.5, -0.1F, 0.3F, 0.3F});
  const Request by_row{
      .max = "100%", .subtract = Statistic::mean, .divide = Statistic::std, .per_axis = {-2}};
  PreparedClip(by_row, {.shape = {2, 2}}, in.data()).clip(in.data(), out.data(), 4);
  CHECK(out == std::vector<float>{-1, 1, -1, 1});
  CHECK_THROWS_AS(PreparedClip(by_row, {.shape = {4}}, in.data()), Error);
  CHECK_THROWS_AS(clip(in, out, {.subtract = Statistic::mean, .pooled = true}), Error);
}

}  // namespace clipper::testing
