#pragma once

#include <optional>
#include <string>

#include "compare/comparison.hpp"
#include "compare/tensor_pair.hpp"
#include "contract/plan.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "files/formats.hpp"

/// Compares two files, from their headers to the difference file.
namespace clipper {

/// Which files match, and where to write the differences.
struct CompareSettings {
  ComparisonRule rule;
  bool whole_files = false;                    ///< compare all bytes of the files, as uint8 elements
  bool any_dtype = false;                      ///< compare elements of different dtypes as numbers
  bool strict_header = false;                  ///< the headers must have the same bytes
  Reading reading{};                           ///< of both files, which are open
  std::optional<std::string> difference_file;  ///< path for |a - e|; see DifferenceFile
};

/// The result of comparing two files.
struct FileComparison {
  std::string reason;            ///< why no elements were compared; empty if they were
  TensorLayout layout;           ///< of the expected file
  ElementComparison comparison;  ///< positions are those of `layout`
};

/// Error{input} or Error{io} for a file that cannot be read, Error{usage} if the difference file is one of
/// the two. If it throws, `result` has what was found until then.
void compare_files(Engine& engine, const CompareSettings& settings, InputFile& actual, InputFile& expected,
                   FileComparison& result);

/// Clips the input by the plan and compares the result with `golden` in one pass over both. Writes nothing.
/// The headers of the plan and of `golden` must agree in dtype and shape. Error{input} for the first NaN if
/// the plan refuses NaN; also throws what compare() throws.
[[nodiscard]] ElementComparison verify_result(Engine& engine, const Plan& plan, InputFile& input,
                                              const TensorInput& golden, const ComparisonRule& rule);

}  // namespace clipper
