#pragma once

#include <string>
#include <vector>

#include "element/tensor_layout.hpp"
#include "files/input_file.hpp"
#include "npy/header.hpp"

/// Files that hold one tensor and are no .npy files: raw files, and ONNX's TensorProto. They are read as .npy
/// files: the contents of their InputFile begin with a header that the file does not have.
namespace clipper {

/// Makes an open file such a one, if `given` or its name says that it is. A stream is read to its end then.
/// Error{usage} with `given.raw` for a file whose content or name tells that it is another one. Leaves other
/// files as they are.
void take_foreign(InputFile& file, const npy::GivenDType& given);

/// The bytes before and after the elements of a tensor.
struct Around {
  std::string before;
  std::string after{};
};

/// Where a result goes: to the file with this name, which may be of another kind than the input; nothing: it
/// replaces the input.
struct ResultName {
  std::optional<std::string> out;
  bool to_raw = false;
};

/// What is around the elements of the result. The name decides if it ends in .npy or as that of a
/// TensorProto; otherwise the kind of the input does. Error{usage} if `to_raw` contradicts that, Error{input}
/// if such a file cannot hold the result.
[[nodiscard]] Around around_result(const InputFile& input, const TensorLayout& result,
                                   const ResultName& name);

}  // namespace clipper
