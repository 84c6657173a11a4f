#include <random>

#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "simd/levels.hpp"
#include "statistics/statistics.hpp"
#include "support/catch.hpp"

namespace clipper::testing {
namespace {

template <class T>
ElementSource source_of(DType dtype, const std::vector<T>& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  return {.dtype = dtype,
          .count = elements.size(),
          .read = [=](const GroupRange& /*only*/, const ElementSource::Look& look) {
            const std::size_t half = bytes.size() / 2 / sizeof(T) * sizeof(T);
            look(0, bytes.first(half));
            look(0, bytes.subspan(half));
          }};
}

/// The definition.
template <class T>
Number deviation_of(DType dtype, const std::vector<T>& elements, const Number& center) {
  std::vector<Number> deviations;
  for (const T x : elements) {
    ElementBits bits = 0;
    std::memcpy(&bits, &x, sizeof(x));
    if (number_of(dtype, bits).kind == Number::Kind::nan) continue;
    Number& deviation = deviations.emplace_back(difference(number_of(dtype, bits), center));
    deviation.negative = false;
  }
  std::ranges::sort(deviations, [](const Number& a, const Number& b) { return a < b; });
  const Number& a = deviations[(deviations.size() - 1) / 2];
  const Number& b = deviations[deviations.size() / 2];
  return a == b || b.kind == Number::Kind::infinite ? b : Number(interpolate(a, b, kFractionOne / 2));
}

template <class T>
void check(DType dtype, const std::vector<T>& elements) {
  const ElementSource source = source_of(dtype, elements);
  const SimdLevel level = simd_levels().back();
  const std::vector<Number> half{50};
  const std::optional<Number> center = percentiles_of(source, half, level).front();
  REQUIRE(center);
  CAPTURE(traits(dtype).name, elements.size());
  CHECK(median_deviations(source, std::span(&center, 1), level).front() ==
        deviation_of(dtype, elements, *center));
}

template <class T>
void check_numbers(DType dtype, std::mt19937& random) {
  for (const std::size_t count : {1UL, 2UL, 7UL, 1000UL, 20'000UL, 20'001UL}) {
    std::vector<T> far(count);
    std::vector<T> near(count);
    std::vector<T> few(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = std::uint64_t{random()} << 32 | random();
      std::memcpy(&far[i], &bits, sizeof(T));
      near[i] = static_cast<T>(random() % 100'000);
      few[i] = static_cast<T>(random() % 4);
      if constexpr (std::is_floating_point_v<T>) {
        near[i] = 1 + near[i] * std::numeric_limits<T>::epsilon();
        if (i % 3 == 0) near[i] *= std::numeric_limits<T>::min();  // whose deviation rounds to the center
      }
    }
    for (const auto& elements : {far, near, few}) check(dtype, elements);
  }
}

}  // namespace

TEST_CASE("the median deviation is exact") {
  std::mt19937 random(1);
  check_numbers<double>(DType::float64, random);
  check_numbers<float>(DType::float32, random);
  check_numbers<std::int64_t>(DType::int64, random);
  check_numbers<std::uint64_t>(DType::uint64, random);
  check_numbers<std::uint16_t>(DType::bfloat16, random);
  check_numbers<std::int8_t>(DType::int8, random);
}

TEST_CASE("median deviations of infinite centers, of no center, and of many equal elements") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> elements(300'000, 3);
  const ElementSource source = source_of(DType::float32, elements);
  const std::vector<std::optional<Number>> centers{infinity, std::nullopt, 2};
  std::vector<std::optional<Number>> found;
  for (const auto& center : centers)
    found.push_back(median_deviations(source, std::span(&center, 1), simd_levels().back()).front());
  CHECK(found[0]->kind == Number::Kind::nan);
  CHECK_FALSE(found[1]);
  CHECK(found[2] == Number(1));
}

TEST_CASE("the median deviation of more different elements than are collected, and between two far ones") {
  constexpr std::size_t kThird = 200'000;
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  std::vector<double> elements(kThird);  // zeros
  for (std::size_t i = 0; i < kThird; ++i)
    for (const double sign : {1.0, -1.0}) elements.push_back(sign * (1 + static_cast<double>(i) * kEpsilon));
  const auto deviation = [&](double center) {
    const std::optional<Number> number = center;
    return median_deviations(source_of(DType::float64, elements), std::span(&number, 1), simd_levels().back())
        .front();
  };
  constexpr double kMiddle = 1 + kThird / 4 * kEpsilon;  // a quarter of the others, of which two are equal
  CHECK(deviation(0) == interpolate(kMiddle - kEpsilon, kMiddle, kFractionOne / 2));
  elements.resize(2 * kThird);
  std::fill(elements.begin() + kThird, elements.end(), 1.0);
  for (std::size_t i = 0; i < kThird; ++i) elements[i] = 1e9 - static_cast<double>(i);
  CHECK(deviation(0) == interpolate(1, 1e9 - static_cast<double>(kThird - 1), kFractionOne / 2));
}

TEST_CASE("elements that change between two passes of a median deviation are refused") {
  std::vector<float> elements(300'000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  ElementSource source = source_of(DType::float32, elements);
  source.read = [&, read = source.read](const GroupRange& groups, const ElementSource::Look& look) {
    read(groups, look);
    std::ranges::fill(elements, std::numeric_limits<float>::quiet_NaN());
  };
  const std::optional<Number> center = 5;
  CHECK_THROWS_AS(median_deviations(source, std::span(&center, 1), simd_levels().back()), Error);
}

}  // namespace clipper::testing
