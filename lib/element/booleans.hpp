#pragma once

#include <cstddef>
#include <span>

#include "element/meaning.hpp"

namespace clipper {

/// Elements of a file as numpy takes them: in a tensor of bool every byte but 0 is True, and becomes 1. Other
/// elements stay.
inline void make_plain(const Meaning& meaning, std::span<std::byte> elements) noexcept {
  if (meaning.kind != Meaning::Kind::boolean) return;
  for (std::byte& element : elements) element = std::byte{element != std::byte{0}};
}

}  // namespace clipper
