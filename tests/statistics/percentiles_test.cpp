#include "statistics/percentiles.hpp"

#include "clip/clip_cases.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "statistics/rank_search.hpp"
#include "support/refusal.hpp"

namespace clipper {
namespace {

using cases::Elements;

/// Reads the elements in chunks of `chunk` elements, by several threads.
ElementSource source_of(DType dtype, std::span<const std::byte> bytes, std::size_t chunk = 1000,
                        unsigned threads = 1) {
  const std::size_t size = chunk * traits(dtype).size;
  return {.dtype = dtype,
          .count = bytes.size() / traits(dtype).size,
          .read = [bytes, size, threads](const GroupRange& /*groups*/, const ElementSource::Look& look) {
            std::vector<std::thread> running;
            for (unsigned i = 0; i < threads; ++i)
              running.emplace_back([&, i] {
                for (std::size_t at = i * size; at < bytes.size(); at += threads * size)
                  look(0, bytes.subspan(at, std::min(size, bytes.size() - at)));
              });
            for (std::thread& thread : running) thread.join();
          }};
}

Number decimal(const char* text) {
  return *parse_number(text);
}

constexpr std::array kWanted{"0",  "0.1", "1",  "25",       "33.3333333333333333",
                             "50", "75",  "99", "99.99999", "100"};

/// The element at the position, from the sorted elements. A second implementation of the rule, for positions
/// that are an element's.
Elements sorted_numbers(DType dtype, Elements elements) {
  std::erase_if(elements, [&](ElementBits bits) { return reference::is_nan(dtype, bits); });
  std::ranges::sort(elements, {}, [&](ElementBits bits) { return element_key(dtype, bits); });
  return elements;
}

template <class T>
Elements elements_of(const std::vector<T>& values) {
  Elements elements;
  for (const T value : values) elements.push_back(to_bits(value));
  return elements;
}

/// Checks every rank of kWanted against the sorted elements.
void check(DType dtype, const Elements& elements, std::size_t chunk = 1000, unsigned threads = 1) {
  const Elements sorted = sorted_numbers(dtype, elements);
  std::vector<Number> percentages;
  for (const char* const text : kWanted) percentages.push_back(decimal(text));
  const std::vector<std::byte> bytes = reference::in_memory(dtype, elements);
  const ElementSource source =
      source_of(dtype, std::span(bytes).first(elements.size() * traits(dtype).size), chunk, threads);
  for (const SimdLevel level : simd_levels()) {
    RankSearch search(dtype, elements.size(), level);
    const auto pass = [&] {
      source.read({}, [&](std::size_t, std::span<const std::byte> part) { search.look_at(part); });
      search.end_pass();
    };
    pass();
    REQUIRE(search.numbers() == sorted.size());
    const auto found = as_scalars(dtype, percentiles_of(source, percentages, level));
    if (sorted.empty()) {
      CHECK(std::ranges::none_of(found, [](const auto& x) { return x.has_value(); }));
      continue;
    }
    std::vector<std::uint64_t> ranks;
    for (std::uint64_t i = 0; i < 20; ++i) ranks.push_back(i * (sorted.size() - 1) / 19);
    for (search.want(ranks); search.is_open();) pass();
    for (std::size_t i = 0; i < ranks.size(); ++i) CHECK(search.element(i) == sorted[ranks[i]]);
    CHECK(found.front()->bits == sorted.front());
    CHECK(found.back()->bits == sorted.back());
  }
}

/// Elements whose bits are integers from -10 to 10: all bits but the lowest ones are equal.
Elements small_numbers(DType dtype, std::size_t count) {
  std::mt19937_64 random(count);
  Elements elements(count);
  for (ElementBits& bits : elements) bits = (random() % 21 - 10) & reference::all_ones(dtype);
  return elements;
}

Elements random_bits(DType dtype, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Elements elements(count);
  for (ElementBits& bits : elements) bits = random() & reference::all_ones(dtype);
  return elements;
}

template <class T>
ElementSource in_memory(DType dtype, const std::vector<T>& elements) {
  return source_of(dtype, std::as_bytes(std::span(elements)));
}

template <class T>
std::optional<T> percentile(DType dtype, const std::vector<T>& elements, const char* text) {
  const std::array<Number, 1> wanted{decimal(text)};
  const auto found =
      as_scalars(dtype, percentiles_of(in_memory(dtype, elements), wanted, simd_levels().back()));
  if (!found[0]) return std::nullopt;
  return from_bits<T>(found[0]->bits);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("the element at a rank is that of the sorted elements") {
  for (const DTypeTraits& row : kDTypes) {
    INFO(row.name);
    for (const std::size_t count : {1U, 2U, 3U, 1000U, 40'000U}) {
      check(row.dtype, random_bits(row.dtype, count, count));
      check(row.dtype, Elements(count, random_bits(row.dtype, 1, 8)[0]));
      check(row.dtype, small_numbers(row.dtype, count));
    }
  }
}

TEST_CASE("the elements that are counted do not fit the memory for collected ones") {
  const auto check_near = [](DType dtype, auto first) {
    // Elements with equal first 16 bits, then 32, then 48.
    for (const unsigned shift : {0U, 16U, 32U}) {
      Elements elements;
      for (std::uint64_t i = 0; i < 300'000; ++i)
        elements.push_back((to_bits(first) + ((i * 7919 % 65536) << shift) + i % 3) &
                           reference::all_ones(dtype));
      check(dtype, elements, 4096, 3);
    }
  };
  check_near(DType::float32, -1.5F);
  check_near(DType::float64, 1e100);
  check_near(DType::float64, -1e-100);
  check_near(DType::uint64, std::uint64_t{1} << 63);
  check_near(DType::int64, std::numeric_limits<std::int64_t>::lowest());
  check(DType::float32, Elements(1'000'000, to_bits(7.25F)), 65'536, 4);
  check(DType::float64, Elements(400'000, to_bits(-7.25)), 65'536, 4);
}

TEST_CASE("every element of up to 16 bits is at its rank") {
  for (const DTypeTraits& row : kDTypes) {
    if (row.size > 2) continue;
    INFO(row.name);
    Elements elements;
    for (std::uint64_t bits = 0; bits < 65'536; ++bits)
      elements.push_back(bits * 40'503 & reference::all_ones(row.dtype));
    const Elements sorted = sorted_numbers(row.dtype, elements);
    RankSearch search(row.dtype, elements.size(), simd_levels().back());
    const std::vector<std::byte> bytes = reference::in_memory(row.dtype, elements);
    search.look_at(std::span(bytes).first(elements.size() * row.size));
    search.end_pass();
    REQUIRE(search.numbers() == sorted.size());
    std::vector<std::uint64_t> ranks;
    for (std::uint64_t rank = 0; rank < sorted.size(); rank += kStep * kStep) ranks.push_back(rank);
    search.want(ranks);
    REQUIRE_FALSE(search.is_open());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) wrong += search.element(i) != sorted[ranks[i]] ? 1 : 0;
    CHECK(wrong == 0);
  }
}

TEST_CASE("NaNs beside infinities in the order of keys are not counted") {
  std::vector<float> elements(50'000, 1);
  for (std::size_t i = 0; i < 10'000; ++i) {
    elements[i] = from_bits<float>(0x7f800001U + i % 3);
    elements[i + 10'000] = from_bits<float>(0xff800001U + i % 5);
    elements[i + 20'000] = i % 2 == 0 ? kInfinity : -kInfinity;
  }
  check(DType::float32, elements_of(elements), 1000, 2);
  std::vector<double> wide(50'000, 1);
  for (std::size_t i = 0; i < 10'000; ++i) {
    wide[i] = from_bits<double>(0x7ff0'0000'0000'0001U + i);
    wide[i + 10'000] = from_bits<double>(0xfff0'0000'0000'0001U + i);
    wide[i + 20'000] = i % 2 == 0 ? kInfinity : -kInfinity;
  }
  check(DType::float64, elements_of(wide), 1000, 2);
}

TEST_CASE("a percentile lies between the elements of two ranks") {
  CHECK(percentile<float>(DType::float32, {}, "50") == std::nullopt);
  CHECK(percentile<float>(DType::float32, {kNan, -kNan}, "50") == std::nullopt);
  CHECK(percentile<float>(DType::float32, {kNan, 3}, "100") == 3);
  CHECK(percentile<float>(DType::float32, {4, 1, 2}, "50") == 2);
  CHECK(percentile<float>(DType::float32, {4, 1, 2}, "25") == 1.5F);
  CHECK(percentile<std::uint64_t>(DType::uint64, {0, ~std::uint64_t{0}}, "100") == ~std::uint64_t{0});
  CHECK(percentile<std::uint64_t>(DType::uint64, {0, ~std::uint64_t{0}}, "50") == (~std::uint64_t{0} >> 1));
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::lowest();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  CHECK(percentile<std::int64_t>(DType::int64, {kHighest - 1, kHighest}, "50") == kHighest - 1);
  const auto fraction = [](const std::vector<std::int64_t>& elements, const char* text) {
    const std::array wanted{decimal(text)};
    const auto found = percentiles_of(in_memory(DType::int64, elements), wanted, simd_levels().back());
    const Scalar scalar = as_scalar(DType::int64, *found[0]);
    CHECK(scalar.dtype == DType::float64);
    return from_bits<double>(scalar.bits);
  };
  CHECK(fraction({kLowest, kHighest}, "50") == -0.5);
  CHECK(fraction({-2, -1}, "10") == -1.9);
  CHECK(fraction({0, (std::int64_t{1} << 53) - 1}, "50") == 0x1p52 - 0.5);
  CHECK(percentile<std::int64_t>(DType::int64, {kLowest, kHighest}, "0") == kLowest);
  constexpr double kMax = std::numeric_limits<double>::max();
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  CHECK(percentile<double>(DType::float64, {-kMax, kMax}, "50") == 0);
  CHECK(percentile<double>(DType::float64, {-kMax, kMax}, "75") == kMax / 2);
  CHECK(percentile<double>(DType::float64, {0, kTiny}, "50") == 0);  // a tie rounds to even
  CHECK(percentile<double>(DType::float64, {0, kTiny}, "50.0000000000000001") == kTiny);
  CHECK(percentile<double>(DType::float64, {kTiny, 3 * kTiny}, "50") == 2 * kTiny);
  CHECK(percentile<float>(DType::float32, {-kInfinity, 5}, "99") == -kInfinity);
  CHECK(percentile<float>(DType::float32, {5, kInfinity}, "1") == kInfinity);
  CHECK(percentile<float>(DType::float32, {5, kInfinity}, "0") == 5);
  CHECK(std::isnan(*percentile<float>(DType::float32, {-kInfinity, kInfinity}, "50")));
  CHECK(std::signbit(*percentile<float>(DType::float32, {0.0F, -0.0F}, "0")));
  CHECK_FALSE(std::signbit(*percentile<float>(DType::float32, {0.0F, -0.0F}, "1")));
}

TEST_CASE("the value between two elements is exact, not an element") {
  const auto exact = [](DType dtype, const auto& elements, const char* text) {
    const std::array<Number, 1> wanted{decimal(text)};
    return decimal_text(*percentiles_of(in_memory(dtype, elements), wanted, simd_levels().back())[0]);
  };
  CHECK(exact(DType::int8, std::vector<std::int8_t>{10, 11}, "40") == "10.4");
  CHECK(exact(DType::int8, std::vector<std::int8_t>{-11, -10}, "40") == "-10.6");
  CHECK(exact(DType::uint64, std::vector<std::uint64_t>{0, ~std::uint64_t{0}}, "50") ==
        "9223372036854775807.5");
  CHECK(exact(DType::float32, std::vector<float>{1, 1 + 0x1p-23F}, "50") == "1.000000059604644775390625");
  CHECK(exact(DType::float32, std::vector<float>{1, kInfinity}, "50") == "inf");
}

TEST_CASE("positions are exact") {
  constexpr std::size_t kCount = std::size_t{1} << 25;
  std::vector<float> elements(kCount, 0);
  for (std::size_t i = 0; i < 3; ++i) elements[i * 1'000'001] = 1;
  // 99.99999 % of 2^25 - 1 is 33554427.64, and the three last elements begin at 33554429.
  CHECK(percentile(DType::float32, elements, "99.99999") == 0);
  CHECK(percentile(DType::float32, elements, "99.999995") == 1);
  elements[3'500'000] = 1;
  CHECK(percentile(DType::float32, elements, "99.99999") == 0.6445569F);
  CHECK(interpolate(0, 1, 644'556'900'000'000'000) == decimal("0.6445569"));
}

TEST_CASE("elements that change between two passes are refused") {
  const auto check_changed = [](std::size_t count, std::uint64_t step) {
    std::vector<std::uint64_t> elements;
    for (std::uint64_t i = 0; i < count; ++i) elements.push_back(i % 65'536 * step);
    ElementSource source = in_memory(DType::uint64, elements);
    unsigned passes = 0;
    source.read = [&, read = source.read](const GroupRange& groups, const ElementSource::Look& look) {
      if (++passes == 2) std::ranges::fill(elements, std::uint64_t{1} << 63);
      read(groups, look);
    };
    const auto find = [&] {
      static_cast<void>(percentiles_of(source, std::array{decimal("50")}, simd_levels().back()));
    };
    CHECK(refusal(ErrorKind::io, find) == "the tensor: changed while it was read");
    CHECK(passes == 2);
  };
  check_changed(100'000, 1);        // the second pass collects elements
  check_changed(300'000, 1U << 8);  // the second pass counts elements
}

TEST_CASE("a percentile has 0 to 16 decimal places and is from 0 to 100") {
  for (const char* const good :
       {"0", "-0", "100", "1e2", "99.9999999999999999", "0.0000000000000001", "0x1p-3"})
    CHECK(is_percentile(decimal(good)));
  for (const char* const bad : {"-1", "100.0000000000000001", "nan", "inf", "0.00000000000000001", "1e-17"})
    CHECK_FALSE(is_percentile(decimal(bad)));
}

}  // namespace clipper
