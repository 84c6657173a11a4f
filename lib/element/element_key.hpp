#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "element/dtype.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"

/// Keys: elements as signed integers of the same width, in the order of the values. -0 comes directly before
/// +0, NaNs with sign bit before -inf, other NaNs after inf. Every key is the key of one element.
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
  // key_of() is its own inverse on the bits.
  return from_bits<T>(static_cast<ElementBits>(key_of(from_bits<T>(static_cast<ElementBits>(key)))));
}

/// The keys from lowest_finite_key() to highest_finite_key() are those of the finite elements.
template <class T>
[[nodiscard]] constexpr Key<T> highest_finite_key() noexcept {
  if constexpr (HalfType<T>)
    return static_cast<Key<T>>(T::kHighestFinite);
  else
    return key_of(std::numeric_limits<T>::max());
}

template <class T>
[[nodiscard]] constexpr Key<T> lowest_finite_key() noexcept {
  return static_cast<Key<T>>(~highest_finite_key<T>());
}

/// Float8 elements have keys of 8 bits by the same rule, but if there is no -0 then no key either.
[[nodiscard]] constexpr std::int8_t key_of(const Float8& format, std::uint8_t element) noexcept {
  if (!format.has_sign()) return static_cast<std::int8_t>(element ^ 0x80);
  if (element < 0x80) return static_cast<std::int8_t>(element);
  if (format.has_minus_zero()) return static_cast<std::int8_t>(element ^ 0x7f);
  return static_cast<std::int8_t>(0x80 - element - (element == 0x80 ? 0x80 : 0));
}

// Comparisons of elements of any dtype, also of halves, whose types have no operators.

template <class T>
requires std::is_arithmetic_v<T> || HalfType<T>
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
