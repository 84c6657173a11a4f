#include <random>

#include "clip/clip_cases.hpp"
#include "clip/clip_check.hpp"
#include "clip/kernel.hpp"
#include "clip/reference_clip.hpp"
#include "clip/vectors_check.hpp"

namespace clipper {
namespace {

using cases::Elements;
using cases::Operations;

/// Calls f for an operation without bounds of each float dtype and rule, with and without nan.
template <class F>
void for_each_rule(F f) {
  for (const DTypeTraits& row : kKernelDTypes)
    for (const ZeroTie tie : {ZeroTie::element, ZeroTie::upper, ZeroTie::ordered})
      for (const bool poisons : {false, true}) {
        if (!is_floating(row.dtype) || (tie == ZeroTie::element && !poisons)) continue;
        Operation op = cases::operation(row.dtype, {cases::lowest(row.dtype), cases::highest(row.dtype)});
        op.zero_tie = tie;
        op.poisons = poisons;
        f(op);
        op.nan = reference::infinity(row.dtype) | 1;
        f(op);
      }
}

/// The bounds that matter: zeros, both sides of them, none, and NaNs if the operation takes them.
Elements bounds_of(const Operation& op) {
  const DType dtype = op.dtype;
  const ElementBits sign = reference::sign_bit(dtype);
  Elements result{
      0, sign, 1, cases::one(dtype), sign | cases::one(dtype), cases::lowest(dtype), cases::highest(dtype)};
  if (op.poisons) result.insert(result.end(), {cases::lowest(dtype) | 1, cases::highest(dtype) | 0x2a});
  return result;
}

/// Operations whose bounds are all pairs of bounds_of(); with nan, it is a zero, a NaN or one.
Operations operations_of(const Operation& op) {
  Operations result;
  const Elements bounds = bounds_of(op);
  const Elements nans{0, reference::sign_bit(op.dtype), cases::one(op.dtype), cases::highest(op.dtype) | 2};
  for (const ElementBits lo : bounds)
    for (const ElementBits hi : bounds) {
      Operation each = op;
      each.lo = lo;
      each.hi = hi;
      if (op.nan) each.nan = nans[result.size() % nans.size()];
      result.push_back(each);
    }
  return result;
}

/// Zeros, NaNs and numbers around zero, as many as are asked for.
Elements elements_like(DType dtype, std::size_t count, std::mt19937_64& random) {
  const ElementBits sign = reference::sign_bit(dtype);
  const ElementBits infinity = reference::infinity(dtype);
  const Elements some{0,
                      sign,
                      1,
                      sign | 1,
                      cases::one(dtype),
                      sign | cases::one(dtype),
                      infinity,
                      sign | infinity,
                      infinity | 1,
                      sign | infinity | 0x15,
                      infinity | infinity >> 1};
  Elements result(count);
  for (ElementBits& element : result) element = some[random() % some.size()];
  return result;
}

}  // namespace

TEST_CASE("zeros and NaN as bounds that are numbers: every half, both orders, every level") {
  for_each_rule([](const Operation& op) {
    const Elements elements = cases::elements_of(op.dtype, 500);
    const ElementBits one = cases::one(op.dtype);
    for (Operation each : operations_of(op)) {
      const bool is_usual = each.lo == (reference::sign_bit(op.dtype) | one) || each.hi == one;
      const bool has_zeros = (each.lo | each.hi) << (64 - reference::bit_count(op.dtype) + 1) == 0;
      if (!is_usual && !has_zeros) continue;  // the others are tried with fewer elements
      const Elements expected = reference::clip(each, elements);
      cases::check_in_place({each, elements, expected}, 0);
    }
  });
}

TEST_CASE("zeros and NaN as bounds that are numbers: any number of elements, any alignment") {
  std::mt19937_64 random{7};
  for_each_rule([&](const Operation& op) {
    const Operations all = operations_of(op);
    for (std::size_t count = 0; count < 140; ++count) {
      const Operation& each = all[random() % all.size()];
      const Elements elements = elements_like(op.dtype, count, random);
      const Elements expected = reference::clip(each, elements);
      cases::check_in_place({each, elements, expected}, random() % 40);
      cases::check_apart({each, elements, expected}, random() % 40, random() % 40);
    }
  });
}

TEST_CASE("zeros and NaN in arrays of bounds: each element has its own, at any alignment") {
  std::mt19937_64 random{8};
  for_each_rule([&](const Operation& op) {
    const Operations all = operations_of(op);
    for (const std::size_t count : {0u, 1u, 2u, 15u, 31u, 64u, 65u, 100u, 2047u, 8200u}) {
      const Elements elements = elements_like(op.dtype, count, random);
      Operations ops(count, op);
      for (Operation& each : ops) each = all[random() % all.size()];
      CHECK(cases::what_is_wrong_with_vectors(ops, elements, {random() % 40, random() % 40, random() % 40}) ==
            "nothing");
    }
  });
}

}  // namespace clipper
