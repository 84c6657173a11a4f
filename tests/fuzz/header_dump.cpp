#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "error.hpp"
#include "npy/header.hpp"
#include "safetensors/header.hpp"

/// For headers_vs_numpy.py. Standard input: headers, each after its length in 4 bytes, little-endian.
/// Standard output: for each header a line, "refused" or DTYPE ORDER fortran|c OFFSET SHAPE, separated by
/// tabs, and a line of the same with all types that numpy reads: TYPE ORDER fortran|c OFFSET SHAPE SIZE
/// objects|elements. With an argument, for safetensors_vs_library.py: the input is safetensors files, and a
/// line has "refused: WHY", or for each tensor TYPE SHAPE BEGIN END.
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

}  // namespace

int main(int argc, char** /*argv*/) {
  const auto dump_file = argc > 1 ? &dump_safetensors : &dump;
  for (std::uint32_t size = 0; std::fread(&size, sizeof size, 1, stdin) == 1;) {
    std::string file(size, '\0');
    if (std::fread(file.data(), 1, size, stdin) != size) return 1;
    if (std::puts(dump_file(std::as_bytes(std::span(file))).c_str()) < 0) return 1;
  }
  return 0;
}
