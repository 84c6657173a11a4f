#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "clip/clip.hpp"
#include "clip/reference_clip.hpp"
#include "element/dtype.hpp"

/// Cases for the kernels: elements, bounds, scales and biases near edges.
namespace clipper::cases {

using Elements = std::vector<ElementBits>;
using Bounds = std::pair<ElementBits, ElementBits>;

/// The float dtypes of 16 bits.
inline std::vector<DType> halves() {
  std::vector<DType> dtypes;
  for (const DTypeTraits& row : kDTypes)
    if (is_floating(row.dtype) && row.size == 2) dtypes.push_back(row.dtype);
  return dtypes;
}

/// An operation without scale and bias, in native byte order.
inline Operation operation(DType dtype, Bounds bounds) {
  Operation result;
  result.dtype = dtype;
  result.lo = bounds.first;
  result.hi = bounds.second;
  return result;
}

/// The lower bound that clips nothing: -inf or the lowest number.
inline ElementBits lowest(DType dtype) {
  const ElementBits sign = reference::sign_bit(dtype);
  if (is_floating(dtype)) return sign == 0 ? 0 : sign | reference::infinity(dtype);
  return traits(dtype).kind == NumberKind::signed_integer ? sign : 0;
}

/// The upper bound that clips nothing: inf or the highest number.
inline ElementBits highest(DType dtype) {
  if (is_floating(dtype)) return reference::infinity(dtype);
  return ~lowest(dtype) & reference::all_ones(dtype);
}

/// The element 1.
inline ElementBits one(DType dtype) {
  if (!is_floating(dtype)) return 1;
  const unsigned width = reference::fraction_bits(dtype);
  if (!has_kernels(dtype)) return static_cast<ElementBits>(float8_of(dtype).bias) << width;
  return reference::infinity(dtype) >> (width + 1) << width;
}

/// Bounds of both signs: zeros, infinities, subnormals, the largest; for integers around 0, 2^53, the ends
/// and the last doubles before them.
inline Elements bounds_of(DType dtype) {
  if (!is_floating(dtype)) {
    const ElementBits ones = reference::all_ones(dtype);
    Elements result{
        0, 1, 100, ones - 99, ones, lowest(dtype), lowest(dtype) + 1, highest(dtype) - 1, highest(dtype)};
    if (traits(dtype).size == 8)
      result.insert(result.end(),
                    {(1ull << 53) + 1, ones - (1ull << 53), highest(dtype) - 1023, highest(dtype) - 2047});
    return result;
  }
  const ElementBits smallest_normal = ElementBits{1} << reference::fraction_bits(dtype);
  const ElementBits infinity = reference::infinity(dtype);
  Elements result;
  for (const ElementBits magnitude : {ElementBits{0}, ElementBits{1}, smallest_normal - 1, smallest_normal,
                                      one(dtype) + 1, infinity - 1, infinity})
    result.insert(result.end(), {magnitude, magnitude | reference::sign_bit(dtype)});
  return result;
}

/// The largest size in bytes of a dtype whose patterns are all tested. Sanitizers need fewer patterns.
#ifdef CLIPPER_INSTRUMENTED
inline constexpr std::size_t kSmall = 1;
#else
inline constexpr std::size_t kSmall = 2;
#endif

/// All patterns of a small dtype. For a large dtype the bounds and their neighbours (NaNs beyond infinity),
/// NaNs of each kind, and random patterns.
inline Elements elements_of(DType dtype, std::size_t random_count = 5'000) {
  Elements result;
  const ElementBits ones = reference::all_ones(dtype);
  if (traits(dtype).size <= kSmall) {
    for (ElementBits bits = 0; bits <= ones; ++bits) result.push_back(bits);
    return result;
  }
  for (const ElementBits bound : bounds_of(dtype))
    for (const ElementBits bits : {bound - 1, bound, bound + 1}) result.push_back(bits & ones);
  if (is_floating(dtype)) {
    const ElementBits quiet = ElementBits{1} << (reference::fraction_bits(dtype) - 1);
    for (const ElementBits payload : {quiet, quiet | 0x2a, ElementBits{0x2a}, quiet - 1})
      for (const ElementBits infinity : {lowest(dtype), highest(dtype)}) result.push_back(infinity | payload);
  }
  std::mt19937_64 random{static_cast<std::uint64_t>(dtype)};
  for (std::size_t i = 0; i < random_count; ++i) {
    const ElementBits bits = i % 2 == 0 ? random() : random() >> (random() % 64);
    result.push_back((i % 4 == 1 ? ~bits : bits) & ones);
  }
  return result;
}

/// Each bound as lo, as hi and as both; and pairs of equal and different signs in both orders, also lo > hi.
inline std::vector<Bounds> many_bounds_of(DType dtype) {
  const Elements bounds = bounds_of(dtype);
  std::vector<Bounds> result;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    result.insert(result.end(),
                  {{bounds[i], highest(dtype)}, {lowest(dtype), bounds[i]}, {bounds[i], bounds[i]}});
    for (std::size_t j = i < 2 ? 0 : i - 2; j < i; ++j)
      result.insert(result.end(), {{bounds[i], bounds[j]}, {bounds[j], bounds[i]}});
  }
  return result;
}

