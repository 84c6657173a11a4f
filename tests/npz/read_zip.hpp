#pragma once

#include <span>

#include "npz/archive.hpp"
#include "support/archives.hpp"

namespace clipper::zip {

inline npz::ReadAt reader_of(std::string_view bytes) {
  return [bytes](std::span<std::byte> to, std::uint64_t at) {
    const std::string_view found = bytes.substr(std::min<std::uint64_t>(at, bytes.size()), to.size());
    std::ranges::copy(std::as_bytes(std::span(found)), to.begin());
    return found.size();
  };
}

inline npz::Archive read(std::string_view bytes) {
  return npz::read_archive(reader_of(bytes), bytes.size());
}

}  // namespace clipper::zip
