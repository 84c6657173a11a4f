#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "error.hpp"
#include "npy/dict.hpp"
#include "npy/header.hpp"
#include "onnx/tensor_proto.hpp"
#include "safetensors/header.hpp"

/// For headers_vs_numpy.py. Standard input: headers, each after its length in 4 bytes, little-endian.
/// Standard output: for each header a line, "refused" or DTYPE ORDER fortran|c OFFSET SHAPE, separated by
/// tabs, and a line of the same with all types that numpy reads: TYPE ORDER fortran|c OFFSET SHAPE SIZE
/// objects|elements. With "safetensors", for safetensors_vs_library.py: the input is safetensors files, and a
/// line has "refused: WHY", or for each tensor TYPE SHAPE BEGIN END. With "pb", for pb_vs_onnx.py:
/// TensorProto messages, and a line has "refused: WHY" or TYPE SHAPE ELEMENTS MESSAGE, where the last two are
/// in hexadecimal, and the message is what clipper writes for these elements.
namespace {

using namespace clipper;

std::string dump_as(std::span<const std::byte> file, npy::Types types) {
  try {
    const npy::Header header = npy::parse(file, {}, npy::Opaque::refused, types);
    const std::string line =
        fmt::format("{}\t{}\t{}\t{}\t{}", type_name(header), header.order == ByteOrder::little ? '<' : '>',
                    header.fortran_order ? "fortran" : "c", header.data_offset, fmt::join(header.shape, ","));
    if (types != npy::Types::all) return line;
    return fmt::format("{}\t{}\t{}", line, header.other ? header.other->size : header.element_size(),
                       header.has_objects() ? "objects" : "elements");
  } catch (const Error&) {
    return "refused";
  }
}

std::string dump(std::span<const std::byte> file) {
  return dump_as(file, npy::Types::dtypes) + "\n" + dump_as(file, npy::Types::all);
}

std::string dump_safetensors(std::span<const std::byte> file) {
  try {
    const std::uint64_t size = safetensors::header_size(file, file.size());
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    const auto header = safetensors::parse(text.substr(safetensors::kLengthSize, size),
                                           file.size() - safetensors::kLengthSize - size);
    std::string line;
    for (const safetensors::Tensor& tensor : header.tensors)
      line += fmt::format("{}\t{}\t{}\t{}\t", tensor.type->name, fmt::join(tensor.shape, ","), tensor.begin,
                          tensor.end);
    return line;
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string dump_pb(std::span<const std::byte> file) {
  try {
    const onnx::ReadAt read = [&](std::span<std::byte> to, std::uint64_t offset) {
      const std::span from = file.subspan(std::min<std::uint64_t>(offset, file.size()));
      std::copy_n(from.begin(), std::min(to.size(), from.size()), to.begin());
      return std::min(to.size(), from.size());
    };
    const onnx::Tensor tensor = onnx::parse(read, file.size());
    if (tensor.external) return "external\t" + tensor.external->location;
    std::string elements;
    if (tensor.elements)
      elements = npy::as_text(file.subspan(tensor.elements->begin, tensor.elements->size));
    else
      onnx::write_elements(tensor, read, file.size(),
                           [&](std::span<const std::byte> bytes) { elements += npy::as_text(bytes); });
    const std::string written = onnx::front(tensor.layout, tensor.kept) + elements + tensor.kept.fields;
    return fmt::format("{}\t{}\t{}\t{}", type_name(tensor.layout), fmt::join(tensor.layout.shape, ","),
                       hex(elements), hex(written));
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const auto dump_file = what == "safetensors" ? &dump_safetensors : what == "pb" ? &dump_pb : &dump;
  for (std::uint32_t size = 0; std::fread(&size, sizeof size, 1, stdin) == 1;) {
    std::string file(size, '\0');
    if (std::fread(file.data(), 1, size, stdin) != size) return 1;
    if (std::puts(dump_file(std::as_bytes(std::span(file))).c_str()) < 0) return 1;
  }
  return 0;
}
