#include "error.hpp"
#include "onnx/tensor_proto.hpp"

/// What is compiled instead of tensor_proto.cpp if protozero is missing.
namespace clipper::onnx {
namespace {

[[noreturn]] void refuse_pb() {
  throw Error(ErrorKind::input, "built without protozero, which TensorProto files need");
}

}  // namespace

bool is_supported() {
  return false;
}

Tensor parse(const ReadAt& /*read*/, std::uint64_t /*size*/) {
  refuse_pb();
}

void write_elements(const Tensor& /*tensor*/, const ReadAt& /*read*/, std::uint64_t /*size*/,
                    const Write& /*write*/) {
  refuse_pb();
}

std::string front(const TensorLayout& /*layout*/, const Kept& /*kept*/) {
  refuse_pb();
}

}  // namespace clipper::onnx
