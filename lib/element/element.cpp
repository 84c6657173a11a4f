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

/// The bits of the dtype's sign; 0 if it has none.
ElementBits sign_of(const DTypeTraits& row) {
  return ElementBits{row.kind != NumberKind::unsigned_integer} << (8 * row.size - 1);
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
  const ElementBits sign = sign_of(traits(dtype));
  return is_floating(dtype) ? highest_element(dtype) | sign : sign;
}

ElementBits highest_element(DType dtype) {
  return highest_finite(dtype) + ElementBits{traits(dtype).has_infinity};
}

ElementBits lowest_finite(DType dtype) {
  return lowest_element(dtype) - ElementBits{traits(dtype).has_infinity};
}

ElementBits highest_finite(DType dtype) {
  const DTypeTraits& row = traits(dtype);
  const ElementBits magnitude = ~ElementBits{0} >> (64 - 8 * row.size) & ~sign_of(row);
  const ElementBits special = row.has_infinity ? ElementBits{1} << row.fraction_bits : 0;  // infinity and NaN
  return magnitude - special;
}

ElementBits canonical_nan(DType dtype) {
  return highest_element(dtype) | ElementBits{1} << (traits(dtype).fraction_bits - 1);
}

}  // namespace clipper
