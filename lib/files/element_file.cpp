#include "files/element_file.hpp"

#include <fmt/format.h>

#include <array>
#include <span>

#include "element/element.hpp"
#include "error.hpp"
#include "files/input_file.hpp"

namespace clipper {

Given read_number(const std::string& path) {
  InputFile file = InputFile::open(path);
  const npy::Header header = read_header(file, std::nullopt, nullptr, std::nullopt, npy::Opaque::taken);
  if (header.count != 1)
    throw Error(ErrorKind::usage,
                fmt::format("{}: expected one element, found shape {}", path, npy::shape_text(header.shape)));
  std::array<std::byte, sizeof(ElementBits)> bytes{};
  const std::span element = std::span(bytes).first(traits(header.dtype).size);
  file.read_exactly(element);
  file.expect_end();
  ElementBits bits = 0;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const std::size_t place = header.order == ByteOrder::little ? i : element.size() - 1 - i;
    bits |= std::to_integer<ElementBits>(element[i]) << (8 * place);
  }
  return {number_of(header.dtype, bits), "@" + path, header.dtype, header.opaque};
}

}  // namespace clipper
