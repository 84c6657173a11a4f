#include "compare/compare_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <mutex>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "compare/match.hpp"
#include "element/element.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"
#include "memory/elements.hpp"
#include "npy/header.hpp"
#include "parallel/pool.hpp"

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
    const auto layout = static_cast<const TensorLayout&>(read_header(
        file, settings.reading, &bytes, std::nullopt, npy::Opaque::refused, npy::Types::comparable));
    if (bytes.empty() && settings.strict_header)
      throw Error(ErrorKind::input, file.path() + ": has no .npy header, which " +
                                        Term{"header", "header=", Says::setting} + "strict compares");
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
  expect_no_member(path);
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
  const LogicalType& meaning = expected.layout.meaning;
  if (meaning.is_time() || meaning.is_complex())
    throw Error(ErrorKind::usage,
                kDifferences + fmt::format(": is not written for {}", type_name(expected.layout)));
  DifferenceFile file = create_difference_file(*settings.difference_file, actual, expected,
                                               settings.rule.nan_equal, settings.reading.caching);
  const auto write = [&](const ElementPairs& pairs, const std::byte* /*read*/) { file.write(pairs); };
  ElementComparison comparison = compare(engine, actual, expected, settings.rule, write);
  file.commit(settings.placing);
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
  const bool looks_for_nan = plan.then.empty() && plan.looks_for_nan() && !plan.has_nodata() && !plan.mask;
  in_order.refuse_nan = plan.refuse_nan && !looks_for_nan;
  const auto reorder = [&](Plan& stage) {
    stage.input.fortran_order = golden.layout.fortran_order;
    for (std::optional<Broadcast>* const arrays : {&stage.arrays, &stage.missing_figures})
      if (*arrays) lay_out(**arrays, stage.input.shape, golden.layout.fortran_order);
  };
  reorder(in_order);
  std::ranges::for_each(in_order.then, reorder);
  engine.prepare(plan.input_size());
  TensorClip clip(in_order, engine.kernel_options(), input.path());
  FirstPosition first_nan;
  const auto clip_actual = [&](const ElementPairs& pairs, const std::byte* read) {
    clip.clip(pairs.position, read, pairs.actual, pairs.count, Counting::off);
    if (looks_for_nan)
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

namespace {

/// Tensors that share the memory of a chunk begin at cache lines.
constexpr std::size_t kLine = 64;

/// The bytes that each of `tensors` tensors gets of a chunk's memory: `data_size`, rounded up, if they all
/// fit.
std::size_t prepare_rooms(Engine& engine, std::uint64_t data_size, std::size_t tensors) {
  if (data_size > engine.chunk_size()) {
    engine.prepare(data_size);
  } else {
    const std::size_t whole = (data_size + kLine - 1) / kLine * kLine;
    engine.prepare(tensors * whole);
    if (tensors * whole <= engine.chunk_size()) return whole;
  }
  return engine.chunk_size() / tensors / kLine * kLine;
}

/// The dtype whose tolerance a preset has for both.
DType less_precise(DType actual, DType expected) {
  if (!is_floating(actual)) return expected;
  return !is_floating(expected) || traits(actual).fraction_bits < traits(expected).fraction_bits ? actual
                                                                                                 : expected;
}

/// The sum of the comparisons of many threads.
class Total {
 public:
  Total(const TensorInput& actual, const TensorInput& expected, const ComparisonRule& rule,
        const BeforeComparison& before, SimdLevel level)
      : level_(level),
        rule_(for_dtype(rule, less_precise(actual.layout.dtype, expected.layout.dtype))),
        before_(before),
        dtype_(expected.layout.dtype),
        element_size_(expected.layout.element_size()),
        actual_dtype_(before ? dtype_ : actual.layout.dtype),
        meaning_(actual.layout.meaning == expected.layout.meaning ? expected.layout.meaning : LogicalType{}) {
    sum_.dtype = dtype_;
    if (actual_dtype_ != dtype_) {
      common_ = common_dtypes(actual_dtype_, dtype_);
      sum_.dtype = common_.expected;
      if (common_.actual != common_.expected) sum_.actual_dtype = common_.actual;
    }
    sum_.meaning = meaning_;
    sum_.listed = rule.listed;
    if (rule.metrics) sum_.metrics.emplace();
  }

  void add(const std::byte* read, std::byte* actual, std::byte* expected, std::size_t count,
           std::uint64_t position) {
    if (actual_dtype_ != dtype_) {
      add_converted(read, expected, count, position);
      return;
    }
    const ElementPairs pairs{dtype_, actual, expected, count, position, meaning_};
    if (before_) before_(pairs, read);
    if (rule_.each == nullptr) return add(clipper::compare(pairs, rule_, level_));
    const std::size_t size = element_size_;
    for (std::size_t i = 0; i < count; i += kPairBlock) {
      ElementPairs block = pairs;
      block.actual += i * size;
      block.expected += i * size;
      block.count = std::min(kPairBlock, count - i);
      block.position += i;
      add_each(block);
    }
  }

  [[nodiscard]] const ElementComparison& sum() const { return sum_; }
  [[nodiscard]] bool is_in_order() const { return rule_.each != nullptr; }

 private:
  /// Compares elements of different dtypes as numbers.
  void add_converted(const std::byte* actual, const std::byte* expected, std::size_t count,
                     std::uint64_t position) {
    const std::size_t parts = meaning_.is_complex() ? 2 : 1;
    std::array<std::uint64_t, 2 * kPairBlock> a;
    std::array<std::uint64_t, 2 * kPairBlock> e;
    for (std::size_t i = 0; i < count; i += kPairBlock) {
      const std::size_t length = std::min(kPairBlock, count - i);
      widen({actual_dtype_, actual + i * parts * traits(actual_dtype_).size}, common_.actual,
            std::span(a).first(length * parts));
      widen({dtype_, expected + i * element_size_}, common_.expected, std::span(e).first(length * parts));
      add_each({.dtype = sum_.dtype,
                .actual = reinterpret_cast<std::byte*>(a.data()),
                .expected = reinterpret_cast<std::byte*>(e.data()),
                .count = length,
                .position = position + i,
                .meaning = meaning_,
                .actual_dtype = sum_.actual_dtype});
    }
  }

  /// Compares at most kPairBlock pairs. Passes on all their mismatches, if somebody wants them.
  void add_each(const ElementPairs& block) {
    if (rule_.each == nullptr) return add(clipper::compare(block, rule_, level_));
    ComparisonRule rule = rule_;
    rule.listed = kPairBlock;
    ElementComparison result = clipper::compare(block, rule, level_);
    if (!result.first.empty()) (*rule_.each)(result);
    result.first.resize(std::min(result.first.size(), rule_.listed));
    result.listed = rule_.listed;
    add(result);
  }

  void add(const ElementComparison& result) {
    const std::lock_guard lock(mutex_);
    sum_ += result;
  }

  SimdLevel level_;
  ComparisonRule rule_;
  const BeforeComparison& before_;
  DType dtype_;
  std::size_t element_size_;
  DType actual_dtype_;
  PairDTypes common_{};  ///< if the two differ
  LogicalType meaning_;
  std::mutex mutex_;
  ElementComparison sum_;
};

void read(const TensorInput& tensor, std::span<std::byte> bytes, std::uint64_t position) {
  const std::uint64_t begin = position * tensor.layout.element_size();
  if (tensor.file != nullptr)
    tensor.file->read_next_at(bytes, tensor.file->data_begin() + begin);
  else if (!bytes.empty())
    std::memcpy(bytes.data(), tensor.elements + begin, bytes.size());
  decode(tensor.layout, bytes);
}

void compare_in_order(Engine& engine, const TensorInput& actual, const TensorInput& expected, Total& total) {
  const std::size_t from = actual.layout.element_size();
  const std::size_t size = expected.layout.element_size();
  const std::size_t largest = std::max(from, size);
  std::size_t room = prepare_rooms(engine, expected.layout.count * largest, 2);
  const std::size_t block = kPairBlock * largest;  // metrics add blocks, which must not depend on the threads
  if (room > block) room = room / block * block;
  const Chunks chunks(expected.layout.count, largest, std::max(room, kLine), 0);
  const bool parallel = actual.is_regular() && expected.is_regular() && !total.is_in_order();
  engine.for_each_chunk(chunks.size(), parallel, [&](std::uint64_t i, std::byte* memory) {
    const auto [begin, count] = chunks[i];
    std::byte* const elements = memory + count * (std::max(from, size) - from);
    read(actual, {elements, count * from}, begin);
    read(expected, {memory + room, count * size}, begin);
    total.add(elements, memory, memory + room, count, begin);
    engine.add_done(count * size);
  });
}

void read_box(const TensorInput& tensor, const std::vector<FileRange>& ranges, std::byte* memory) {
  const std::size_t size = tensor.layout.element_size();
  for (const FileRange& range : ranges)
    read(tensor, {memory + range.at * size, range.count * size}, range.position);
}

void compare_by_index(Engine& engine, const TensorInput& actual, const TensorInput& expected,
                      const ComparisonRule& rule, Total& total) {
  if (!actual.is_regular() || !expected.is_regular())
    throw Error(ErrorKind::input,
                fmt::format("{}: is in {} order and {} is not; to compare them, both must be regular files",
                            actual.file->path(), actual.layout.fortran_order ? "Fortran" : "C",
                            expected.file->path()));
  const std::size_t from = actual.layout.element_size();
  const std::size_t size = expected.layout.element_size();
  const std::size_t largest = std::max(from, size);
  const std::size_t room = prepare_rooms(engine, expected.layout.count * largest, 3);
  // A size that does not depend on the number of threads, as far as metrics are calculated of them.
  constexpr std::size_t kMetricsRoom = 16UL << 10;
  const Boxes boxes(expected.layout.shape, (rule.metrics ? std::min(room, kMetricsRoom) : room) / largest);
  engine.for_each_chunk(boxes.size(), !total.is_in_order(), [&](std::uint64_t i, std::byte* memory) {
    const Box box = boxes[i];
    const std::size_t length = box.count() * from;
    const std::vector<FileRange> ranges = boxes.ranges(box, expected.layout.fortran_order);
    read_box(actual, boxes.ranges(box, actual.layout.fortran_order), memory);
    read_box(expected, ranges, memory + room);
    std::byte* const reordered = memory + 2 * room;
    reorder(box, actual.layout.fortran_order, from, {memory, length}, {reordered, length});
    std::byte* const compared = from == size ? reordered : memory;
    for (const FileRange& range : ranges)
      total.add(reordered + range.at * from, compared + range.at * size, memory + room + range.at * size,
                range.count, range.position);
    engine.add_done(box.count() * size);
  });
}

void check_end(const TensorInput& tensor) {
  if (!tensor.is_regular())
    tensor.file->expect_end();
  else if (tensor.file != nullptr)
    tensor.file->expect_unwritten();
}

}  // namespace

std::string difference_as_whole(const TensorLayout& actual, const TensorLayout& expected, bool any_dtype) {
  using enum LogicalType::Kind;
  const auto are = [&](std::initializer_list<LogicalType::Kind> kinds) {
    return std::ranges::count(kinds, actual.meaning.kind) +
               std::ranges::count(kinds, expected.meaning.kind) ==
           2;
  };
  const bool may_differ = any_dtype && (are({number, boolean}) || are({complex}));
  if (!may_differ && (actual.dtype != expected.dtype || actual.meaning != expected.meaning))
    return fmt::format("dtype {}, expected {}", type_name(actual), type_name(expected));
  if (actual.shape != expected.shape)
    return fmt::format("shape {}, expected {}", shape_text(actual.shape), shape_text(expected.shape));
  return "";
}

ElementComparison compare(Engine& engine, const TensorInput& actual, const TensorInput& expected,
                          const ComparisonRule& rule, const BeforeComparison& before) {
  Total total(actual, expected, rule, before, engine.kernel_options().level);
  if (actual.layout.fortran_order == expected.layout.fortran_order || has_one_order(expected.layout))
    compare_in_order(engine, actual, expected, total);
  else
    compare_by_index(engine, actual, expected, rule, total);
  check_end(actual);
  check_end(expected);
  return total.sum();
}

namespace {

constexpr std::size_t kBlock = 8192;  // elements written at a time, from the thread's stack

template <class T>
using DifferenceOf = std::conditional_t<std::is_integral_v<T>, UnsignedOfSize<sizeof(T)>,
                                        std::conditional_t<std::same_as<T, double>, double, float>>;

/// The dtype of DifferenceOf<T>.
DType difference_dtype(DType dtype) {
  const bool floats = is_floating(dtype);
  const std::size_t size = std::max(traits(dtype).size, floats ? sizeof(float) : 1);
  const auto is_same = [&](const DTypeTraits& row) {
    return row.size == size && row.kind == (floats ? NumberKind::floating : NumberKind::unsigned_integer);
  };
  return std::ranges::find_if(kDTypes, is_same)->dtype;
}

template <class T>
DifferenceOf<T> difference(T a, T e, bool nan_equal) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return distance(a, e);
  } else {
    const auto x = static_cast<DifferenceOf<T>>(as_double(a));
    const auto y = static_cast<DifferenceOf<T>>(as_double(e));
    if (x == y || (nan_equal && std::isnan(x) && std::isnan(y))) return 0;
    return std::fabs(x - y);
  }
}

}  // namespace

