#include "clip/clip.hpp"

#include <random>

#include "clip/clip_cases.hpp"
#include "clip/clip_check.hpp"
#include "clip/reference_clip.hpp"

namespace clipper {
namespace {

using cases::Bounds;
using cases::Case;
using cases::check_apart;
using cases::check_in_place;
using cases::Elements;
using cases::Memory;

/// Checks that every level does what the oracle does.
void check(const Operation& op, std::span<const ElementBits> elements) {
  check_in_place({op, elements, reference::clip(op, elements)}, 0);
}

}  // namespace

TEST_CASE("oracle and kernels do what the contract says") {
  struct Row {
    DType dtype;
    Bounds bounds;
    std::optional<std::pair<double, double>> factors;
    ElementBits element;
    ElementBits expected;
  };
  const std::vector<Row> rows{
      {DType::float32, {0, 0x40c00000}, {}, 0x80000000, 0x80000000},   // -0 is not below 0
      {DType::float32, {0, 0x40c00000}, {}, 0xff800001, 0xff800001},   // NaN keeps sign and payload
      {DType::float32, {0, 0x40c00000}, {}, 0x40c00001, 0x40c00000},   // the number after 6
      {DType::float64, {0x4018ull << 48, 0}, {}, 0x4000ull << 48, 0},  // min 6, max 0: 2 becomes 0
      {DType::float16, {0xfc00, 0x7c00}, {{2, 0}}, 0x7bff, 0x7c00},    // 2 * 65504: too large
      {DType::float16, {0xfc00, 0x7bff}, {{2, 0}}, 0x7bff, 0x7bff},    // the same, but max 65504
      {DType::float16, {0xfc00, 0x7c00}, {{0.5, 0}}, 0x0003, 0x0002},  // 1.5 * 2^-24: a tie, to even
      {DType::float16, {0xfc00, 0x7c00}, {{1, 0}}, 0xfc01, 0xfe01},    // a signalling NaN is made quiet
      {DType::bfloat16, {0xff80, 0x7f80}, {{1, 0.00390625}}, 0x3f80, 0x3f80},  // 1 + 2^-8: a tie, to even
      {DType::bfloat16, {0xff80, 0x7f80}, {{1, 0.00390625}}, 0x3f81, 0x3f82},  // the next tie, to even
      {DType::int8, {0x80, 0x7f}, {{2, 0}}, 100, 127},                         // 200
      {DType::int8, {0x80, 0x7f}, {{0.5, 0}}, 0xfd, 0xff},                     // -1.5 becomes -1
      {DType::uint8, {0, 0xff}, {{-1, 0.5}}, 1, 0},                            // -0.5
      {DType::int64, {(1ull << 53) + 1, ~0ull >> 1}, {{1, 0}}, 1ull << 53, (1ull << 53) + 1},
      {DType::int64,
       {1ull << 63, ~0ull >> 1},
       {{1, 0}},
       (1ull << 53) + 1,
       1ull << 53},                                                  // not exact as a double
      {DType::uint64, {0, ~0ull}, {{1e308, -1e308}}, ~0ull, ~0ull},  // infinity
  };
  for (const Row& row : rows) {
    Operation op = cases::operation(row.dtype, row.bounds);
    if (row.factors) {
      op.arithmetic = cases::arithmetic_of(row.dtype);
      std::tie(op.scale, op.bias) = *row.factors;
    }
    CHECK(reference::clip(op, row.element) == row.expected);
    check(op, {&row.element, 1});
  }
}

TEST_CASE("oracle and kernels lose no bit of a large integer") {
  struct Row {
    DType dtype;
    SignedInteger scale;
    SignedInteger bias;
    ElementBits element;
    ElementBits expected;
  };
  constexpr std::uint64_t kMaxInt64 = ~0ull >> 1;
  constexpr std::uint64_t kMinInt64 = 1ull << 63;
  const std::vector<Row> rows{
      {DType::int64, {true, 1}, {false, 0}, kMinInt64, kMaxInt64},     // 2^63
      {DType::int64, {true, 1}, {true, 1}, kMinInt64, kMaxInt64},      // 2^63 - 1
      {DType::int64, {true, 1}, {true, 2}, kMinInt64, kMaxInt64 - 1},  // 2^63 - 2
      {DType::int64, {false, 1}, {true, kMinInt64}, kMaxInt64, ~0ull},
      {DType::int64, {false, ~0ull}, {false, ~0ull}, ~0ull, 0},  // -1 * (2^64 - 1) + (2^64 - 1)
      {DType::int64, {true, kMinInt64}, {false, 0}, kMinInt64, kMaxInt64},
      {DType::uint64, {false, ~0ull}, {false, ~0ull}, ~0ull, ~0ull},  // 2^128 - 2^64
      {DType::uint64, {true, kMinInt64}, {false, ~0ull}, ~0ull, 0},
      {DType::uint64, {true, 1}, {false, ~0ull}, ~0ull - 5, 5},
      {DType::uint64, {false, 1}, {true, 6}, 5, 0},
      {DType::uint64, {false, 3}, {true, 5}, (1ull << 63) / 3 * 2 + 2, ~0ull - 2},
  };
  for (const Row& row : rows) {
    Operation op = cases::operation(row.dtype, {cases::lowest(row.dtype), cases::highest(row.dtype)});
    op.arithmetic = Arithmetic::integer;
    op.scale = DoubleDouble::of(row.scale.value());
    op.bias = DoubleDouble::of(row.bias.value());
    CHECK(reference::clip(op, row.element) == row.expected);
    check(op, {&row.element, 1});
  }
}

TEST_CASE("elements are clipped to one bound, two bounds, equal bounds, and lo > hi") {
  for (const DTypeTraits& row : kKernelDTypes) {
    const Elements elements = cases::elements_of(row.dtype, 20'000);
    for (const Bounds& bounds : cases::many_bounds_of(row.dtype))
      check(cases::operation(row.dtype, bounds), elements);
  }
}

TEST_CASE("scale and bias are two rounded operations before the clip") {
  for (const DTypeTraits& row : kKernelDTypes) {
    const Elements elements = cases::elements_of(row.dtype, 20'000);
    for (const Bounds& bounds : cases::few_bounds_of(row.dtype))
      for (const cases::Factors& factors : cases::factors_of(cases::arithmetic_of(row.dtype))) {
        Operation op = cases::operation(row.dtype, bounds);
        op.arithmetic = cases::arithmetic_of(row.dtype);
        op.scale = factors.scale;
        op.bias = factors.bias;
        if (factors.replace_nan) op.nan = cases::one(row.dtype);
        check(op, elements);
      }
  }
}

TEST_CASE("integer scale and bias are exact and never wrap") {
  for (const DType dtype : {DType::int64, DType::uint64}) {
    const Elements elements = cases::elements_of(dtype, 200);
    for (const Bounds& bounds : cases::few_bounds_of(dtype))
      for (const DoubleDouble& scale : cases::integers())
        for (const DoubleDouble& bias : cases::integers()) {
          Operation op = cases::operation(dtype, bounds);
          op.arithmetic = Arithmetic::integer;
          op.scale = scale;
          op.bias = bias;
          check(op, elements);
        }
  }
}

TEST_CASE("NaN, and nothing else, is replaced, whatever the bounds") {
  for (const DTypeTraits& row : kKernelDTypes) {
    const Elements elements = cases::elements_of(row.dtype);
    for (const ElementBits nan : {cases::one(row.dtype), cases::lowest(row.dtype)})
      for (const Bounds& bounds : cases::few_bounds_of(row.dtype)) {
        Operation op = cases::operation(row.dtype, bounds);
        op.nan = nan;
        check(op, elements);
      }
  }
}

TEST_CASE("any number of elements at any alignment is clipped, and no memory around them is written") {
  for (const DTypeTraits& row : kKernelDTypes)
    for (const Arithmetic arithmetic : cases::arithmetics_of(row.dtype)) {
      Operation op = cases::operation(row.dtype, cases::few_bounds_of(row.dtype)[2]);
      op.arithmetic = arithmetic;
      op.scale = arithmetic == Arithmetic::integer ? -3 : 1.5;
      op.bias = arithmetic == Arithmetic::integer ? 50 : -0.25;
      Elements elements = cases::elements_of(row.dtype, 9'000);
      elements.resize(9'000, cases::one(row.dtype));
      std::shuffle(elements.begin(), elements.end(), std::mt19937_64{});
      const Elements expected = reference::clip(op, elements);
      const auto check_count = [&](std::size_t count, std::size_t from, std::size_t to) {
        const Case test{op, std::span(elements).first(count), std::span(expected).first(count)};
        check_apart(test, from, to);
        check_in_place(test, to);
      };
      for (std::size_t count = 0; count <= 130; ++count)
        for (const auto& [from, to] : {std::pair{0u, 0u}, {1u, 1u}, {3u, 0u}, {0u, 5u}, {7u, 31u}})
          check_count(count, from, to);
      for (const std::size_t power : {256u, 512u, 1024u, 4096u, 8192u})
        for (const std::size_t count : {power - 1, power, power + 1}) check_count(count, 1, 3);
    }
}

TEST_CASE("find_nan() finds the first NaN and takes nothing else for NaN") {
  for (const DTypeTraits& row : kKernelDTypes) {
    const auto is_found_at = [&](std::span<const ElementBits> elements) {
      const Operation op = cases::operation(row.dtype, {});
      Memory memory{op, elements, 1};
      return find_nan(row.dtype, memory.data(), elements.size()).value_or(elements.size());
    };
    INFO(row.name);
    Elements numbers;
    for (const ElementBits bits : cases::elements_of(row.dtype)) {
      const bool is_nan = reference::is_nan(row.dtype, bits);
      if ((is_found_at({&bits, 1}) == 0) != is_nan) FAIL(reference::text(row.dtype, bits));
      if (!is_nan) numbers.push_back(bits);
    }
    numbers.resize(10'000, cases::highest(row.dtype));
    CHECK(is_found_at({}) == 0);
    CHECK(is_found_at(numbers) == numbers.size());
    if (!is_floating(row.dtype)) continue;

    for (const std::size_t position : {0u, 1u, 2u, 7u, 8u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 9999u}) {
      Elements some = numbers;
      some[position] = cases::highest(row.dtype) + 1;
      some.back() = cases::lowest(row.dtype) + 1;
      CHECK(is_found_at(some) == position);
      CHECK(is_found_at(std::span(some).first(position)) == position);
      CHECK(is_found_at(std::span(some).first(position + 1)) == position);
    }
  }
}

}  // namespace clipper
