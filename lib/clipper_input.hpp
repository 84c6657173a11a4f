#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "clipper.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "formats/container.hpp"
#include "npy/header.hpp"

/// What the functions of clipper.hpp are given, as the rooms below take it. Error{usage} for what contradicts
/// itself.
namespace clipper {

/// The layout of a tensor of any meaning, whatever its strides.
[[nodiscard]] TensorLayout layout_of_any(const Tensor& tensor);

/// The layout of a tensor of numbers, whatever its strides.
[[nodiscard]] TensorLayout layout_of_numbers(const Tensor& tensor);

/// The strides of a tensor with this layout.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Tensor& tensor, const TensorLayout& layout);

/// The elements of a view without gaps: a copy if it has some.
class Packed {
 public:
  Packed(const TensorView& view, TensorLayout layout);

  [[nodiscard]] const TensorLayout& layout() const { return layout_; }
  [[nodiscard]] const std::byte* elements() const { return elements_; }

 private:
  TensorLayout layout_;
  const std::byte* elements_;
  std::vector<std::byte> copy_;
};

/// An open file and its header.
struct Opened {
  Opened(const std::string& path, const Reading& how, npy::Types types);

  InputFile input;
  npy::Header header;
};

/// The path of an input for the rooms below, where "-" and FILE:MEMBER mean what they mean to the program.
[[nodiscard]] std::string input_named(const std::filesystem::path& file, const FileOptions& options);

[[nodiscard]] Engine::Options engine_options(const FileOptions& options);

}  // namespace clipper
