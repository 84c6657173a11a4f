#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "element/tensor_layout.hpp"

namespace clipper {

/// An array that gives min, max, scale or bias for each element of the tensors to whose shapes it broadcasts.
/// All functions may be called from many threads. Errors name the file.
class ParameterArray {
 public:
  ParameterArray() = default;
  ParameterArray(const ParameterArray&) = delete;
  ParameterArray& operator=(const ParameterArray&) = delete;
  virtual ~ParameterArray() = default;

  [[nodiscard]] virtual const TensorLayout& layout() const = 0;

  /// All elements as in the file, if they are held in memory; empty if they must be read().
  [[nodiscard]] virtual std::span<const std::byte> held() const = 0;

  /// Reads the elements from `position` on, in the order of the file, with the file's byte order. Error{io}
  /// if the file is shorter now.
  virtual void read(std::uint64_t position, std::span<std::byte> elements) const = 0;

  /// Identifies dtype, shape and elements of the array, whatever its name. Reads the whole array.
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;

  /// Error{io} if the file was written to since it was opened.
  virtual void expect_unwritten() const = 0;

  /// Whether the array's file is the file with this status.
  [[nodiscard]] virtual bool is(const struct stat& file) const = 0;
};

}  // namespace clipper
