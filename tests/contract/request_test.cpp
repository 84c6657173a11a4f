#include "contract/header.hpp"
#include "contract/plan.hpp"
#include "support/refusal.hpp"

/// Requests as a C++ program writes them, and the fingerprints of their plans.
namespace clipper {
namespace {

using enum DType;

std::string refused_alone(const Request& request) {
  return refusal(ErrorKind::usage, [&] { return make_plan(request, header(float32)); });
}

}  // namespace

TEST_CASE("a request is written with plain numbers") {
  const Request request{
      .min = -1, .max = 6.5, .scale = 2.0F, .bias = 0x8000000000000000U, .nan = OnNan::error};
  const Plan plan = make_plan({.min = request.min, .max = request.max}, header(float64));
  CHECK(from_bits<double>(plan.operation.lo) == -1);
  CHECK(from_bits<double>(plan.operation.hi) == 6.5);
  CHECK(request.bias->number == parse_number("9223372036854775808"));
  CHECK(make_plan({.nan = 7}, header(float64)).operation.nan == to_bits(7.0));
  CHECK(make_plan(request, header(float64)).refuse_nan);
}

TEST_CASE("a number that was not typed is quoted in decimal digits") {
  const auto quoted = [](const Parameter& given) { return given.text; };
  CHECK(quoted(-7) == "-7");
  CHECK(quoted(0xffffffffffffffffU) == "18446744073709551615");
  CHECK(quoted(0.1) == "0.1");
  CHECK(quoted(0.1F) == "0.1");
  CHECK(quoted(*parse_number("9007199254740993.50")) == "9007199254740993.5");
  CHECK(refused_alone({.min = 5, .max = 3.5}) == "min 5 exceeds max 3.5");
  CHECK(refused_alone({.nan = 1e39}) == "nan 1e+39 is not a finite float32 number");
  CHECK(refused_alone({.nan = std::numeric_limits<double>::quiet_NaN()}) ==
        "nan nan: NaN cannot replace NaN");
}

TEST_CASE("Error::field() names the parameter at fault") {
  const auto field = [](const Request& request) -> std::string {
    try {
      static_cast<void>(make_plan(request, header(int8)));
    } catch (const Error& error) {
      return std::string(error.field());
    }
    return "none";
  };
  CHECK(field({.min = 300}) == "min");
  CHECK(field({.max = -300}) == "max");
  CHECK(field({.scale = std::numeric_limits<double>::infinity()}) == "scale");
  CHECK(field({.bias = std::numeric_limits<double>::infinity()}) == "bias");
  CHECK(field({.nan = OnNan::max}) == "nan");
  CHECK(field({.min = 0, .profile = profile_named("openvino")}) == "max");
  CHECK(field({.min = 0, .profile = profile_named("onnx-6")}).empty());
}

TEST_CASE("the fingerprint of a plan never changes") {
  // Shards and unfinished files on users' disks have these texts: a changed text needs a new format number.
  CHECK(make_plan({.min = 0, .max = 6}, header(float32)).fingerprint() ==
        "plan 1: <f4 C(2,3) 0+6 none lo=0 hi=40c00000 nan=keep");
  CHECK(make_plan({.min = -1, .scale = 0.5, .nan = OnNan::min}, header(float64, {})).fingerprint() ==
        "plan 1: <f8 C() 0+1 f8*3fe0000000000000+0000000000000000 lo=bff0000000000000 hi=7ff0000000000000 "
        "nan=bff0000000000000");
  CHECK(make_plan({.scale = -3, .bias = ~0ULL}, header(uint64, {7})).fingerprint() ==
        "plan 1: <u8 C(7) 0+7 int*-3+18446744073709551615 lo=0 hi=ffffffffffffffff nan=keep");
  CHECK(make_plan({.max = -1}, header(int8, {0, 2})).fingerprint() ==
        "plan 1: |i1 C(0,2) 0+0 none lo=80 hi=ff nan=keep");
  CHECK(
      make_plan({.min = 0, .max = 6, .profile = profile_named("stablehlo")}, header(float32)).fingerprint() ==
      "plan 1: <f4 C(2,3) 0+6 none lo=0 hi=40c00000 nan=keep ordered");
  TensorLayout other = header(bfloat16, {4, 5});
  other.order = ByteOrder::big;
  other.fortran_order = true;
  other.stored_as = "|V2";
  Plan part = make_plan({.bias = 0.1, .nan = OnNan::error}, other);
  part.slice = {3, 9};
  CHECK(part.fingerprint() ==
        "plan 1: >V2 opaque F(4,5) 3+9 f4*3ff0000000000000+3fb99999a0000000 lo=ff80 hi=7f80 nan=error");
}

}  // namespace clipper
