#include "formats/parameter_file.hpp"

#include "contract/plan.hpp"
#include "npy/header.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// Bounds from files: --min @lo.npy.
namespace clipper {
namespace {

using enum DType;
using namespace std::string_literals;

npy::Header tensor(DType dtype) {
  npy::Header result;
  result.dtype = dtype;
  result.shape = {2, 3};
  return result;
}

/// A plan for a tensor of the dtype with --min @`min_path`.
Operation operation(DType dtype, const std::string& min_path) {
  Request request;
  request.min = read_parameter(min_path);
  return make_plan(request, tensor(dtype)).operation;
}

/// The bound that a file with this element gives.
ElementBits min_of(DType dtype, std::string_view descr, std::string_view shape, const std::string& elements) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "min.npy";
  testing::write_file(path, testing::npy_file(descr, "False", shape, elements));
  return operation(dtype, path).lo;
}

std::string refused(ErrorKind kind, DType dtype, const std::string& path) {
  return refusal(kind, [&] { return operation(dtype, path); });
}

std::string data_file(std::string_view name) {
  return testing::source_path("data/bounds/" + std::string(name));
}

}  // namespace

TEST_CASE("a bound from a file is exactly its only element") {
  CHECK(min_of(int64, "<i8", "()", "\1\0\0\0\0\0\x20\0"s) == (1ull << 53) + 1);
  CHECK(min_of(uint64, "<u8", "()", "\xff\xff\xff\xff\xff\xff\xff\xff") == ~0ull);
  CHECK(min_of(uint8, "|u1", "()", "\x80") == 0x80);
  CHECK(min_of(float16, "<f2", "()", "\0\x80"s) == 0x8000);
  CHECK(min_of(float64, "<f8", "()", "\1\2\3\4\5\6\7\x10") == 0x1007060504030201);
}

TEST_CASE("a bound's file may have any shape of one element and any byte order") {
  CHECK(min_of(uint16, "<u2", "(1,)", "\x12\x34") == 0x3412);
  CHECK(min_of(uint16, "<u2", "(1, 1)", "\x12\x34") == 0x3412);
  CHECK(min_of(uint16, ">u2", "()", "\x12\x34") == 0x1234);
  CHECK(min_of(float64, ">f8", "(1,)", "\x10\7\6\5\4\3\2\1") == 0x1007060504030201);
  CHECK(min_of(bfloat16, ">V2", "()", "\x3f\x80") == 0x3f80);
}

TEST_CASE("a file of raw 2-byte elements is bfloat16 if the tensor is bfloat16") {
  const std::string one = testing::bytes_of(std::vector<std::uint16_t>{0x3f80});
  CHECK(min_of(bfloat16, "|V2", "(1,)", one) == 0x3f80);
  CHECK(refusal(ErrorKind::input, [&] { return min_of(uint16, "|V2", "(1,)", one); }).find("'|V2'") !=
        std::string::npos);
}

TEST_CASE("max, scale and bias may be files too") {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "two.npy";
  testing::write_file(path, testing::npy_file("<f4", "False", "()", "\0\0\0\x40"s));
  Request request;
  request.max = request.scale = request.bias = read_parameter(path);
  const Operation operation = make_plan(request, tensor(float32)).operation;
  CHECK(operation.hi == to_bits(2.0F));
  CHECK(operation.arithmetic == Arithmetic::float32);
  CHECK(operation.scale.head == 2.0);
  CHECK(operation.bias.head == 2.0);
}

TEST_CASE("a bound from a file may be the element to which a typed number rounds") {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "lo.npy";
  testing::write_file(path, testing::npy_file("<f4", "False", "()", testing::bytes_of(std::vector{0.1F})));
  Request request;
  request.min = read_parameter(path);
  request.max = Parameter(*parse_number("0.1"), "0.1");
  const Operation operation = make_plan(request, tensor(float32)).operation;
  CHECK(operation.lo == to_bits(0.1F));
  CHECK(operation.hi == to_bits(0.1F));
}

TEST_CASE("an infinity in a file is a bound, a NaN is not") {
  CHECK(min_of(float16, "<f2", "()", "\0\x7c"s) == 0x7c00);
  const std::string nan = data_file("float32-nan.npy");
  CHECK(refused(ErrorKind::usage, float32, nan) == "min @" + nan + ": NaN cannot be a bound");
}

TEST_CASE("a file that does not broadcast cannot be a bound") {
  const std::string two = data_file("float32-two.npy");
  CHECK(
      refused(ErrorKind::input, float32, two) ==
      "min @" + two +
          " has shape (2,); it must broadcast to (2, 3): with shape (2, 1) its numbers are those of axis 0");
  const auto refused_shape = [](std::string_view shape, const std::string& elements) {
    return refusal(ErrorKind::input, [&] { return min_of(float32, "<f4", shape, elements); });
  };
  CHECK(refused_shape("(0,)", "").ends_with(" has shape (0,); it must broadcast to (2, 3)"));
  CHECK(refused_shape("(1, 1, 1)", "abcd").ends_with(" has shape (1, 1, 1); it must broadcast to (2, 3)"));
}

TEST_CASE("an array that broadcasts is part of the plan") {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "min.npy";
  testing::write_file(path, testing::npy_file("<i4", "False", "(3,)", std::string(12, 'a')));
  Request request;
  request.min = read_parameter(path);
  const Plan plan = make_plan(request, tensor(int32));
  REQUIRE(plan.arrays);
  CHECK(plan.arrays->axes == std::vector<std::uint64_t>{2, 3});
  CHECK(plan.arrays->find(ParameterId::min)->strides == std::vector<std::uint64_t>{0, 1});
  CHECK(plan.arrays->period() == 3);
}

TEST_CASE("a missing or incomplete .npy file is named in the error") {
  const std::string missing = data_file("missing.npy");
  CHECK(refused(ErrorKind::io, float32, missing).starts_with(missing + ": "));
  const std::string text = testing::source_path("data/README.md");
  CHECK(refused(ErrorKind::input, float32, text).starts_with(text + ": not a .npy file but text"));
  for (const std::string elements : {"", "abc", "abcde"}) {
    INFO(elements);
    CHECK(refusal(ErrorKind::input, [&] { return min_of(int32, "<i4", "()", elements); }).find("min.npy: ") !=
          std::string::npos);
  }
}

}  // namespace clipper
