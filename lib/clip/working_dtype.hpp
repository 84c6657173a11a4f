#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "clip/clip.hpp"
#include "clip/convert_loops.hpp"
#include "clip/operation.hpp"
#include "element/element.hpp"
#include "element/float8.hpp"

/// The dtypes in which conversions clip, and what their elements become.
namespace clipper {

/// with_type() for working dtypes.
template <class F>
decltype(auto) with_working_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::int32: return f.template operator()<std::int32_t>();
    case DType::int64: return f.template operator()<std::int64_t>();
    case DType::uint64: return f.template operator()<std::uint64_t>();
    case DType::float32: return f.template operator()<float>();
    default: return f.template operator()<double>();
  }
}

/// Whether elements of From can be converted to Working: those of each dtype to at most two working dtypes.
template <class From, class Working>
constexpr bool kLoads = HalfType<From> || std::is_same_v<From, float> ? std::is_same_v<Working, float>
                        : std::is_same_v<Working, double> || std::is_same_v<From, Working> ? true
                        : std::is_same_v<Working, std::int32_t>
                            ? std::is_integral_v<From> && sizeof(From) < sizeof(std::int32_t)
                            : std::is_same_v<Working, std::int64_t>&& std::is_same_v<From, std::uint32_t>;

template <class F>
decltype(auto) with_round(Round round, F&& f) {
  switch (round) {
    case Round::half_even: return f.template operator()<Round::half_even>();
    case Round::half_away: return f.template operator()<Round::half_away>();
    case Round::trunc: return f.template operator()<Round::trunc>();
    case Round::floor: return f.template operator()<Round::floor>();
    case Round::ceil: return f.template operator()<Round::ceil>();
  }
  __builtin_unreachable();
}

[[nodiscard]] inline std::uint64_t bits_of(Operation::Integer integer) noexcept {
  return integer.negative ? 0 - integer.magnitude : integer.magnitude;
}

/// The working element, which is not NaN, as it is stored, and whether that is finite.
template <class Working>
[[nodiscard]] std::pair<ElementBits, bool> stored_float8(DType to, Working x) noexcept {
  const std::uint8_t element = NarrowFloat8(float8_of(to))(float_to_odd(x));
  return {element, std::isfinite(widened(to, element))};
}

}  // namespace clipper
