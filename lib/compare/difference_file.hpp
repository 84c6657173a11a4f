#pragma once

#include <cstddef>

#include "compare/comparison.hpp"
#include "files/output_file.hpp"
#include "npy/header.hpp"

namespace clipper {

/// The tensor of |a - e|, of the shape and memory order that the expected one has: float64 of float64,
/// float32 of other floats, the unsigned integer of the same size of integers. The difference of float16,
/// bfloat16 and float32 is rounded to float32, once; integers are exact. Equal elements, infinities among
/// them, differ by 0, and NaN from NaN if `nan_equal`; otherwise NaN is the difference from NaN.
class DifferenceFile {
 public:
  /// `output` is a regular file.
  DifferenceFile(OutputFile output, const npy::Header& expected, bool nan_equal);

  /// Calculates and writes those of these pairs. Callable from many threads.
  void write(const ElementPairs& pairs) const;

  /// Puts the file in place, of which nothing is visible before.
  void commit() { output_.commit(); }

 private:
  OutputFile output_;
  bool nan_equal_;
  std::size_t data_offset_ = 0;
};

}  // namespace clipper
