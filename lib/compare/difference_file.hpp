#pragma once

#include <cstddef>

#include "compare/comparison.hpp"
#include "element/tensor_layout.hpp"
#include "files/output_file.hpp"

namespace clipper {

/// Writes |a - e| as a tensor with the shape and memory order of the expected tensor. Its dtype is float64
/// for float64, float32 for other floats, and the unsigned integer of equal size for integers. Differences of
/// float16, bfloat16 and float32 are rounded to float32 once; those of integers are exact. Equal elements,
/// also infinities, differ by 0. The difference from NaN is NaN, except that two NaNs differ by 0 if
/// `nan_equal`.
class DifferenceFile {
 public:
  /// `output` must be a regular file.
  DifferenceFile(OutputFile output, const TensorLayout& expected, bool nan_equal);

  /// Writes the differences of these pairs. May be called from many threads at once.
  void write(const ElementPairs& pairs) const;

  /// Gives the complete file its name; before, it is not visible.
  void commit() { output_.commit(); }

 private:
  OutputFile output_;
  bool nan_equal_;
  std::size_t data_offset_ = 0;
};

}  // namespace clipper