DifferenceFile::DifferenceFile(OutputFile output, const TensorLayout& expected, bool nan_equal)
    : output_(std::move(output)), nan_equal_(nan_equal) {
  const TensorLayout layout{.dtype = difference_dtype(expected.dtype),
                            .fortran_order = expected.fortran_order,
                            .shape = expected.shape,
                            .count = expected.count};
  const std::string text = npy::format(layout);
  data_offset_ = text.size();
  std::ignore = output_.reserve(data_offset_ + layout.data_size());
  output_.write(std::as_bytes(std::span(text)));
}

void DifferenceFile::write(const ElementPairs& pairs) const {
  with_reader(pairs.dtype, [&](auto at) {
    using T = decltype(at(pairs.actual, 0));
    const std::byte* const a = pairs.actual;  // copied: a block of bytes might overlap `pairs`
    const std::byte* const e = pairs.expected;
    const bool nan_equal = nan_equal_;
    std::array<DifferenceOf<T>, kBlock> memory;
    for (std::size_t begin = 0; begin < pairs.count; begin += kBlock) {
      const std::span block = std::span(memory).first(std::min(kBlock, pairs.count - begin));
      for (std::size_t i = 0; i < block.size(); ++i)
        block[i] = difference<T>(at(a, begin + i), at(e, begin + i), nan_equal);
      output_.write_at(std::as_bytes(block),
                       data_offset_ + (pairs.position + begin) * sizeof(DifferenceOf<T>));
    }
  });
}

}  // namespace clipper
