#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "element/dtype.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"

/// Single elements of any dtype as numbers and as text.
namespace clipper {

/// Calls f(x) with an element of any dtype in its C++ type, which is float for a dtype without kernels.
template <class F>
decltype(auto) with_element(DType dtype, ElementBits element, F&& f) {
  if (!has_kernels(dtype)) return f(widened(dtype, element));
  return with_type(dtype, [&]<class T>() { return f(from_bits<T>(element)); });
}

/// Calls f(at), where at(elements, i) is an element in memory, in the same type.
template <class F>
decltype(auto) with_reader(DType dtype, F&& f) {
  if (!has_kernels(dtype))
    return f([dtype](const std::byte* elements, std::size_t i) {
      return widened(dtype, std::to_integer<ElementBits>(elements[i]));
    });
  return with_type(dtype, [&]<class T>() {
    return f(
        [](const std::byte* elements, std::size_t i) { return reinterpret_cast<const T*>(elements)[i]; });
  });
}

/// The exact value of an element.
[[nodiscard]] Number number_of(DType dtype, ElementBits element);

/// The element in the fewest decimal digits that convert back to it: "0.1", "-0", "inf", "nan", "255". Of a
/// float of one byte, the fewest that convert to the same float32: 448, not 450, is the highest
/// float8_e4m3fn.
[[nodiscard]] std::string element_text(DType dtype, ElementBits element);

/// Room for the text of any element.
using ElementText = std::array<char, 32>;

/// The same text, in `room`. Allocates nothing.
[[nodiscard]] std::string_view element_text(DType dtype, ElementBits element, ElementText& room) noexcept;

/// Whether an integer dtype has an element of this value.
[[nodiscard]] bool has_integer(DType dtype, const Number& number);

/// The element of an integer dtype for an integer, of which it takes the low bits.
[[nodiscard]] ElementBits integer_element(DType dtype, const Number& number);

/// The nearest element of a float dtype, ties to even, rounded once. In a dtype without infinity, a number
/// beyond the finite elements becomes NaN.
[[nodiscard]] ElementBits nearest_element(DType dtype, const Number& number);

/// A number in the order of the values: see small_floats.hpp. The next element has the next key.
[[nodiscard]] std::int64_t element_key(DType dtype, ElementBits element);
[[nodiscard]] ElementBits element_with_key(DType dtype, std::int64_t key);

/// The lowest and highest element: numeric_limits for integers; -inf and inf for floats, unless the dtype has
/// no infinity.
[[nodiscard]] ElementBits lowest_element(DType dtype);
[[nodiscard]] ElementBits highest_element(DType dtype);

/// The lowest and highest finite element: numeric_limits<T>::lowest() and ::max().
[[nodiscard]] ElementBits lowest_finite(DType dtype);
[[nodiscard]] ElementBits highest_finite(DType dtype);

/// The positive quiet NaN without payload of a float dtype.
[[nodiscard]] ElementBits canonical_nan(DType dtype);

}  // namespace clipper
