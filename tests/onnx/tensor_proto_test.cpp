#include "onnx/tensor_proto.hpp"

#include "support/refusal.hpp"

/// TensorProto messages. tests/fuzz/pb_vs_onnx.py compares with onnx.
namespace clipper {
namespace {

using namespace std::string_literals;

struct Message {
  std::string bytes;
  onnx::ReadAt read = [this](std::span<std::byte> to, std::uint64_t offset) {
    const std::span from =
        std::as_bytes(std::span(bytes)).subspan(std::min<std::size_t>(offset, bytes.size()));
    std::copy_n(from.begin(), std::min(to.size(), from.size()), to.begin());
    return std::min(to.size(), from.size());
  };
};

/// The tensor and its elements as clipper writes it.
std::string rewritten(const std::string& bytes) {
  const Message message{bytes};
  const onnx::Tensor tensor = onnx::parse(message.read, bytes.size());
  std::string elements;
  if (tensor.elements)
    elements = bytes.substr(tensor.elements->begin, tensor.elements->size);
  else
    onnx::write_elements(tensor, message.read, bytes.size(), [&](std::span<const std::byte> part) {
      elements.append(reinterpret_cast<const char*>(part.data()), part.size());
    });
  return onnx::front(tensor.layout, tensor.kept) + elements + tensor.kept.fields;
}

std::string why(const std::string& bytes) {
  return refusal(ErrorKind::input, [&] { static_cast<void>(rewritten(bytes)); });
}

const std::string kBytes = "\x08\x02\x10\x02"s;  // dims 2, uint8

}  // namespace

TEST_CASE("a TensorProto is written as onnx writes it, wherever its elements were") {
  const std::string written = kBytes + "\x4a\x02\x07\x09"s;
  CHECK(rewritten(written) == written);
  CHECK(rewritten("\x0a\x01\x02\x10\x02\x2a\x02\x07\x09"s) == written);   // packed
  CHECK(rewritten("\x28\x07\x10\x02\x08\x02\x28\x89\x00"s) == written);   // not packed, in another order
  CHECK(rewritten(kBytes + "\x4a\x01\x00\x4a\x02\x07\x09"s) == written);  // the last one counts
  CHECK(rewritten("\x10\x09\x28\x01"s) == "\x10\x09\x4a\x01\x01"s);       // bool
  CHECK(rewritten("\x10\x01\x22\x04\x00\x00\x80\x3f"s) == "\x10\x01\x4a\x04\x00\x00\x80\x3f"s);
  CHECK(rewritten("\x08\x03\x10\x01\x22\x08\x00\x00\x80\x3f\x00\x00\x00\x40\x25\x00\x00\x40\x40"s) ==
        "\x08\x03\x10\x01\x4a\x0c\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40"s);  // in two parts
  CHECK(rewritten("\x08\x00\x10\x01"s) == "\x08\x00\x10\x01\x4a\x00"s);
}

TEST_CASE("the name, doc_string, metadata and unknown fields of a TensorProto are kept") {
  const std::string written = kBytes +
                              "\x42\x01w\x4a\x02\x07\x09\x62\x03"
                              "doc\x82\x01\x03\x0a\x01k\x98\x06\x05"s;
  CHECK(rewritten(written) == written);
  CHECK(rewritten("\x98\x06\x05\x82\x01\x03\x0a\x01k\x62\x03"
                  "doc\x42\x01w\x4a\x02\x07\x09"s +
                  kBytes) == written);
}

TEST_CASE("a message that onnx reads otherwise or not at all is refused") {
  const std::string other = "; is it another message, such as an ONNX model or a TensorFlow graph?";
  CHECK(why("") == "has no data_type" + other);
  CHECK(why("\x0a\x54\x0a\x50" + std::string(80, 'x') + "\x12\x00"s) == "has more than 64 dims" + other);
  CHECK(why("\x10\x08"s) == "has the data_type string, which is not read");
  CHECK(why("\x10\x16"s) == "has the data_type int4, which is not read");
  CHECK(why("\x10\x63"s) == "has the data_type 99, which is not known");
  CHECK(why(kBytes) == "2 data bytes expected for uint8 (2,), the file has 0");
  CHECK(why(kBytes + "\x2a\x03\x07\x80\x02"s) == "has an element 256, no uint8");
  CHECK(why(kBytes + "\x4a\x02\x07\x09\x28\x01"s) == "has elements in raw_data and in field 5");
  CHECK(why(kBytes + "\x38\x01\x38\x01"s) == "has elements in field 7, where uint8 has none");
  CHECK(why(kBytes + "\x4a\x03\x07\x09"s) == "truncated: field 9 at byte 4 ends beyond the file");
  CHECK(why("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x02\x4a\x00"s) == "has the dims (-1,)");
  CHECK(why("\x08"s) == "damaged: a number at byte 1 does not end");
  CHECK(why(kBytes + "\x0b\x0c"s) == "damaged: field 1 at byte 4 has the wire type 3");
  CHECK(why("\x0a\x01w\x10\x01\x1a\x00"s) ==
        "is a segment of a tensor, or a SequenceProto or OptionalProto, which are not read");
  CHECK(
      why("\x08\x0a\x12\x01p"s).starts_with("field 2 at byte 2 has another wire type than in a TensorProto"));
  CHECK(why(kBytes + "\x70\x01"s) == "has external data without a location");
}

TEST_CASE("fields that are kept take at most 1 MiB") {
  const std::string doc(1'100'000, 'x');
  CHECK(why(kBytes + "\x62\xe0\x91\x43"s + doc) == "its fields besides the elements exceed 1048576 bytes");
}

TEST_CASE("a TensorProto holds neither dates nor big-endian elements") {
  TensorLayout layout;
  layout.shape = {1};
  layout.order = ByteOrder::big;
  CHECK(refusal(ErrorKind::input, [&] {
          static_cast<void>(onnx::front(layout, {}));
        }).starts_with("is big-endian, and a TensorProto is little-endian"));
  layout.meaning.kind = LogicalType::Kind::datetime;
  CHECK(refusal(ErrorKind::input, [&] {
          static_cast<void>(onnx::front(layout, {}));
        }).starts_with("TensorProto has no datetime64"));
}

}  // namespace clipper
