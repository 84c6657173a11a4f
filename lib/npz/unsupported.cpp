#include "error.hpp"
#include "npz/codecs.hpp"
#include "npz/refuse.hpp"
#include "npz/zip_records.hpp"

/// What is compiled instead of codecs.cpp if ISA-L or zlib is missing. No file is an
/// archive then, so that nobody calls the other functions.
namespace clipper::npz {
namespace {

[[noreturn]] void refuse_archives() {
  refuse("built without ISA-L and zlib, which .npz archives need");
}

}  // namespace

bool is_supported() {
  return false;
}

std::uint32_t crc32(std::span<const std::byte> /*bytes*/, std::uint32_t /*before*/) {
  refuse_archives();
}

std::uint32_t crc32_of_both(std::uint32_t /*first*/, std::uint32_t /*second*/, std::uint64_t /*size*/) {
  refuse_archives();
}

std::vector<std::byte> deflate_piece(std::span<const std::byte> /*bytes*/, bool /*last*/) {
  refuse_archives();
}

void inflate(const ReadAt& /*archive*/, std::uint64_t /*begin*/, const Contents& /*contents*/,
             const std::function<void(std::span<const std::byte>)>& /*write*/) {
  refuse_archives();
}

}  // namespace clipper::npz
