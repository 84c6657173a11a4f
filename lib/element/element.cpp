#include "element/element.hpp"

#include <fmt/format.h>

#include <cmath>

#include "element/half.hpp"

namespace clipper {
namespace {

/// No 16-bit float needs more than 5 significant digits.
template <HalfType T>
std::string half_text(T x) {
  auto value = static_cast<double>(widen(x));
  for (int digits = 1; std::isfinite(value) && digits <= 5; ++digits) {
    const Number rounded = *parse_number(fmt::format("{:.{}g}", value, digits));
    if (round_to<T>(rounded) != x) continue;
    value = round_to<double>(rounded);
    break;
  }
  return fmt::format("{}", value);
}

template <class T>
ElementBits infinity(bool negative) {
  if constexpr (HalfType<T>)
    return negative ? T::kInfinity | 0x8000U : T::kInfinity;
  else
    return to_bits(negative ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity());
}

}  // namespace

Number number_of(DType dtype, ElementBits element) {
  return with_type(dtype, [=]<class T>() -> Number {
    const T x = from_bits<T>(element);
    if constexpr (HalfType<T>)
      return widen(x);
    else
      return x;
  });
}

std::string element_text(DType dtype, ElementBits element) {
  return with_type(dtype, [=]<class T>() {
    const T x = from_bits<T>(element);
    if constexpr (HalfType<T>)
      return half_text(x);
    else
      return fmt::format("{}", x);
  });
}

ElementBits lowest_element(DType dtype) {
  return with_type(dtype, []<class T>() -> ElementBits {
    if constexpr (std::is_integral_v<T>)
      return to_bits(std::numeric_limits<T>::lowest());
    else
      return infinity<T>(true);
  });
}

ElementBits highest_element(DType dtype) {
  return with_type(dtype, []<class T>() -> ElementBits {
    if constexpr (std::is_integral_v<T>)
      return to_bits(std::numeric_limits<T>::max());
    else
      return infinity<T>(false);
  });
}

// As bits, the largest finite float is infinity - 1.

ElementBits lowest_finite(DType dtype) {
  return is_floating(dtype) ? lowest_element(dtype) - 1 : lowest_element(dtype);
}

ElementBits highest_finite(DType dtype) {
  return is_floating(dtype) ? highest_element(dtype) - 1 : highest_element(dtype);
}

}  // namespace clipper
