#include <algorithm>
#include <random>

#include "clip/clip_cases.hpp"
#include "clip/clip_check.hpp"
#include "clip/reference_clip.hpp"
#include "clip/scale_integers.hpp"
#include "simd/levels.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using Bytes = std::vector<std::byte>;

bool has_v3() {
  const std::span<const SimdLevel> levels = simd_levels();
  return std::find(levels.begin(), levels.end(), SimdLevel::v3) != levels.end();
}

Operation scaling(DType dtype, double scale, double bias) {
  Operation op = cases::operation(dtype, {cases::lowest(dtype), cases::highest(dtype)});
  op.arithmetic = Arithmetic::float64;
  op.scale = scale;
  op.bias = bias;
  return op;
}

/// Every byte at every position of a vector, and last bytes that fill none.
Bytes all_bytes() {
  Bytes bytes(256 * 64 + 13);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i + i / 256);
  return bytes;
}

}  // namespace

TEST_CASE("all integers of 16 bits are scaled in float32 by factors that it does not round") {
  if (!has_v3()) return;
  std::vector<ElementBits> elements;
  for (std::size_t i = 0; i < 65'536 + 5; ++i) elements.push_back(i % 65'536);
  for (const DType dtype : {DType::int16, DType::uint16})
    for (const auto& [scale, bias] : {std::pair{0.5, 1.0},
                                      {-0.5, 0.0},
                                      {127.0, -3.0},
                                      {1.5, -0.25},
                                      {0.0, 7.0},
                                      {1.0, 0x1p-7},
                                      {0x1p-200, -0x1p-200}}) {
      INFO(traits(dtype).name << " * " << scale << " + " << bias);
      const Operation op = scaling(dtype, scale, bias);
      const cases::Memory in{op, elements, 0};
      cases::Memory source = in;
      cases::Memory out{op, elements.size(), 1};
      REQUIRE(scale_16_bits(op, source.data(), out.data(), elements.size()));
      REQUIRE(out == cases::Memory{op, reference::clip(op, elements), 1});
    }
}

TEST_CASE("integers of 16 bits are not scaled in float32 by factors that it may round") {
  if (!has_v3()) return;
  for (const auto& [scale, bias] :
       {std::pair{0.1, 0.0}, {1.0, 0x1p-8}, {257.0, 0.0}, {1 + 0x1p-8, 0.0}, {1e300, 0.0}, {1.0, -1e300}}) {
    Bytes bytes(64, std::byte{0xa5});
    CHECK_FALSE(scale_16_bits(scaling(DType::uint16, scale, bias), bytes.data(), bytes.data(), 32));
    CHECK(bytes == Bytes(64, std::byte{0xa5}));
  }
}

TEST_CASE("random factors of bytes give the contract's results at every level") {
  std::mt19937 random{1};
  std::uniform_int_distribution<int> digits(-400, 400);
  const Bytes in = all_bytes();
  for (int i = 0; i < 500; ++i) {
    const DType dtype = i % 2 == 0 ? DType::int8 : DType::uint8;
    const Operation op = scaling(dtype, digits(random) / 100.0, digits(random) / 10.0);
    Bytes expected;
    for (const std::byte x : in)
      expected.push_back(static_cast<std::byte>(reference::clip(op, std::to_integer<ElementBits>(x))));
    for (const SimdLevel level : simd_levels()) {
      Bytes out(in.size());
      clip(op, in.data(), out.data(), in.size(), level);
      INFO(to_string(level) << ": " << op.scale.head << ", " << op.bias.head);
      REQUIRE(out == expected);
    }
  }
}

}  // namespace clipper
