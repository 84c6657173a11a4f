// Replaces codecs.cpp in a build without zlib and ISA-L.
#include "error.hpp"
#include "npz/codecs.hpp"

namespace clipper::npz {
namespace {

[[noreturn]] void lack() {
  throw Error(ErrorKind::input,
              "this clipper was built without npz; one configured with -DCLIPPER_FORMATS=npz has it");
}

}  // namespace

void expect_codecs() {
  lack();
}

std::string_view libraries() noexcept {
  return "none, built without npz";
}

std::uint32_t crc32(std::span<const std::byte> /*bytes*/, std::uint32_t /*before*/) {
  lack();
}

std::uint32_t crc32_of_both(std::uint32_t /*first*/, std::uint32_t /*second*/, std::uint64_t /*size*/) {
  lack();
}

std::vector<std::byte> deflate_piece(std::span<const std::byte> /*bytes*/, bool /*last*/) {
  lack();
}

void inflate(const ReadAt& /*archive*/, std::uint64_t /*begin*/, const Contents& /*contents*/,
             const std::function<void(std::span<const std::byte>)>& /*write*/) {
  lack();
}

}  // namespace clipper::npz
