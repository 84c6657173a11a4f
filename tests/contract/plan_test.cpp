#include "contract/plan.hpp"

#include "contract/exact_bounds.hpp"
#include "contract/header.hpp"
#include "support/refusal.hpp"

namespace clipper {
namespace {

using enum DType;

std::optional<Parameter> given_unless_empty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return Parameter(parse_number(text).value(), text);
}

/// A request with scale and bias; an empty text means not given.
Request bounded(const std::string& min, const std::string& max, std::string_view profile = "clipper") {
  Request result;
  result.profile = profile_named(profile);
  REQUIRE(result.profile != nullptr);
  result.min = given_unless_empty(min);
  result.max = given_unless_empty(max);
  return result;
}

Request scaled(const std::string& scale, const std::string& bias, std::string_view profile = "clipper") {
  const bool required = profile_named(profile)->bounds == Profile::Bounds::required;
  Request result = bounded(required ? "0" : "", required ? "9" : "", profile);
  result.scale = given_unless_empty(scale);
  result.bias = given_unless_empty(bias);
  return result;
}

Request with_nan(const OnNan& nan, const std::string& min = "1", const std::string& max = "6") {
  Request result = bounded(min, max);
  result.nan = nan;
  return result;
}

std::string refused(ErrorKind kind, const Request& request, const TensorLayout& header) {
  return refusal(kind, [&] { return make_plan(request, header); });
}

std::string refused(const Request& request, DType dtype = float32) {
  return refused(ErrorKind::usage, request, header(dtype));
}

}  // namespace

TEST_CASE("dtype, scale and bias determine the arithmetic") {
  struct Row {
    DType dtype;
    std::string scale;
    std::string bias;
    Arithmetic arithmetic;
  };
  using enum Arithmetic;
  for (const Row& row : std::vector<Row>{
           {DType::float32, "", "", none},
           {int64, "", "", none},
           {float16, "2", "", Arithmetic::float32},
           {bfloat16, "", "1", Arithmetic::float32},
           {DType::float32, "0.5", "1", Arithmetic::float32},
           {DType::float64, "2", "1", Arithmetic::float64},
           {int8, "2", "1", Arithmetic::float64},
           {int16, "2", "", Arithmetic::float64},
           {uint32, "1", "0", Arithmetic::float64},
           {int64, "2", "1", integer},
           {int64, "", "-1", integer},
           {uint64, "-3", "", integer},
           {uint64, "1e3", "2.0", integer},
           {int64, "0x1p62", "-0", integer},
           {int64, "18446744073709551615", "-9223372036854775808", integer},
           {int64, "0.5", "1", Arithmetic::float64},
           {uint64, "2", "0.1", Arithmetic::float64},
           {int64, "18446744073709551616", "", Arithmetic::float64},
           {uint64, "1", "-9223372036854775809", Arithmetic::float64},
       }) {
    INFO(traits(row.dtype).name << " * " << row.scale << " + " << row.bias);
    CHECK(make_plan(scaled(row.scale, row.bias), header(row.dtype)).operation.arithmetic == row.arithmetic);
  }
}

TEST_CASE("integer scale and bias lose no bit") {
  const Operation operation =
      make_plan(scaled("-9007199254740993", "18446744073709551615"), header(int64)).operation;
  CHECK((operation.scale.integer() == -Int128{(1ull << 53) + 1}));
  CHECK((operation.bias.integer() == Int128{~0ull}));
}

TEST_CASE("a whole number of 64 bits is two doubles, of which -0 keeps its sign") {
  const auto split = [](std::string_view text) { return double_double(*parse_number(text)); };
  CHECK(split("-9007199254740993").head == -0x1p53);
  CHECK(split("-9007199254740993").rest == -1);
  CHECK(split("0.1").rest == 0);
  CHECK(to_bits(split("-0").head) == to_bits(-0.0));
}

TEST_CASE("a scale or bias that is not given is 1 or 0") {
  const Operation only_bias = make_plan(scaled("", "3"), header(int64)).operation;
  CHECK((only_bias.scale.integer() == 1));
  CHECK((only_bias.bias.integer() == 3));
  const Operation only_scale = make_plan(scaled("3", ""), header(float64)).operation;
  CHECK(only_scale.scale.head == 3.0);
  CHECK(to_bits(only_scale.bias.head) == to_bits(0.0));
}

TEST_CASE("scale and bias are rounded once, to the type of the arithmetic") {
  const Operation single = make_plan(scaled("0.1", "16777217"), header(float16)).operation;
  CHECK(to_bits(single.scale.head) == to_bits(double{0.1F}));
  CHECK(single.bias.head == 16777216.0);
  const Operation wide = make_plan(scaled("0.1", "16777217"), header(int8)).operation;
  CHECK(to_bits(wide.scale.head) == to_bits(0.1));
  CHECK(wide.bias.head == 16777217.0);
}

