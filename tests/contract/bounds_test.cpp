#include "contract/bounds.hpp"

#include "clip/reference_clip.hpp"
#include "contract/header.hpp"
#include "element/element.hpp"
#include "support/refusal.hpp"

namespace clipper {
namespace {

using enum DType;

constexpr ElementBits kTwo53 = 1ull << 53;
constexpr ElementBits kTwo63 = 1ull << 63;

Parameter given(const std::string& text) {
  return {parse_number(text).value(), text};
}

/// A number as read from a file.
Parameter element(DType dtype, ElementBits bits) {
  return {number_of(dtype, bits), "@file.npy", dtype};
}

/// "min 1.5 becomes 1;" for each bound that cut_bounds() reports.
std::string cut(std::string_view name, DType dtype, const std::string& min, const std::string& max) {
  std::string text;
  for (const CutBound& bound : cut_bounds(profile(name), dtype, given(min), given(max)))
    text +=
        std::string(bound.field) + " " + bound.text + " becomes " + element_text(dtype, bound.element) + ";";
  return text;
}

/// least_from() and greatest_to() of a number, as text.
std::string around(DType dtype, const std::string& text) {
  const auto shown = [&](const std::optional<ElementBits>& bits) {
    return bits ? element_text(dtype, *bits) : "none";
  };
  const Number number = parse_number(text).value();
  return shown(least_from(dtype, number)) + " " + shown(greatest_to(dtype, number));
}

/// A bound as typed, and the element that it must become. Rows that are goldens are in data/goldens.
struct Row {
  DType dtype;
  std::string text;
  ElementBits element;
};

template <class Rows>
void check(std::string_view name, decltype(convert_min)* convert, const Rows& rows) {
  for (const Row& row : rows) {
    INFO(name << ": " << row.text << " as " << traits(row.dtype).name);
    const ElementBits element = convert(profile(name), row.dtype, given(row.text));
    CHECK(reference::text(row.dtype, element) == reference::text(row.dtype, row.element));
  }
}

void check_both(std::string_view name, std::initializer_list<Row> rows) {
  check(name, convert_min, rows);
  check(name, convert_max, rows);
}

void check_min(std::string_view name, std::initializer_list<Row> rows) {
  check(name, convert_min, rows);
}

void check_max(std::string_view name, std::initializer_list<Row> rows) {
  check(name, convert_max, rows);
}

std::string refused_min(std::string_view name, DType dtype, const std::string& text) {
  return refusal(ErrorKind::usage, [&] { return convert_min(profile(name), dtype, given(text)); });
}

std::string refused_max(std::string_view name, DType dtype, const std::string& text) {
  return refusal(ErrorKind::usage, [&] { return convert_max(profile(name), dtype, given(text)); });
}

/// Converts both bounds. An empty text is a bound that is not given; the default policy is the profile's.
Bounds both(std::string_view name, DType dtype, const std::string& min, const std::string& max,
            std::optional<MinAboveMax> policy = std::nullopt) {
  const auto bound = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(given(text));
  };
  return convert_bounds(profile(name), dtype, bound(min), bound(max),
                        policy.value_or(profile(name).min_above_max));
}

void check_bounds(DType dtype, Bounds bounds, ElementBits lo, ElementBits hi) {
  CHECK(reference::text(dtype, bounds.lo) == reference::text(dtype, lo));
  CHECK(reference::text(dtype, bounds.hi) == reference::text(dtype, hi));
}

std::string refused(std::string_view name, DType dtype, const std::string& min, const std::string& max,
                    std::optional<MinAboveMax> policy = std::nullopt) {
  return refusal(ErrorKind::usage, [&] { return both(name, dtype, min, max, policy); });
}

}  // namespace

TEST_CASE("clipper: an integer bound is converted exactly") {
  check_both("clipper", {{int64, "9007199254740993", kTwo53 + 1},
                         {int64, "-9007199254740993", ~(kTwo53 + 1) + 1},
                         {uint64, "9223372036854775808", kTwo63},
                         {uint64, "18446744073709551614", ~0ull - 1},
                         {int8, "-1", 0xff},
                         {int32, "1e3", 1000},
                         {uint8, "0x1p4", 16}});
}

TEST_CASE("clipper: a fractional bound of integers is truncated toward zero") {
  check_both("clipper", {{int8, "1.9", 1},
                         {int8, "-1.9", 0xff},
                         {int8, "0.9999999999999999999999", 0},
                         {uint8, "255.9", 255},
                         {int64, "9223372036854775807.9", kTwo63 - 1}});
}

