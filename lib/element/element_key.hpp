#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "element/dtype.hpp"

/// Elements as signed integers of their own width, in the order of their values: -0 directly before +0, NaNs
/// beyond both infinities. Every key is the key of one element.
namespace clipper {

template <class T>
using Key = std::make_signed_t<UnsignedOfSize<sizeof(T)>>;

template <class T>
[[nodiscard]] constexpr Key<T> key_of(T x) noexcept {
  const auto bits = static_cast<Key<T>>(to_bits(x));
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
    return bits;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<Key<T>>(bits ^ std::numeric_limits<Key<T>>::lowest());
  else
    return static_cast<Key<T>>(bits ^ ((bits >> (8 * sizeof(T) - 1)) & std::numeric_limits<Key<T>>::max()));
}

template <class T>
[[nodiscard]] constexpr T element_of(Key<T> key) noexcept {
  // What key_of() does to the bits is its own inverse.
  return from_bits<T>(static_cast<ElementBits>(key_of(from_bits<T>(static_cast<ElementBits>(key)))));
}

/// Between these two are the keys of all finite elements, and no others.
template <class T>
[[nodiscard]] constexpr Key<T> highest_finite_key() noexcept {
  if constexpr (HalfType<T>)
    return static_cast<Key<T>>(T::kInfinity - 1);
  else
    return key_of(std::numeric_limits<T>::max());
}

template <class T>
[[nodiscard]] constexpr Key<T> lowest_finite_key() noexcept {
  return static_cast<Key<T>>(~highest_finite_key<T>());
}

}  // namespace clipper
