// Replaces library.cpp in a static program, which cannot load libraries.
#include <fmt/format.h>
#include <isa-l.h>
#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "error.hpp"
#include "npz/library.hpp"

namespace clipper::npz {
namespace {

struct Linked {
  std::string_view name;
  void* address;
};

template <class Function>
Linked row(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

Library::Library(const char* /*soname*/) : handle_(nullptr) {}

void* Library::address(const char* name) const {
  static const Linked all[] = {
      row("crc32_gzip_refl", ::crc32_gzip_refl),
      row("isal_inflate", ::isal_inflate),
      row("isal_inflate_init", ::isal_inflate_init),
      row("crc32_combine", ::crc32_combine),
      row("deflate", ::deflate),
      row("deflateBound", ::deflateBound),
      row("deflateEnd", ::deflateEnd),
      row("deflateInit2_", ::deflateInit2_),
  };
  const auto* const found =
      std::find_if(std::begin(all), std::end(all), [&](const Linked& linked) { return linked.name == name; });
  if (found == std::end(all)) throw Error(ErrorKind::io, fmt::format("{} is not linked", name));
  return found->address;
}

}  // namespace clipper::npz