TEST_CASE("numpy: an integer beyond the range that bounds nothing is no bound") {
  check_min("numpy", {{uint8, "-5", 0}, {int64, "-18446744073709551616", kTwo63}});
  check_max("numpy", {{uint8, "4550", 0xff},
                      {int64, "18446744073709551616", kTwo63 - 1},
                      {uint64, "1000000000000000000000000000000000000000", ~0ull},
                      {uint8, "0x1000", 0xff}});
  for (const std::string text : {"300", "256", "1e3", "300.0"})
    CHECK(refused_min("numpy", uint8, text).find("requires a value of dtype uint8") != std::string::npos);
  for (const std::string text : {"-5", "-1", "300.0", "3e2", "0x1.8p9", "inf", "254.5"})
    CHECK(refused_max("numpy", uint8, text).find("requires a value of dtype uint8") != std::string::npos);
  CHECK_FALSE(Parameter(300).is_float);
  CHECK(Parameter(300.0).is_float);
  CHECK(refusal(ErrorKind::usage, [] {
          return convert_max(profile("numpy"), uint8, 300.0);
        }).find("max 300") != std::string::npos);
}

TEST_CASE("a min below or a max above the range of an integer dtype saturates") {
  check_min("clipper", {{int64, "-1e40", kTwo63}});
  check_max("clipper", {{int64, "1e40", kTwo63 - 1}});
}

TEST_CASE("a min above or a max below the range of an integer dtype is refused") {
  const std::string above = " exceeds the int8 maximum (127)";
  CHECK(refused_min("clipper", int8, "300") == "min 300" + above);
  CHECK(refused_min("clipper", int8, "128") == "min 128" + above);
  CHECK(refused_min("directml-5.0", int8, "inf") == "min inf" + above);
  CHECK(refused_max("clipper", uint8, "-1") == "max -1 is below the uint8 minimum (0)");
  CHECK(refused_max("clipper", int64, "-9223372036854775809") ==
        "max -9223372036854775809 is below the int64 minimum (-9223372036854775808)");
  CHECK(refused_min("clipper", uint64, "18446744073709551616") ==
        "min 18446744073709551616 exceeds the uint64 maximum (18446744073709551615)");
  check_min("clipper", {{int8, "127.9", 0x7f}});  // truncated first
}

TEST_CASE("a float min that rounds to -inf, or a max that rounds to inf, clips nothing") {
  check_max("clipper", {{float32, "1e99", 0x7f800000}});
  check_max("clipper", {{float16, "65519.999", 0x7bff}});
}

TEST_CASE(
    "a float min that rounds to inf, or a max that rounds to -inf, is refused unless infinity was written") {
  CHECK(refused_min("clipper", float16, "65520") ==
        "min 65520 exceeds the float16 maximum (65504); for infinity, write inf");
  CHECK(refused_max("clipper", float16, "-65520") ==
        "max -65520 is below the float16 minimum (-65504); for infinity, write -inf");
  CHECK(refused_min("clipper", float64, "1e400") ==
        "min 1e400 exceeds the float64 maximum (1.7976931348623157e+308); for infinity, write inf");
  CHECK(refused_max("clipper", bfloat16, "-1e39") ==
        "max -1e39 is below the bfloat16 minimum (-3.3895313892515355e+38); for infinity, write -inf");
  CHECK(refused_min("onnx-6", float64, "1e39") ==
        "min 1e39 exceeds the float32 maximum (3.4028234663852886e+38); for infinity, write inf");
  CHECK(
      refused_min("directml-5.0", float32, "1e39").starts_with("min 1e39 exceeds the float32 maximum (3.40"));
  check_max("clipper", {{bfloat16, "-infinity", 0xff80}});
}

TEST_CASE("DirectML: bounds pass through float32") {
  check_both("directml-5.0", {{int32, "16777217", 16777216},
                              {int64, "9007199254740993", kTwo53},
                              {int32, "2147483647", 0x7fffffff},  // 2^31 as a float32: saturated
                              {uint64, "18446744073709551615", ~0ull},
                              {int32, "2.99999999", 3},  // rounded, then truncated
                              {int8, "-1.9", 0xff},
                              {float16, "1.000488281250000000001", 0x3c00}});  // rounded twice
}

TEST_CASE("OpenVINO: bounds pass through double, and round inward for integers") {
  check_both("openvino", {{int64, "9007199254740993", kTwo53},
                          {float16, "1.000488281250000000001", 0x3c00},
                          {float32, "0.1", to_bits(0.1F)}});
  check_min("openvino", {{int8, "0.2", 1}, {int8, "-0.2", 0}, {uint8, "-300.5", 0}});
  check_max("openvino", {{int8, "0.8", 0}, {int8, "-0.8", 0xff}, {uint8, "300.5", 255}});
  check_min("openvino", {{int8, "0.00000000000000000001", 1}});
}

