#pragma once

#include "comparison.hpp"
#include "engine.hpp"
#include "input_file.hpp"
#include "npy.hpp"

namespace clipper {

/// A tensor to be compared: a file or stream that stands before the first element, and its header.
struct TensorInput {
  InputFile& file;
  const npy::Header& header;
};

/// Compares two tensors of the same dtype and shape, element by element; positions are those of
/// `expected.header`. Memory orders may differ if both are files: Error{input} for streams. Error{input} if a
/// stream is shorter or longer than its header says, Error{io} if a file changes meanwhile.
[[nodiscard]] Comparison compare(Engine& engine, const TensorInput& actual, const TensorInput& expected,
                                 const ComparisonRule& rule);

}  // namespace clipper
