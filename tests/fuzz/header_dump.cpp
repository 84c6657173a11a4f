#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "error.hpp"
#include "npy/header.hpp"

/// For headers_vs_numpy.py. Standard input: headers, each after its length in 4 bytes, little-endian.
/// Standard output: for each header a line, "refused" or DTYPE ORDER fortran|c OFFSET SHAPE, separated by
/// tabs.
namespace {

std::string dump(std::span<const std::byte> file) {
  using namespace clipper;
  try {
    const npy::Header header = npy::parse(file);
    return fmt::format("{}\t{}\t{}\t{}\t{}", traits(header.dtype).name,
                       header.order == ByteOrder::little ? '<' : '>', header.fortran_order ? "fortran" : "c",
                       header.data_offset, fmt::join(header.shape, ","));
  } catch (const Error&) {
    return "refused";
  }
}

}  // namespace

int main() {
  for (std::uint32_t size = 0; std::fread(&size, sizeof size, 1, stdin) == 1;) {
    std::string file(size, '\0');
    if (std::fread(file.data(), 1, size, stdin) != size) return 1;
    if (std::puts(dump(std::as_bytes(std::span(file))).c_str()) < 0) return 1;
  }
  return 0;
}
