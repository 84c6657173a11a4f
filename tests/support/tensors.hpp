#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// .npy files as bytes, made without the library under test.
namespace clipper::testing {

/// A file of version 1.0 whose elements begin at a multiple of `alignment`. With 64 it equals what np.save
/// writes for short shapes.
inline std::string npy_file(std::string_view descr, std::string_view fortran_order, std::string_view shape,
                            std::string_view elements, std::size_t alignment = 64) {
  std::string text = "{'descr': '";
  text.append(descr).append("', 'fortran_order': ").append(fortran_order);
  text.append(", 'shape': ").append(shape).append(", }");
  if (alignment == 64) text.resize(std::max<std::size_t>(text.size(), 117), ' ');
  while ((10 + text.size() + 1) % alignment != 0) text += ' ';
  text += '\n';
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  return bytes.append(text).append(elements);
}

template <class T>
std::string bytes_of(const std::vector<T>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

/// A file in C order: "<M8[D]"; 1-D without a shape such as "(2, 3)".
template <class T>
std::string tensor_of(std::string_view descr, const std::vector<T>& elements, std::string_view shape = "") {
  const std::string line = fmt::format("({},)", elements.size());
  return npy_file(descr, "False", shape.empty() ? line : shape, bytes_of(elements));
}

inline std::string float32_file(const std::vector<float>& elements) {
  return tensor_of("<f4", elements);
}

/// `count` unordered floats from -20 to 20.
inline std::vector<float> scattered_floats(std::size_t count) {
  std::vector<float> elements(count);
  std::uint32_t state = 1;
  for (float& element : elements) {
    state = state * 1664525 + 1013904223;
    element = static_cast<float>(state >> 8) * (40.0F / 0x1p24F) - 20.0F;
  }
  return elements;
}

inline std::vector<float> clipped(std::vector<float> elements, float min, float max) {
  for (float& element : elements) element = std::clamp(element, min, max);
  return elements;
}

/// Reverses the byte order of elements of `size` bytes.
inline std::string byte_swapped(std::string elements, std::size_t size) {
  for (std::size_t at = 0; at < elements.size(); at += size)
    std::reverse(elements.data() + at, elements.data() + at + size);
  return elements;
}

}  // namespace clipper::testing
