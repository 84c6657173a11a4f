#pragma once

#include "cli/clipper.hpp"

/// Safetensors files, as no library writes them.
namespace clipper::testing {

/// A tensor with the bytes of its elements.
struct Part {
  std::string name;
  std::string type;
  std::string data;
};

inline std::string floats(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  return bytes;
}

/// A file with these 1-D tensors and `front` before them in the header; the spaces are no library's.
inline std::string file_of(const std::vector<Part>& parts, const std::string& front = "") {
  std::string header = "{" + front;
  std::string data;
  for (const Part& part : parts) {
    const std::size_t size = part.type == "I64" ? 8 : part.type == "F32" ? 4 : part.type == "BF16" ? 2 : 1;
    header += fmt::format(R"({}"{}": {{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          &part == parts.data() ? "" : ", ", part.name, part.type, part.data.size() / size,
                          data.size(), data.size() + part.data.size());
    data += part.data;
  }
  header += "} \n";
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

}  // namespace clipper::testing
