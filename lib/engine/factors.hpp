#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "clip/clip.hpp"
#include "element/byte_order.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"
#include "element/tensor_layout.hpp"

/// Scale and bias as the kernels take them.
namespace clipper {

/// Returns `f.template operator()<T>()`, where T is the type of scale and bias. Not for Arithmetic::none.
template <class F>
decltype(auto) with_factor_type(Arithmetic arithmetic, F&& f) {
  switch (arithmetic) {
    case Arithmetic::none: break;
    case Arithmetic::float32: return f.template operator()<float>();
    case Arithmetic::float64: return f.template operator()<double>();
    case Arithmetic::integer: return f.template operator()<Operation::Integer>();
  }
  __builtin_unreachable();
}

/// An element of an array, in this machine's byte order, as a scale or a bias.
template <class To, class From>
To factor_of(From x) noexcept {
  if constexpr (std::is_same_v<To, Operation::Integer>) {
    const bool negative = std::is_signed_v<From> && x < From{};
    const auto bits = static_cast<std::uint64_t>(x);
    return {negative, negative ? 0 - bits : bits};
  } else if constexpr (HalfType<From>) {
    return static_cast<To>(widen(x));
  } else {
    return static_cast<To>(x);
  }
}

/// Converts `count` elements of an array. Operation::Integer is only for arrays of integers.
template <class To>
void convert_factors(const TensorLayout& array, const std::byte* from, std::size_t count, To* to) {
  if (is_float8(array.dtype)) {
    if constexpr (!std::is_same_v<To, Operation::Integer>)
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<To>(widened(array.dtype, std::to_integer<ElementBits>(from[i])));
    return;
  }
  with_type(array.dtype, [&]<class From>() {
    if constexpr (std::is_same_v<To, Operation::Integer> && !std::is_integral_v<From>) {
      __builtin_unreachable();
    } else {
      const From* const elements = reinterpret_cast<const From*>(from);
      if (array.order == kNativeOrder)
        for (std::size_t i = 0; i < count; ++i) to[i] = factor_of<To>(elements[i]);
      else
        for (std::size_t i = 0; i < count; ++i)
          to[i] = factor_of<To>(byteswap_if<Byteswap::yes>(elements[i]));
    }
  });
}

}  // namespace clipper
