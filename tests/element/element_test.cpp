#include "element/element.hpp"

#include "clip/clip_cases.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using enum DType;

/// The element that the text converts to.
ElementBits element_of(DType dtype, std::string_view text) {
  const Number number = parse_number(text).value();
  if (is_floating(dtype)) return nearest_element(dtype, number);
  return static_cast<ElementBits>(to_integer(number, Rounding::toward_zero)) & reference::all_ones(dtype);
}

/// Whether one digit less than `text` has would still convert back to the element.
bool has_shorter_text(DType dtype, ElementBits element, const std::string& text) {
  const std::size_t digits = parse_number(text).value().digits.size();
  if (digits < 2) return false;
  const double value = reference::value(dtype, element);
  return element_of(dtype, fmt::format("{:.{}e}", value, digits - 2)) == element;
}

}  // namespace

TEST_CASE("the text of every 16-bit float converts back to it, and is short") {
  const DType dtype = GENERATE(from_range(cases::halves()));
  std::string wrong;
  for (ElementBits bits = 0; bits <= 0xffff; ++bits) {
    const std::string text = element_text(dtype, bits);
    const bool same = reference::is_nan(dtype, bits) ? parse_number(text).value().kind == Number::Kind::nan
                                                     : element_of(dtype, text) == bits;
    const bool is_sample = bits % 8 == 0;  // includes every power of two that is not subnormal
    if (!same || (is_sample && has_shorter_text(dtype, bits, text)))
      wrong += fmt::format(" {:#06x} {}", bits, text);
  }
  CHECK(wrong == "");
}

TEST_CASE("the text of an element of any other dtype converts back to it") {
  for (const DTypeTraits& row : kDTypes) {
    if (row.size == 2 && row.kind == NumberKind::floating) continue;
    std::string wrong;
    for (const ElementBits bits : cases::elements_of(row.dtype, 2000)) {
      const std::string text = element_text(row.dtype, bits);
      const bool same = reference::is_nan(row.dtype, bits)
                            ? parse_number(text).value().kind == Number::Kind::nan
                            : element_of(row.dtype, text) == bits;
      if (!same) wrong += fmt::format(" {:#x} {}", bits, text);
    }
    INFO(row.name);
    CHECK(wrong == "");
  }
}

TEST_CASE("an element's text is short, with an exponent only where that helps") {
  struct Row {
    DType dtype;
    ElementBits element;
    std::string_view text;
  };
  for (const Row& row : {
           Row{int8, 0x80, "-128"},
           Row{uint8, 0xff, "255"},
           Row{int64, 1ull << 63, "-9223372036854775808"},
           Row{int64, (1ull << 53) + 1, "9007199254740993"},
           Row{uint64, ~0ull, "18446744073709551615"},
           Row{float16, 0x2e66, "0.1"},
           Row{float16, 0x5640, "100"},
           Row{float16, 0x8000, "-0"},
           Row{float16, 0x7c00, "inf"},
           Row{float16, 0x7bff, "65500"},
           Row{float16, 0x0001, "6e-08"},
           Row{bfloat16, 0x3dcd, "0.1"},
           Row{bfloat16, 0x42c8, "100"},
           Row{bfloat16, 0x714a, "1e+30"},
           Row{bfloat16, 0xff80, "-inf"},
           Row{float32, 0x3dcccccd, "0.1"},
           Row{float32, 0x7f7fffff, "3.4028235e+38"},
           Row{float32, 1, "1e-45"},
           Row{float32, 0x80000000, "-0"},
           Row{float32, 0x7fc00000, "nan"},
           Row{float64, to_bits(0.1), "0.1"},
           Row{float64, to_bits(6.0), "6"},
           Row{float64, 1, "5e-324"},
           Row{float64, to_bits(-std::numeric_limits<double>::infinity()), "-inf"},
       }) {
    INFO(traits(row.dtype).name << " " << reference::text(row.dtype, row.element));
    CHECK(element_text(row.dtype, row.element) == row.text);
  }
}

TEST_CASE("number_of() is exact") {
  CHECK(number_of(int64, 1ull << 63) == parse_number("-9223372036854775808"));
  CHECK(number_of(uint64, ~0ull) == parse_number("18446744073709551615"));
  CHECK(number_of(uint64, (1ull << 53) + 1) == parse_number("9007199254740993"));
  CHECK(number_of(int8, 0xff) == parse_number("-1"));
  CHECK(number_of(uint8, 0xff) == parse_number("255"));
  CHECK(number_of(float16, 0x3555) == parse_number("0x1.554p-2"));
  CHECK(number_of(float16, 0x8001) == parse_number("-0x1p-24"));
  CHECK(number_of(bfloat16, 0x0001) == parse_number("0x1p-133"));
  CHECK(number_of(float32, 0x7f7fffff) == parse_number("0x1.fffffep127"));
  CHECK(number_of(float64, 1) == parse_number("0x1p-1074"));
  CHECK(number_of(bfloat16, 0xff80) == parse_number("-inf"));
  CHECK(number_of(float16, 0x8000).negative);
  CHECK(number_of(float16, 0x7e01).kind == Number::Kind::nan);
}

TEST_CASE("lowest_element() to highest_finite() are the extremes of each dtype") {
  for (const DTypeTraits& row : kDTypes) {
    INFO(row.name);
    CHECK(lowest_element(row.dtype) == cases::lowest(row.dtype));
    CHECK(highest_element(row.dtype) == cases::highest(row.dtype));
    if (is_floating(row.dtype)) continue;
    CHECK(lowest_finite(row.dtype) == cases::lowest(row.dtype));
    CHECK(highest_finite(row.dtype) == cases::highest(row.dtype));
  }
  CHECK(lowest_finite(float16) == 0xfbff);
  CHECK(highest_finite(float16) == 0x7bff);
  CHECK(lowest_finite(bfloat16) == 0xff7f);
  CHECK(highest_finite(bfloat16) == 0x7f7f);
  CHECK(lowest_finite(float32) == to_bits(std::numeric_limits<float>::lowest()));
  CHECK(highest_finite(float32) == to_bits(std::numeric_limits<float>::max()));
  CHECK(lowest_finite(float64) == to_bits(std::numeric_limits<double>::lowest()));
  CHECK(highest_finite(float64) == to_bits(std::numeric_limits<double>::max()));
}

}  // namespace clipper
