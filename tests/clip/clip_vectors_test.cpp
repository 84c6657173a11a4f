#include <random>

#include "clip/clip.hpp"
#include "clip/clip_cases.hpp"
#include "clip/reference_clip.hpp"
#include "clip/vectors_check.hpp"

namespace clipper {
namespace {

using cases::Bounds;
using cases::Elements;
using cases::Operations;

template <class T>
const T& one_of(const std::vector<T>& values, std::mt19937_64& random) {
  return values[random() % values.size()];
}

/// Operations with bounds in either order, and with scales and biases for the arithmetic of `op`.
Operations operations_like(const Operation& op, std::size_t count, std::mt19937_64& random) {
  const std::vector<Bounds> bounds = cases::many_bounds_of(op.dtype);
  const Elements nans = cases::bounds_of(op.dtype);
  const std::vector<cases::Factors> factors = cases::factors_of(op.arithmetic);
  const std::vector<DoubleDouble> integers = cases::integers();
  Operations result(count, op);
  for (Operation& each : result) {
    std::tie(each.lo, each.hi) = one_of(bounds, random);
    if (each.nan) each.nan = one_of(nans, random);
    if (each.arithmetic == Arithmetic::integer) {
      each.scale = one_of(integers, random);
      each.bias = one_of(integers, random);
    } else if (each.arithmetic != Arithmetic::none) {
      each.scale = one_of(factors, random).scale;
      each.bias = one_of(factors, random).bias;
    }
  }
  return result;
}

/// Calls f for each dtype and arithmetic, with and without nan.
template <class F>
void for_each_kind(F f) {
  for (const DTypeTraits& row : kKernelDTypes)
    for (const Arithmetic arithmetic : cases::arithmetics_of(row.dtype))
      for (const bool replaces_nan : {false, true}) {
        if (replaces_nan && !is_floating(row.dtype)) continue;
        Operation op = cases::operation(row.dtype, {});
        op.arithmetic = arithmetic;
        if (replaces_nan) op.nan = 0;
        f(op);
      }
}

}  // namespace

TEST_CASE("each element is clipped by its own parameters, at any number of elements and any alignment") {
  for_each_kind([](const Operation& op) {
    std::mt19937_64 random(1);
    Elements elements = cases::elements_of(op.dtype, 9'000);
    elements.resize(std::max<std::size_t>(elements.size(), 17'000), cases::one(op.dtype));
    std::shuffle(elements.begin(), elements.end(), random);
    const Operations all = operations_like(op, elements.size(), random);
    const auto check_count = [&](std::size_t count, const cases::Offsets& offsets) {
      const std::span<const ElementBits> some = std::span(elements).last(count);
      const Operations ops(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
      REQUIRE(cases::what_is_wrong_with_vectors(ops, some, offsets) == "nothing");
    };
    for (std::size_t count = 1; count <= 130; ++count) check_count(count, {count % 3, count % 5, count % 7});
    const std::size_t block = 16'384 / traits(op.dtype).size;
    for (const std::size_t count : {std::size_t{255 * 64 + 1}, block - 1, block, block + 1})
      check_count(count, {1, 3, 1});
  });
}

TEST_CASE("no elements, no access to memory") {
  for_each_kind([](Operation op) {
    for (const SimdLevel level : simd_levels()) {
      alignas(16) std::byte memory[16]{};
      Operands operands;
      for (const Slot slot : {Slot::lo, Slot::hi, Slot::scale, Slot::bias}) operands[slot] = {memory, 0};
      if (op.nan) operands[Slot::nan] = {memory, 0};
      clip(op, operands, memory, memory, 0, level);
      CHECK(clip_and_count(op, operands, memory, memory, 0, level) == ElementCounts{});
    }
  });
}

TEST_CASE("every element of a small dtype is clipped by many pairs of bounds") {
  for (const DTypeTraits& row : kKernelDTypes) {
    const Elements elements = cases::elements_of(row.dtype);
    const std::vector<Bounds> bounds = cases::many_bounds_of(row.dtype);
    for (std::size_t shift = 0; shift < bounds.size(); shift += 3) {
      Operations ops;
      for (std::size_t i = 0; i < elements.size(); ++i)
        ops.push_back(cases::operation(row.dtype, bounds[(i + shift) % bounds.size()]));
      REQUIRE(cases::what_is_wrong_with_vectors(ops, elements, {}) == "nothing");
    }
  }
}

TEST_CASE(
    "a NaN that becomes another NaN, and a zero that becomes the other zero, are changes but no moves") {
  for (const DTypeTraits& row : kKernelDTypes) {
    if (!is_floating(row.dtype)) continue;
    const ElementBits nan = cases::highest(row.dtype) + 1;
    const ElementBits minus_zero = reference::sign_bit(row.dtype);
    for (const std::size_t count : {1u, 100u}) {
      Operation op = cases::operation(row.dtype, {cases::one(row.dtype), minus_zero});
      CHECK(cases::expected({op}, Elements{0}).counts == ElementCounts{0, 0, 0, true});
      CHECK(cases::what_is_wrong_with_vectors(Operations(count, op), Elements(count, 0), {}) == "nothing");
      op.nan = nan + 1;
      CHECK(cases::what_is_wrong_with_vectors(Operations(count, op), Elements(count, nan), {}) == "nothing");
      CHECK(cases::what_is_wrong_with_vectors(Operations(count, op), Elements(count, nan + 1), {}) ==
            "nothing");
    }
  }
}

TEST_CASE("vectors of one number each do what the numbers of an operation do") {
  for_each_kind([](const Operation& kind) {
    std::mt19937_64 random(2);
    Elements elements = cases::elements_of(kind.dtype, 500);
    elements.resize(std::min<std::size_t>(elements.size(), 777));
    for (const Operation& op : operations_like(kind, 20, random))
      for (const SimdLevel level : simd_levels()) {
        const cases::Vectors vectors(Operations(elements.size(), op), 1);
        const cases::Memory source{op, elements, 0};
        cases::Memory by_numbers = source;
        cases::Memory by_vectors = source;
        const ElementCounts counts =
            clip_and_count(op, by_numbers.data(), by_numbers.data(), elements.size(), level);
        REQUIRE(clip_and_count(op, vectors.get(), by_vectors.data(), by_vectors.data(), elements.size(),
                               level) == counts);
        REQUIRE(by_vectors == by_numbers);
      }
  });
}

}  // namespace clipper