TEST_CASE("ONNX 11 and later: an integer bound must be a value of the dtype") {
  check_both("onnx-12", {{int8, "-1.28e2", 0x80}});
  for (const std::string text : {"0.5", "128", "-129", "inf", "1e400"}) {
    INFO(text);
    CHECK(refused_min("onnx-12", int8, text) ==
          "min " + text + ": ONNX Clip-12 requires a value of dtype int8");
    CHECK(refused_max("onnx-13", int8, text) ==
          "max " + text + ": ONNX Clip-13 requires a value of dtype int8");
  }
}

TEST_CASE("PyTorch: floats pass through double, and must be within the dtype's range; integers are exact") {
  check_both("pytorch-2", {{float16, "1.000488281250000000001", 0x3c00},
                           {float32, "1.0000000596046447753906251", to_bits(1.0F)},
                           {int64, "9007199254740993", kTwo53 + 1},
                           {float16, "-65504", 0xfbff}});
  CHECK(refused_min("pytorch-2", int8, "0.5") == "min 0.5: PyTorch 2 clamp requires a value of dtype int8");
  CHECK(refused_min("pytorch-2", int8, "-129") == "min -129: PyTorch 2 clamp requires a value of dtype int8");
  CHECK(refused_max("pytorch-2", float16, "65504.5") == "max 65504.5 exceeds the float16 maximum (65504)");
  CHECK(refused_min("pytorch-2", float32, "-3.4028235e38") ==
        "min -3.4028235e38 is below the float32 minimum (-3.4028234663852886e+38)");
}

TEST_CASE("WebNN: bounds of integers are rounded to the nearest, ties to even, and saturate") {
  check_both("webnn", {{int8, "0.5", 0}, {int8, "1.5", 2}, {int8, "2.5", 2}, {int8, "-2.5", 0xfe}});
  check_both(
      "webnn",
      {{int8, "0.50000000000000000001", 1}, {int8, "0.05", 0}, {int8, "-1.51", 0xfe}, {uint8, "254.5", 254}});
}

TEST_CASE(
    "NaN as a bound is an error, except that ONNX 11 and later ignore it for floats, and others return it") {
  for (const Profile& row : profiles()) {
    INFO(row.name);
    for (const DType dtype : {float32, int32}) {
      if (!row.dtypes.contains(dtype)) continue;
      if (row.nan_bound == Profile::NanBound::ignored && dtype == float32) {
        check_min(row.name, {{dtype, "nan", lowest_element(dtype)}});
        check_max(row.name, {{dtype, "nan", highest_element(dtype)}});
      } else if (row.nan_bound == Profile::NanBound::poisons && dtype == float32) {
        check_both(row.name, {{dtype, "nan", 0x7fc00000}, {dtype, "-NaN", 0x7fc00000}});
      } else {
        CHECK(refused_min(row.name, dtype, "nan") == "min nan: NaN cannot be a bound");
        CHECK(refused_max(row.name, dtype, "-NaN") == "max -NaN: NaN cannot be a bound");
      }
    }
  }
}

TEST_CASE("a bound that is not given is the default of the system") {
  check_bounds(float32, both("clipper", float32, "", ""), 0xff800000, 0x7f800000);
  check_bounds(int16, both("clipper", int16, "", ""), 0x8000, 0x7fff);
  check_bounds(float32, both("onnx-6", float32, "", ""), 0xff7fffff, 0x7f7fffff);
  check_bounds(float16, both("onnx-6", float16, "", ""), 0xfc00, 0x7c00);
  check_bounds(float64, both("onnx-1", float64, "", ""), 0xc7efffffe0000000, 0x47efffffe0000000);
  check_bounds(float16, both("onnx-11", float16, "", ""), 0xfbff, 0x7bff);
  check_bounds(bfloat16, both("onnx-13", bfloat16, "", ""), 0xff7f, 0x7f7f);
  check_bounds(uint8, both("onnx-12", uint8, "", ""), 0, 0xff);
  check_bounds(float32, both("clipper", float32, "1", ""), 0x3f800000, 0x7f800000);
  check_bounds(float32, both("onnx-13", float32, "", "1"), 0xff7fffff, 0x3f800000);
}