TEST_CASE("DirectML rounds scale and bias to float32 first") {
  const Operation small = make_plan(scaled("0.1", "16777217", "directml"), header(int32)).operation;
  CHECK(small.arithmetic == Arithmetic::float64);
  CHECK(to_bits(small.scale.head) == to_bits(double{0.1F}));
  CHECK(small.bias.head == 16777216.0);
  const Operation large = make_plan(scaled("16777217", "", "directml"), header(int64)).operation;
  CHECK(large.arithmetic == Arithmetic::integer);
  CHECK((large.scale.integer() == 16777216));
}

TEST_CASE("scale and bias must be finite") {
  CHECK(refused(scaled("inf", "")) == "scale inf is not a finite float32 number");
  CHECK(refused(scaled("", "nan"), int8) == "bias nan is not a finite float64 number");
  CHECK(refused(scaled("1e39", ""), float16) == "scale 1e39 is not a finite float32 number");
  CHECK(refused(scaled("", "-1e400"), int64) == "bias -1e400 is not a finite float64 number");
  CHECK(refused(scaled("1e39", "", "directml"), int64) == "scale 1e39 is not a finite float32 number");
  CHECK(make_plan(scaled("1e39", ""), header(float64)).operation.scale.head == 1e39);
}

TEST_CASE("scale and bias are refused if the operator has none, before any bound is checked") {
  for (const std::string_view name : {"onnx-1", "onnx-6", "onnx-11", "onnx-13", "openvino"}) {
    const std::string system(profile_named(name)->system);
    CHECK(refused(scaled("2", "", name)) == "scale is not supported by " + system);
    CHECK(refused(scaled("", "0", name)) == "bias is not supported by " + system);
  }
  Request wrong_twice = bounded("-1", "9", "onnx-13");
  wrong_twice.scale = 2;
  CHECK(refused(wrong_twice, uint8) == "scale is not supported by ONNX Clip-13");
}

TEST_CASE("without bounds an integer tensor is clipped to its range") {
  const Operation operation = make_plan(scaled("2", ""), header(int16)).operation;
  CHECK(operation.lo == 0x8000);
  CHECK(operation.hi == 0x7fff);
}

TEST_CASE("a plan has the dtype and byte order of the header, and the bounds as elements") {
  TensorLayout big = header(float16);
  big.order = ByteOrder::big;
  const Plan plan = make_plan(bounded("0.5", "6"), big);
  CHECK(plan.input.shape == big.shape);
  CHECK(plan.operation.dtype == float16);
  CHECK(plan.output.order == ByteOrder::big);
  CHECK(plan.operation.lo == 0x3800);
  CHECK(plan.operation.hi == 0x4600);
  CHECK_FALSE(plan.operation.nan.has_value());
  CHECK_FALSE(plan.refuse_nan);
}

TEST_CASE("a dtype that the system does not take is refused; the error names a version that takes it") {
  const auto refused_dtype = [](std::string_view name, DType dtype) {
    return refused(ErrorKind::input, bounded("", "", name), header(dtype, {1, 1, 2, 3}));
  };
  CHECK(refused_dtype("onnx-6", int8) ==
        "ONNX Clip-6 takes float16, float32, float64; this tensor is int8 (ONNX Clip-12 takes it)");
  CHECK(refused_dtype("onnx-12", bfloat16).ends_with("this tensor is bfloat16 (ONNX Clip-13 takes it)"));
  CHECK(refused_dtype("directml-1.0", uint64).ends_with("uint64 (DirectML feature level 5.0 takes it)"));
  CHECK(refused_dtype("directml", float64).ends_with("; this tensor is float64"));
}

TEST_CASE("a rank that the system does not take is refused; the error names a version that takes it") {
  const auto refused_rank = [](std::string_view name, std::size_t rank) {
    return refused(ErrorKind::input, bounded("", "", name),
                   header(float32, std::vector<std::int64_t>(rank, 1)));
  };
  CHECK(
      refused_rank("directml-1.0", 5) ==
      "DirectML feature level 1.0 takes tensors of exactly 4 dimensions; this tensor has 5 (DirectML feature "
      "level 3.0 takes it)");
  CHECK(refused_rank("directml", 9) ==
        "DirectML feature level 5.0 takes tensors of 1 to 8 dimensions; this tensor has 9");
  CHECK(refused_rank("directml-3.0", 0).ends_with("this tensor has 0"));
}

TEST_CASE("both bounds must be given if the system requires them") {
  CHECK(refused(bounded("", "", "openvino")) == "OpenVINO Clamp-1 requires both bounds; min is missing");
  CHECK(refused(bounded("", "1", "openvino")) == "OpenVINO Clamp-1 requires both bounds; min is missing");
  CHECK(refused(bounded("0", "", "directml")) ==
        "DirectML feature level 5.0 requires both bounds; max is missing");
}

