#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "compare/comparison.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"

namespace clipper {

/// A tensor to compare: an open file or stream, read up to its first element, or elements in memory.
struct TensorInput {
  TensorInput(InputFile& opened, const TensorLayout& its_layout) : file(&opened), layout(its_layout) {}
  TensorInput(const std::byte* memory, const TensorLayout& its_layout)
      : layout(its_layout), elements(memory) {}

  [[nodiscard]] bool is_regular() const { return file == nullptr || file->is_regular(); }

  InputFile* file = nullptr;  ///< null for elements in memory
  const TensorLayout& layout;
  const std::byte* elements = nullptr;
};

/// How dtype or shape differ, for people. With `any_dtype`, numbers and bool may have any dtype: "shape (2,),
/// expected (1, 2)". Empty if the elements can be compared.
[[nodiscard]] std::string difference_as_whole(const TensorLayout& actual, const TensorLayout& expected,
                                              bool any_dtype = false);

/// Called with many pairs at a time before they are compared, from many threads, in any order. May change the
/// actual elements; must do so if they have another dtype than the expected ones. `read` are then the
/// elements as they were read and decoded, which end where pairs.actual ends or begin where it begins, or
/// elsewhere; otherwise they are pairs.actual.
using BeforeComparison = std::function<void(const ElementPairs& pairs, const std::byte* read)>;

/// Compares two tensors of the same shape. If the dtypes differ, `before` makes them the same; without it the
/// elements are compared as numbers of common_dtypes(). Positions
/// are those of the expected file. Memory orders may differ only if both are regular files (Error{input}).
/// Error{input} if a stream is shorter or longer than its header says, Error{io} if a file changes while it
/// is read. engine.done() counts the bytes of one of the tensors.
[[nodiscard]] ElementComparison compare(Engine& engine, const TensorInput& actual,
                                        const TensorInput& expected, const ComparisonRule& rule,
                                        const BeforeComparison& before = {});

}  // namespace clipper