TEST_CASE("min above max is an error, or every element becomes min or max") {
  CHECK(refused("clipper", float32, "6", "0") == "min 6 exceeds max 0");
  CHECK(refused("directml", int8, "6", "0", MinAboveMax::error) == "min 6 exceeds max 0");
  check_bounds(int8, both("clipper", int8, "6", "0", MinAboveMax::min), 0x7f, 6);
  check_bounds(int8, both("clipper", int8, "6", "0", MinAboveMax::max), 6, 0);
  check_bounds(float16, both("clipper", float16, "1", "0", MinAboveMax::min), 0x7c00, 0x3c00);
  check_bounds(float32, both("directml-1.0", float32, "1", "-0"), 0x7f800000, 0x3f800000);
  check_bounds(float32, both("onnx-11", float32, "1", "-0"), 0x3f800000, 0x80000000);
  check_bounds(int8, both("clipper", int8, "6.5", "6.1", MinAboveMax::min), 6, 6);
}

TEST_CASE("bounds are reported as converted, whichever wins") {
  for (const MinAboveMax policy : {MinAboveMax::min, MinAboveMax::max}) {
    const Bounds bounds = both("clipper", int8, "6.5", "-128", policy);
    CHECK(bounds.min == 6);
    CHECK(bounds.max == 0x80);
  }
  CHECK(both("clipper", uint8, "", "9").min == 0);
  CHECK(both("clipper", uint8, "9", "").max == 0xff);
}

TEST_CASE("min above max is found in the numbers as written, even if both convert to the same element") {
  CHECK(refused("clipper", float32, "1.000000000001", "1") == "min 1.000000000001 exceeds max 1");
  CHECK(refused("clipper", int8, "0.9", "0.1") == "min 0.9 exceeds max 0.1");
  CHECK(refused("clipper", float64, "1e400", "1e399").starts_with("min 1e400 exceeds "));
}

TEST_CASE("a bound from a file is compared as an element, also with a typed bound") {
  const auto float32_tenth = element(float32, to_bits(0.1F));  // 0.100000001490116...
  const auto same = [&](const Parameter& min, const Parameter& max, MinAboveMax policy) {
    return convert_bounds(profile("clipper"), float32, min, max, policy);
  };
  check_bounds(float32, same(float32_tenth, given("0.1"), MinAboveMax::error), to_bits(0.1F), to_bits(0.1F));
  const auto max_tenth = element(float32, to_bits(0.1F));
  check_bounds(float32, same(given("0.10000000149012"), max_tenth, MinAboveMax::min), to_bits(0.1F),
               to_bits(0.1F));
  check_bounds(float32, same(float32_tenth, max_tenth, MinAboveMax::error), to_bits(0.1F), to_bits(0.1F));
  CHECK(refusal(ErrorKind::usage, [&] { return same(float32_tenth, given("0.09"), MinAboveMax::error); }) ==
        "min @file.npy exceeds max 0.09");
  check_bounds(float32, same(float32_tenth, given("0.09"), MinAboveMax::max), to_bits(0.1F), to_bits(0.09F));
  const auto of_integers = [&](std::string_view name, const Parameter& min, const Parameter& max) {
    return convert_bounds(profile(name), int8, min, max, MinAboveMax::error);
  };
  check_bounds(int8, of_integers("clipper", element(int8, 1), given("1.9")), 1, 1);
  check_bounds(int8, of_integers("openvino", element(int8, 1), given("1.9")), 1, 1);
  CHECK(refusal(ErrorKind::usage, [&] { return of_integers("openvino", element(int8, 1), given("0.9")); }) ==
        "min @file.npy exceeds max 0.9");
}

TEST_CASE("a bound of floats that becomes an integer is reported if it is another number") {
  CHECK(cut("clipper", float16, "1e-8", "0.99999") == "min 1e-8 becomes 0;max 0.99999 becomes 1;");
  CHECK(cut("clipper", float16, "-2049", "2049") == "min -2049 becomes -2048;max 2049 becomes 2048;");
  CHECK(cut("onnx", float32, "1.00000001", "16777217") ==
        "min 1.00000001 becomes 1;max 16777217 becomes 16777216;");
  CHECK(cut("numpy", float64, "0", "9007199254740993") == "max 9007199254740993 becomes 9007199254740992;");
  CHECK(cut("clipper", float16, "0.1", "2048").empty());
  CHECK(cut("clipper", float16, "-1e6", "1e6").empty());  // beyond the range: no bounds
  CHECK(cut("clipper", float16, "-inf", "inf").empty());
  CHECK(cut("clipper", float32, "-1e30", "3.4e38").empty());
  CHECK(cut("clipper", DType::float8_e4m3fn, "-500", "500").empty());
  CHECK(cut("clipper", DType::float8_e4m3fn, "-17", "0.9999") == "min -17 becomes -16;max 0.9999 becomes 1;");
}

