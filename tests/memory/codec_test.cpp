#include "clip/clip_cases.hpp"
#include "memory/elements.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

TensorLayout layout_of(DType dtype, ByteOrder order, LogicalType::Kind kind = LogicalType::Kind::number) {
  TensorLayout layout;
  layout.dtype = dtype;
  layout.order = order;
  layout.meaning.kind = kind;
  return layout;
}

}  // namespace

TEST_CASE("elements in any byte order are decoded to this machine's and encoded again, at every level") {
  for (const DTypeTraits& row : kKernelDTypes)
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      for (const std::size_t count : {0UL, 1UL, 2UL, 7UL, 63UL, 64UL, 65UL, 130UL, 4099UL}) {
        const TensorLayout layout = layout_of(row.dtype, order);
        CHECK(is_decoded(layout) == (order == kNativeOrder || row.size == 1));
        std::mt19937_64 random(count);
        std::vector<ElementBits> elements(count);
        for (ElementBits& element : elements) element = random() & reference::all_ones(row.dtype);
        const std::vector<std::byte> stored = reference::in_file(row.dtype, order, elements);
        for (const SimdLevel level : simd_levels()) {
          std::vector<std::byte> bytes = stored;
          decode(layout, std::span(bytes).first(count * row.size), level);
          CAPTURE(row.name, count);
          CHECK((bytes == reference::in_memory(row.dtype, elements)));
          const std::vector<std::byte> plain = bytes;
          encode(layout, plain.data(), std::span(bytes).first(count * row.size), level);
          CHECK((bytes == stored));
        }
      }
}

TEST_CASE("every byte of a bool but 0 is decoded to 1, and stays 1") {
  const TensorLayout layout = layout_of(DType::uint8, kNativeOrder, LogicalType::Kind::boolean);
  CHECK_FALSE(is_decoded(layout));
  for (const SimdLevel level : simd_levels()) {
    std::vector<std::byte> bytes(259);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    decode(layout, bytes, level);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      CHECK(bytes[i] == static_cast<std::byte>(i % 256 == 0 ? 0 : 1));
    const std::vector<std::byte> flags = bytes;
    encode(layout, bytes.data(), bytes, level);
    CHECK((bytes == flags));
  }
}

TEST_CASE("both parts of complex numbers are decoded") {
  TensorLayout layout = layout_of(DType::float32, ByteOrder::big, LogicalType::Kind::complex);
  const std::vector<ElementBits> parts{0x3f800000, 0xc0000000};
  std::vector<std::byte> bytes = reference::in_file(DType::float32, ByteOrder::big, parts);
  decode(layout, std::span(bytes).first(8));
  CHECK((bytes == reference::in_memory(DType::float32, parts)));
}

}  // namespace clipper
