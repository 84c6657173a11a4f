#include "compare/compare_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "compare/difference_file.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "npy/header.hpp"
#include "parallel/chunks.hpp"

namespace clipper {
namespace {

constexpr Term kDifferences{"diff_out", "the difference file"};

/// The layout of a tensor whose elements are all bytes of a file.
TensorLayout layout_of_bytes(const InputFile& file) {
  if (!file.is_regular())
    throw Error(ErrorKind::input,
                file.path() + ": " + Term{"bytes", "a comparison of bytes"} + " needs a regular file");
  TensorLayout layout;
  layout.dtype = DType::uint8;
  layout.shape = {static_cast<std::int64_t>(file.size())};
  layout.count = file.size();
  return layout;
}

std::string header_difference(const std::vector<std::byte>& actual, const std::vector<std::byte>& expected) {
  const auto at = std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end()).first;
  return at == actual.end() && actual.size() == expected.size()
             ? ""
             : fmt::format("the headers differ at byte {}", at - actual.begin());
}

/// Returns the actual layout. Sets result.layout to the expected one, and result.reason if the files differ.
TensorLayout compare_headers(const CompareSettings& settings, InputFile& actual, InputFile& expected,
                             FileComparison& result) {
  if (settings.whole_files) {
    for (InputFile* const file : {&actual, &expected}) file->set_data_begin(0);
    TensorLayout layout = layout_of_bytes(actual);
    result.layout = layout_of_bytes(expected);
    if (layout.count != result.layout.count)
      result.reason = fmt::format("{} bytes, expected {}", layout.count, result.layout.count);
    return layout;
  }
  std::vector<std::byte> actual_bytes;
  std::vector<std::byte> expected_bytes;
  const auto read = [&](InputFile& file, std::vector<std::byte>& bytes) {
    TensorLayout layout = read_header(file, settings.reading, &bytes, std::nullopt, npy::Opaque::refused,
                                      npy::Types::comparable);
    if (!bytes.empty() || !settings.strict_header) return layout;
    const std::string written = npy::format(layout);  // as if numpy had written the file
    const std::span header = std::as_bytes(std::span(written));
    bytes.assign(header.begin(), header.end());
    return layout;
  };
  TensorLayout layout = read(actual, actual_bytes);
  result.layout = read(expected, expected_bytes);
  result.reason = difference_as_whole(layout, result.layout, settings.any_dtype);
  if (result.reason.empty() && settings.strict_header)
    result.reason = header_difference(actual_bytes, expected_bytes);
  return layout;
}

DifferenceFile create_difference_file(const std::string& path, const TensorInput& actual,
                                      const TensorInput& expected, bool nan_equal, Caching caching) {
  for (const TensorInput& tensor : {actual, expected})
    if (tensor.is_regular() && find_file(path) == id_of(tensor.file->status()))
      throw Error(ErrorKind::usage,
                  kDifferences + fmt::format(": {} is one of the compared files; name another file", path));
  OutputFile output = OutputFile::create(path, OutputFile::Existing::replace, OutputFile::Durability::none,
                                         actual.file->mode_of_copy() & expected.file->mode_of_copy());
  if (!output.is_regular())
    throw Error(ErrorKind::usage, kDifferences + fmt::format(": {} is not a regular file", path));
  output.set_caching(caching);
  return {std::move(output), expected.layout, nan_equal};
}

ElementComparison compare_elements(Engine& engine, const CompareSettings& settings, const TensorInput& actual,
                                   const TensorInput& expected) {
  if (!settings.difference_file) return compare(engine, actual, expected, settings.rule);
  if (settings.whole_files)
    throw Error(ErrorKind::usage, kDifferences + ": is not written for types that clipper does not read");
  const Meaning& meaning = expected.layout.meaning;
  if (meaning.is_time() || meaning.is_complex())
    throw Error(ErrorKind::usage,
                kDifferences + fmt::format(": is not written for {}", type_name(expected.layout)));
  DifferenceFile file = create_difference_file(*settings.difference_file, actual, expected,
                                               settings.rule.nan_equal, settings.reading.caching);
  const auto write = [&](const ElementPairs& pairs, const std::byte* /*read*/) { file.write(pairs); };
  ElementComparison comparison = compare(engine, actual, expected, settings.rule, write);
  file.commit();
  return comparison;
}

}  // namespace

void compare_files(Engine& engine, const CompareSettings& settings, InputFile& actual, InputFile& expected,
                   FileComparison& result) {
  const TensorLayout layout = compare_headers(settings, actual, expected, result);
  if (!result.reason.empty()) return;
  result.comparison = compare_elements(engine, settings, {actual, layout}, {expected, result.layout});
}

ElementComparison verify_result(Engine& engine, const Plan& plan, InputFile& input, const TensorInput& golden,
                                const ComparisonRule& rule) {
  Plan in_order = decoded(plan);  // positions of pairs are those of the golden file
  in_order.input.fortran_order = golden.layout.fortran_order;
  in_order.refuse_nan = plan.refuse_nan && !plan.looks_for_nan();
  if (in_order.arrays) lay_out(*in_order.arrays, plan.input.shape, golden.layout.fortran_order);
  engine.prepare(plan.input_size());
  TensorClip clip(in_order, engine.kernel_options(), input.path());
  FirstPosition first_nan;
  const auto clip_actual = [&](const ElementPairs& pairs, const std::byte* read) {
    clip.clip(pairs.position, read, pairs.actual, pairs.count, Counting::off);
    if (plan.looks_for_nan())
      if (const auto nan = find_nan(plan.operation, pairs.actual, pairs.count))
        first_nan.note(pairs.position + *nan);
  };
  ElementComparison comparison = compare(engine, {input, plan.input}, golden, rule, clip_actual);
  clip.expect_valid();
  if (const std::optional<std::uint64_t> nan = first_nan.position())
    throw Error(ErrorKind::input,
                fmt::format("{}: NaN at {}", input.path(), index_text(golden.layout, *nan)));
  return comparison;
}

}  // namespace clipper
