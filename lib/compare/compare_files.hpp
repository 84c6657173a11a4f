#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compare/comparison.hpp"
#include "compare/tensor_pair.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "npy/header.hpp"

/// Two files compared, from opening them to the difference file.
namespace clipper {

/// When two files are the same.
struct CompareSettings {
  ComparisonRule rule;
  bool whole_files = false;                    ///< all bytes must be the same: they are uint8 elements then
  bool strict_header = false;                  ///< the headers' bytes must be the same, too
  std::optional<DType> dtype;                  ///< what the user says that the files are: see npy::parse()
  bool ignore_trailing = false;                ///< bytes after the arrays
  std::optional<std::string> difference_file;  ///< where |a - e| is written; see DifferenceFile
};

/// What came of comparing two files.
struct FileComparison {
  std::string reason;  ///< why no elements were compared; otherwise empty, and what follows is known
  npy::Header header;  ///< of the expected one
  ElementComparison comparison;  ///< positions are those of `header`
};

/// Error{input} or {io} for a file that cannot be read, Error{usage} for a difference file that is one of the
/// two. The result is filled as far as the work gets.
void compare_files(Engine& engine, const CompareSettings& settings, InputFile& actual, InputFile& expected,
                   FileComparison& result);

}  // namespace clipper
