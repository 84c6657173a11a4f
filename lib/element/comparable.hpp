#pragma once

#include <type_traits>

#include "element/half.hpp"

/// Comparisons of elements of any dtype, also of halves, whose types have no operators.
namespace clipper {

template <class T>
[[gnu::always_inline]] inline bool is_nan(T x) noexcept {
  if constexpr (HalfType<T>)
    return x.is_nan();
  else
    return std::is_floating_point_v<T> && x != x;  // NOLINT(misc-redundant-expression): also for integers
}

/// The value of the element in a type with `<` and `<=`, which are false for NaN: float for halves.
template <class T>
[[gnu::always_inline]] inline auto comparable(T x) noexcept {
  if constexpr (HalfType<T>)
    return widen(x);
  else
    return x;
}

}  // namespace clipper
