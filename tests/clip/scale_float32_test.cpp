#include "clip/scale_float32.hpp"

#include <algorithm>
#include <random>

#include "clip/clip_cases.hpp"
#include "clip/clip_check.hpp"
#include "clip/reference_clip.hpp"
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

ByteTable table_of(const Operation& op) {
  ByteTable table;
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::byte>(reference::clip(op, i));
  return table;
}

/// Every byte at every position of a vector, and last bytes that fill none.
Bytes all_bytes() {
  Bytes bytes(256 * 64 + 13);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i + i / 256);
  return bytes;
}

}  // namespace

TEST_CASE("bytes are scaled in float32 if that gives their entries, and are left alone otherwise") {
  if (!has_v3()) return;
  const Bytes in = all_bytes();
  for (const DType dtype : {DType::int8, DType::uint8})
    for (const auto& [scale, bias] :
         {std::pair{0.5, 1.0}, {0.1, 0.0}, {1.3, 0.0}, {-3.7, 100.0}, {0.0, -3.0}}) {
      INFO(traits(dtype).name << " * " << scale << " + " << bias);
      const Operation op = scaling(dtype, scale, bias);
      ByteTable table = table_of(op);
      Bytes expected;
      for (const std::byte x : in) expected.push_back(table[std::to_integer<std::size_t>(x)]);
      Bytes out(in.size());
      REQUIRE(scale_bytes(op, table, in.data(), out.data(), in.size()));
      REQUIRE(out == expected);
      table[200] ^= std::byte{1};
      out.assign(in.size(), std::byte{0xa5});
      REQUIRE_FALSE(scale_bytes(op, table, in.data(), out.data(), in.size()));
      REQUIRE(out == Bytes(in.size(), std::byte{0xa5}));
    }
}

TEST_CASE("factors that float32 rounds to other results, or cannot hold, are refused") {
  if (!has_v3()) return;
  for (const auto& [scale, bias] : {std::pair{1.0, 1 - 0x1p-40}, {1e300, 0.0}, {1.0, -1e300}}) {
    const Operation op = scaling(DType::uint8, scale, bias);
    Bytes bytes(64);
    CHECK_FALSE(scale_bytes(op, table_of(op), bytes.data(), bytes.data(), bytes.size()));
  }
}

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
    const ByteTable table = table_of(op);
    Bytes expected;
    for (const std::byte x : in) expected.push_back(table[std::to_integer<std::size_t>(x)]);
    for (const SimdLevel level : simd_levels()) {
      Bytes out(in.size());
      clip(op, in.data(), out.data(), in.size(), level);
      INFO(to_string(level) << ": " << op.scale << ", " << op.bias);
      REQUIRE(out == expected);
    }
  }
}

}  // namespace clipper
