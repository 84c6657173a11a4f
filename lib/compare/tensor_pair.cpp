#include "compare/tensor_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>

#include "clip/codec.hpp"
#include "compare/mixed_comparison.hpp"
#include "element/boxes.hpp"
#include "error.hpp"

namespace clipper {
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
        meaning_(actual.layout.meaning == expected.layout.meaning ? expected.layout.meaning : Meaning{}) {
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
    std::array<std::uint64_t, kPairBlock> a;
    std::array<std::uint64_t, kPairBlock> e;
    for (std::size_t i = 0; i < count; i += kPairBlock) {
      const std::size_t length = std::min(kPairBlock, count - i);
      widen({actual_dtype_, actual + i * traits(actual_dtype_).size}, common_.actual,
            std::span(a).first(length));
      widen({dtype_, expected + i * traits(dtype_).size}, common_.expected, std::span(e).first(length));
      add_each({.dtype = sum_.dtype,
                .actual = reinterpret_cast<std::byte*>(a.data()),
                .expected = reinterpret_cast<std::byte*>(e.data()),
                .count = length,
                .position = position + i,
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
  Meaning meaning_;
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
  const auto is_number = [](const TensorLayout& layout) {
    return layout.meaning.kind == Meaning::Kind::number || layout.meaning.kind == Meaning::Kind::boolean;
  };
  const bool may_differ = any_dtype && is_number(actual) && is_number(expected);
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

}  // namespace clipper