/// No bounds, both bounds, one bound, zeros of either sign, equal bounds, and lo > hi.
inline std::vector<Bounds> few_bounds_of(DType dtype) {
  const ElementBits minus_one =
      is_floating(dtype) ? one(dtype) | reference::sign_bit(dtype) : lowest(dtype) + 1;
  return {{lowest(dtype), highest(dtype)}, {0, 100},
          {minus_one, one(dtype) + 1},     {lowest(dtype), highest(dtype) - 1},
          {one(dtype), one(dtype)},        {one(dtype) + 1, minus_one}};
}

/// The arithmetic that a scale or bias with a fraction needs.
inline Arithmetic arithmetic_of(DType dtype) {
  return is_floating(dtype) && dtype != DType::float64 ? Arithmetic::float32 : Arithmetic::float64;
}

inline std::vector<Arithmetic> arithmetics_of(DType dtype) {
  std::vector<Arithmetic> result{Arithmetic::none, arithmetic_of(dtype)};
  if (!is_floating(dtype) && traits(dtype).size == 8) result.push_back(Arithmetic::integer);
  return result;
}

struct Factors {
  double scale;
  double bias;
  bool replace_nan;
};

/// Scales and biases that round, overflow, underflow and turn infinities into NaN, for the arithmetic.
inline std::vector<Factors> factors_of(Arithmetic arithmetic) {
  const double largest = arithmetic == Arithmetic::float32 ? double{std::numeric_limits<float>::max()}
                                                           : std::numeric_limits<double>::max();
  std::vector<Factors> result{{1, 0, false},
                              {1, -0.0, true},
                              {-1, 0.5, false},
                              {0, -0.0, false},
                              {0, 1, true},
                              {0.3, -0.9, false},
                              {-3.7, 1e4, false},
                              {1e-6, 0, true},
                              {1.0009765625, -1, false},
                              {largest, -largest, false}};
  if (arithmetic == Arithmetic::float32)
    for (Factors& factors : result) {
      factors.scale = static_cast<float>(factors.scale);
      factors.bias = static_cast<float>(factors.bias);
    }
  return result;
}

/// The extremes of int64 and uint64, and numbers between them.
inline std::vector<DoubleDouble> integers() {
  std::vector<DoubleDouble> result;
  for (const std::uint64_t magnitude :
       {0ull, 1ull, 3ull, 1ull << 32, (1ull << 53) + 1, ~0ull >> 1, 1ull << 63})
    for (const bool negative : {false, true})
      result.push_back(DoubleDouble::of(SignedInteger{negative, magnitude}.value()));
  result.push_back(DoubleDouble::of(~0ull));
  return result;
}

}  // namespace clipper::cases
