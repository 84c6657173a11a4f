#include "element/element.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "element/small_floats.hpp"

namespace clipper {
namespace {

/// The number of the fewest digits that becomes the element. No 16-bit float needs more than 5 significant
/// digits, and no number of so few lies so near the middle of two elements that its double is the middle.
template <HalfType T>
double shortest(T x) {
  const auto value = static_cast<double>(widen(x));
  ElementText text;
  for (int digits = 1; std::isfinite(value) && digits <= 5; ++digits) {
    char* const end = fmt::format_to_n(text.data(), text.size(), fmt::runtime("{:.{}g}"), value, digits).out;
    double rounded = value;
    std::from_chars(text.data(), end, rounded);
    if (narrow<T>(rounded) == x) return rounded;
  }
  return value;
}

/// The bits of the dtype's sign; 0 if it has none.
ElementBits sign_of(const DTypeTraits& row) {
  return ElementBits{row.kind != NumberKind::unsigned_integer} << (8 * row.size - 1);
}

}  // namespace

Number number_of(DType dtype, ElementBits element) {
  return with_element(dtype, element, [](auto x) -> Number {
    if constexpr (HalfType<decltype(x)>)
      return widen(x);
    else
      return x;
  });
}

std::string element_text(DType dtype, ElementBits element) {
  ElementText room;
  return std::string(element_text(dtype, element, room));
}

std::string_view element_text(DType dtype, ElementBits element, ElementText& room) noexcept {
  const auto print = [&](auto x) -> std::string_view {
    return {room.data(), fmt::format_to_n(room.data(), room.size(), FMT_STRING("{}"), x).size};
  };
  return with_element(dtype, element, [&](auto x) {
    if constexpr (HalfType<decltype(x)>)
      return print(shortest(x));
    else
      return print(x);
  });
}

bool has_integer(DType dtype, const Number& number) {
  return is_integer(number) && number >= number_of(dtype, lowest_element(dtype)) &&
         number <= number_of(dtype, highest_element(dtype));
}

ElementBits integer_element(DType dtype, const Number& number) {
  const ElementBits all = ~ElementBits{0} >> (64 - 8 * traits(dtype).size);
  return static_cast<ElementBits>(to_integer(number, Rounding::toward_zero)) & all;
}

ElementBits nearest_element(DType dtype, const Number& number) {
  if (!has_kernels(dtype)) return Narrowing(dtype)(round_to_odd(number));
  return with_type(dtype, [&]<class T>() -> ElementBits {
    if constexpr (std::is_integral_v<T>)
      return 0;
    else
      return to_bits(round_to<T>(number));
  });
}

std::int64_t element_key(DType dtype, ElementBits element) {
  if (!has_kernels(dtype)) return key_of(float8_of(dtype), static_cast<std::uint8_t>(element));
  return with_type(dtype, [=]<class T>() -> std::int64_t { return key_of(from_bits<T>(element)); });
}

ElementBits element_with_key(DType dtype, std::int64_t key) {
  if (has_kernels(dtype))
    return with_type(dtype, [=]<class T>() { return to_bits(element_of<T>(static_cast<Key<T>>(key))); });
  ElementBits element = 0;
  while (element_key(dtype, element) != key) ++element;
  return element;
}

ElementBits lowest_element(DType dtype) {
  if (!has_zero(dtype)) return 0;  // and no sign
  const ElementBits sign = sign_of(traits(dtype));
  return is_floating(dtype) ? highest_element(dtype) | sign : sign;
}

ElementBits highest_element(DType dtype) {
  return highest_finite(dtype) + ElementBits{traits(dtype).has_infinity};
}

ElementBits lowest_finite(DType dtype) {
  if (!traits(dtype).has_infinity) return lowest_element(dtype);
  return lowest_element(dtype) - ElementBits{traits(dtype).has_infinity};
}

ElementBits highest_finite(DType dtype) {
  if (!has_kernels(dtype)) return float8_of(dtype).highest;
  const DTypeTraits& row = traits(dtype);
  const ElementBits magnitude = ~ElementBits{0} >> (64 - 8 * row.size) & ~sign_of(row);
  const ElementBits special = row.has_infinity ? ElementBits{1} << row.fraction_bits : 0;  // infinity and NaN
  return magnitude - special;
}

ElementBits canonical_nan(DType dtype) {
  if (!has_kernels(dtype)) return float8_of(dtype).nan;
  return highest_element(dtype) | ElementBits{1} << (traits(dtype).fraction_bits - 1);
}

}  // namespace clipper
