// Replaces tensor_proto.cpp in a build without protozero.
#include "error.hpp"
#include "onnx/tensor_proto.hpp"

namespace clipper::onnx {
namespace {

[[noreturn]] void lack() {
  throw Error(ErrorKind::input,
              "this clipper was built without pb; one configured with -DCLIPPER_FORMATS=pb has it");
}

}  // namespace

Tensor parse(const ReadAt& /*read*/, std::uint64_t /*size*/) {
  lack();
}

void write_elements(const Tensor& /*tensor*/, const ReadAt& /*read*/, std::uint64_t /*size*/,
                    const Write& /*write*/) {
  lack();
}

std::string front(const TensorLayout& /*layout*/, const Kept& /*kept*/) {
  lack();
}

}  // namespace clipper::onnx