TEST_CASE("NaN in floats is kept, refused or replaced, as the request says") {
  const auto replacement = [](DType dtype, const OnNan& nan) {
    return make_plan(with_nan(nan), header(dtype)).operation.nan;
  };
  CHECK(replacement(float32, OnNan::keep) == std::nullopt);
  CHECK(replacement(float32, OnNan::error) == std::nullopt);
  CHECK(make_plan(with_nan(OnNan::error), header(float32)).refuse_nan);
  CHECK_FALSE(make_plan(with_nan(OnNan::min), header(float32)).refuse_nan);
  CHECK(replacement(float32, OnNan::min) == to_bits(1.0F));
  CHECK(replacement(float16, OnNan::max) == 0x4600);
  CHECK(replacement(bfloat16, -7.5) == 0xc0f0);
  CHECK(replacement(float64, -0.0) == to_bits(-0.0));
  CHECK(replacement(float32, std::numeric_limits<float>::infinity()) == 0x7f800000);
  CHECK(replacement(int8, 5) == std::nullopt);
}

TEST_CASE("the profile decides what becomes of NaN and zeros, unless the request does") {
  const auto operation = [](std::string_view profile, std::string min, std::string max, DType dtype = float32,
                            const OnNan& nan = {}) {
    Request request = bounded(min, max, profile);
    request.nan = nan;
    return make_plan(request, header(dtype)).operation;
  };
  CHECK(operation("tosa-1.0", "0", "6").nan == 0x7fc00000);
  CHECK(operation("tosa-1.0", "0", "6", float16).nan == 0x7e00);
  CHECK(operation("tosa-1.0", "0", "6", bfloat16).nan == 0x7fc0);
  CHECK(operation("tosa-1.0-ignore", "1", "6").nan == to_bits(1.0F));
  CHECK(operation("tosa-1.0-ignore", "1", "6", float32, OnNan::keep).nan == std::nullopt);
  CHECK(operation("tosa-1.0", "1", "6", float32, 5).nan == to_bits(5.0F));
  CHECK(operation("tosa-1.0-ignore", "1", "6", int8).nan == std::nullopt);
  CHECK(operation("tosa-1.0", "0", "6").zero_tie == ZeroTie::upper);
  CHECK(operation("stablehlo", "0", "6").zero_tie == ZeroTie::ordered);
  CHECK(operation("stablehlo", "0", "6", int8).zero_tie == ZeroTie::element);
  CHECK_FALSE(operation("stablehlo", "0", "6").poisons);
  CHECK(operation("stablehlo", "0", "nan").poisons);
  for (const std::string_view usual :
       {"clipper", "directml", "onnx-6", "onnx-13", "openvino", "tensorflow"}) {
    const Operation plain = operation(usual, "0", "6");
    CHECK((plain.zero_tie == ZeroTie::element && !plain.poisons && !plain.nan));
  }
}

TEST_CASE("of two NaN as bounds, the one that the system applies first decides") {
  const auto first = [](std::string_view profile) {
    Request request = bounded("nan", "nan", profile);
    request.min->dtype = request.max->dtype = float32;
    request.min->element = 0x7f800001;
    request.max->element = 0xffc00002;
    return make_plan(request, header(float32)).operation.lo;
  };
  CHECK(first("numpy-2") == 0x7f800001);
  CHECK(first("stablehlo") == 0x7f800001);
  CHECK(first("tensorflow") == 0xffc00002);
  CHECK(first("pytorch") == 0x7fc00000);  // a Python number
}

TEST_CASE("PyTorch's clamp needs a bound") {
  CHECK(refused(bounded("", "", "pytorch")) == "PyTorch 2 clamp requires min or max");
  CHECK(make_plan(bounded("", "6", "pytorch"), header(float32)).operation.lo == 0xff800000);
}

TEST_CASE("NaN can become min or max only if min or max is given") {
  CHECK(refused(with_nan(OnNan::max, "1", "")) == "nan max requires max");
  CHECK(refused(with_nan(OnNan::min, "", "6")) == "nan min requires min");
}

TEST_CASE("describe() shows the plan with its numbers as converted") {
  CHECK(describe(make_plan(with_nan(9, "1", "100"), header(float16))) ==
        "float16 (2, 3), little-endian, C order, min 1, max 100, NaN becomes 9");
  TensorLayout fortran = header(float32);
  fortran.order = ByteOrder::big;
  fortran.fortran_order = true;
  CHECK(describe(make_plan(scaled("0.1", "-1"), fortran)) ==
        "float32 (2, 3), big-endian, Fortran order, x * 0.1 + -1 in float32, min -inf, max inf");
  CHECK(describe(make_plan(scaled("0.1", ""), header(int8, {7}))) ==
        "int8 (7,), little-endian, C order, x * 0.1 + 0 in float64, min -128, max 127");
  CHECK(describe(make_plan(scaled("-3", "18446744073709551615"), header(uint64, {}))) ==
        "uint64 (), little-endian, C order, x * -3 + 18446744073709551615 exactly, min 0, max "
        "18446744073709551615");
}

}  // namespace clipper