TEST_CASE("cut_bounds() reports a bound whose cut-off fraction lets elements beyond the bound pass") {
  CHECK(cut("clipper", int32, "1.5", "6") == "min 1.5 becomes 1;");
  CHECK(cut("clipper", int32, "-9", "-1.5") == "max -1.5 becomes -1;");
  CHECK(cut("clipper", uint8, "0.1", "255.9") == "min 0.1 becomes 0;");
  CHECK(cut("clipper", int64, "-1e30", "-0.000000000000000000000000000000001") ==
        "max -0.000000000000000000000000000000001 becomes 0;");
  CHECK(cut("directml", int32, "1.5", "6") == "min 1.5 becomes 1;");
  CHECK(cut("clipper", int8, "127.5", "1e99") == "min 127.5 becomes 127;");
}

TEST_CASE("cut_bounds() does not report a bound that lets no other elements pass") {
  CHECK(cut("clipper", int32, "-1.5", "6.5").empty());  // the same as -1 and 6
  CHECK(cut("clipper", int8, "-300.5", "300.5").empty());
  CHECK(cut("clipper", int8, "-inf", "inf").empty());
  CHECK(cut("clipper", int32, "1.0", "60e-1").empty());
  CHECK(cut("clipper", float32, "0.1", "16777216").empty());
  CHECK(cut("directml", int32, "16777216.7", "16777217").empty());  // integers as float32
  CHECK(cut("openvino", int32, "1.5", "6.5").empty());
}

TEST_CASE("least_from() and greatest_to() are the elements next to a number, or the number") {
  CHECK(around(int32, "1.5") == "2 1");
  CHECK(around(int32, "-1.5") == "-1 -2");
  CHECK(around(uint8, "300") == "none 255");
  CHECK(around(uint8, "-0.5") == "0 none");
  CHECK(around(int8, "-128") == "-128 -128");
  CHECK(around(int64, "1e400") == "none 9223372036854775807");
  CHECK(around(int64, "9223372036854775806.5") == "9223372036854775807 9223372036854775806");
  CHECK(around(uint64, "-inf") == "0 none");
  CHECK(around(float32, "0.1") == "0.1 0.099999994");  // float32(0.1) is more than 0.1
  CHECK(around(float64, "0.3") == "0.30000000000000004 0.3");
  CHECK(around(float32, "0.25") == "0.25 0.25");
  CHECK(around(float32, "1e400") == "inf 3.4028235e+38");
  CHECK(around(float32, "-1e400") == "-3.4028235e+38 -inf");
  CHECK(around(float64, "inf") == "inf inf");
  CHECK(around(float32, "1e-400") == "1e-45 0");
  CHECK(around(float32, "-1e-400") == "-0 -1e-45");
  CHECK(around(float16, "65519") == "inf 65500");
  CHECK(around(float16, "0.1") == "0.10004 0.1");
  CHECK(around(bfloat16, "1.001") == "1.01 1");
}

TEST_CASE("equal bounds, and zeros of either sign, are not min above max") {
  check_bounds(float32, both("clipper", float32, "0", "-0"), 0, 0x80000000);
  check_bounds(float32, both("clipper", float32, "-0", "0"), 0x80000000, 0);
  check_bounds(int8, both("clipper", int8, "0.2", "0.8"), 0, 0);
  check_bounds(float16, both("clipper", float16, "inf", "inf"), 0x7c00, 0x7c00);
}

TEST_CASE("a min above the default max is min above max") {
  CHECK(refused("onnx-6", float32, "inf", "").starts_with("min inf exceeds "));
  CHECK(refused("onnx-1", float64, "", "-inf").find("max -inf") != std::string::npos);
  check_bounds(float32, both("onnx-11", float32, "inf", ""), 0x7f800000, 0x7f7fffff);
  check_bounds(float32, both("onnx-11", float32, "inf", "", MinAboveMax::min), 0x7f800000, 0x7f800000);
  check_bounds(float32, both("clipper", float32, "inf", ""), 0x7f800000, 0x7f800000);
}

TEST_CASE("bounds without an integer between them are an error, whatever MinAboveMax says") {
  for (const MinAboveMax policy : {MinAboveMax::error, MinAboveMax::min, MinAboveMax::max})
    CHECK(refused("openvino", int8, "0.2", "0.8", policy) ==
          "no int8 value lies between min 0.2 and max 0.8");
}

TEST_CASE("a NaN bound that is ignored is not above any bound") {
  check_bounds(float32, both("onnx-13", float32, "nan", "1"), 0xff800000, 0x3f800000);
  check_bounds(float32, both("onnx-13", float32, "1", "nan"), 0x3f800000, 0x7f800000);
}

}  // namespace clipper
