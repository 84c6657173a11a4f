#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "compare/comparison.hpp"
#include "contract/plan.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "formats/formats.hpp"

/// Compares two files, from their headers to the difference file.
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
  void commit(const std::function<void()>& placing = [] {}) { output_.commit(placing); }

 private:
  OutputFile output_;
  bool nan_equal_;
  std::size_t data_offset_ = 0;
};

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

/// How dtype or shape differ, for people: "shape (2,), expected (1, 2)". Empty if the elements can be
/// compared. With `any_dtype`, numbers and bool may have any dtype, and so may complex numbers.
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

/// Which files match, and where to write the differences.
struct CompareSettings {
  ComparisonRule rule;
  bool whole_files = false;                    ///< compare all bytes of the files, as uint8 elements
  bool any_dtype = false;                      ///< compare elements of different dtypes as numbers
  bool strict_header = false;                  ///< the headers must have the same bytes
  Reading reading{};                           ///< of both files, which are open
  std::optional<std::string> difference_file;  ///< path for |a - e|; see DifferenceFile
  std::function<void()> placing = [] {};       ///< called right before it gets its name
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

// The result of a comparison, for people. Differences of floats have three significant digits. The tolerance
// that the text suggests is rounded up, so that the tensors pass with it.

/// What was compared: elements, their bits, or all bytes of the files as uint8 elements.
enum class Compared : std::uint8_t { values, bits, bytes };

/// How the text names tolerances, up to the number: "--atol ".
struct ToleranceNames {
  std::string_view absolute;
  std::string_view ulps;
  std::string_view relative = "";  ///< for report_text() only
};

/// The smallest absolute tolerance, and the fewest ulps, with which all elements would match; nothing if
/// there is none.
[[nodiscard]] std::optional<Difference> passing_absolute(const ElementComparison& comparison,
                                                         Compared compared);
[[nodiscard]] std::optional<std::uint64_t> passing_ulps(const ElementComparison& comparison,
                                                        Compared compared);

/// "[0] actual -3.5 expected 0 (3.5, 1080033280 ulp)"
[[nodiscard]] std::string mismatch_text(const FileComparison& files, Compared compared,
                                        const Mismatch& mismatch);

/// "2 of 6 differ (33.3 %); first ...; max abs ...; would pass with ...". If all match: "max abs ...", or
/// nothing. There must be no reason why no elements were compared.
/// Without names the text has no tolerances. With metrics they come last: "max rel 0.01, RMSE 0.5, cosine
/// 0.99998, SQNR 45.1 dB".
[[nodiscard]] std::string summary_text(const FileComparison& files, Compared compared,
                                       const std::optional<ToleranceNames>& names);

/// The same for an assertion, in lines: how many differ, by which rule; NaN among them; the largest
/// differences; those that are listed; and which of the given tolerances, or any if none is given, would let
/// all pass. At least one pair must differ.
[[nodiscard]] std::string report_text(const FileComparison& files, const ComparisonRule& rule,
                                      const ToleranceNames& names);

}  // namespace clipper
