#include "clipper.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compare/compare_files.hpp"
#include "compare/tolerance.hpp"
#include "contract/plan.hpp"
#include "element/number.hpp"
#include "engine/clip_file.hpp"
#include "engine/engine.hpp"
#include "engine/first_nan.hpp"
#include "engine/percentile_bounds.hpp"
#include "engine/tensor_clip.hpp"
#include "engine/tensor_percentiles.hpp"
#include "engine/tensor_statistics.hpp"
#include "files/parameter_file.hpp"

namespace clipper {
namespace {

/// Bytes that one thread clips before other threads could start.
constexpr std::size_t kSmall = 4UL << 20;

Counts counts_of(const ElementCounts& counts, std::uint64_t elements) {
  return {elements, counts.raised, counts.lowered, counts.nan, counts.changed};
}

/// Counts the elements of the tensors that were clipped.
class ElementCount : public ClipObserver {
 public:
  void planned(const ClipResult& result) override { elements_ += result.plan->slice.count; }

  [[nodiscard]] Counts counts_of(const ClipResult& result) const {
    return clipper::counts_of(result.counts.value_or(ElementCounts{}), elements_);
  }

 private:
  std::uint64_t elements_ = 0;
};

ClipSettings settings_of(const Request& request, const FileOptions& options) {
  using Durability = OutputFile::Durability;
  return {.request = request,
          .dtype = options.dtype,
          .ignore_trailing = options.ignore_trailing,
          .durability = options.sync ? Durability::on_disk : Durability::none,
          .counting = true,
          .max_clipped = std::nullopt,
          .members = {options.members}};
}

Engine::Options engine_options(unsigned threads) {
  Engine::Options options;
  options.threads = threads;
  return options;
}

InputFile open(const std::string& path, const FileOptions& options) {
  InputFile file = InputFile::open(path);
  if (options.ignore_trailing) file.ignore_trailing();
  return file;
}

/// Clips elements in memory, a chunk at a time. Elements that are not aligned are copied to the chunk's
/// memory first.
class MemoryClip {
 public:
  MemoryClip(const Plan& plan, const void* in, void* out, unsigned threads)
      : plan_(plan),
        in_(static_cast<const std::byte*>(in)),
        out_(static_cast<std::byte*>(out)),
        size_(traits(plan.header.dtype).size),
        engine_(engine_options(plan.data_size() <= kSmall ? 1 : threads)) {
    engine_.prepare(plan.data_size());
    clip_.emplace(plan, engine_.kernel_options(), "");
  }

  /// Throws the errors of TensorClip::expect_valid().
  void check_parameters() { engine_.check(plan_, *clip_); }

  /// Error{input} for the first NaN, if the plan refuses NaN.
  void check_nan() {
    if (!plan_.refuse_nan) return;
    FirstNan first_nan;
    for_each_chunk([&](std::span<const std::byte> in, std::byte* /*out*/, std::byte* memory) {
      const std::size_t count = in.size() / size_;
      std::memcpy(memory, in.data(), in.size());
      clip_->clip(position_of(in), memory, memory, count, Counting::off);
      first_nan.look_at(plan_.operation.dtype, kNativeOrder, memory, count, position_of(in));
    });
    if (const auto nan = first_nan.position())
      throw Error(ErrorKind::input, "NaN at element " + std::to_string(*nan));
  }

  ElementCounts clip() {
    ElementCounts total;
    std::mutex mutex;
    for_each_chunk([&](std::span<const std::byte> in, std::byte* out, std::byte* memory) {
      const std::byte* const from = is_aligned(in.data()) ? in.data() : memory;
      std::byte* const to = is_aligned(out) ? out : memory;
      if (from == memory) std::memcpy(memory, in.data(), in.size());
      const ElementCounts counts = clip_->clip(position_of(in), from, to, in.size() / size_, Counting::on);
      if (to == memory) std::memcpy(out, memory, in.size());
      const std::lock_guard lock(mutex);
      total += counts;
    });
    clip_->expect_valid();
    return total;
  }

 private:
  using Look = std::function<void(std::span<const std::byte> in, std::byte* out, std::byte* memory)>;

  void for_each_chunk(const Look& look) {
    const Chunks chunks(plan_.header.count, size_, engine_.chunk_size(), 0);
    engine_.for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* memory) {
      const auto [begin, count] = chunks[i];
      look({in_ + begin * size_, count * size_}, out_ + begin * size_, memory);
    });
  }

  [[nodiscard]] std::uint64_t position_of(std::span<const std::byte> in) const {
    return static_cast<std::uint64_t>(in.data() - in_) / size_;
  }

  [[nodiscard]] bool is_aligned(const std::byte* memory) const {
    return reinterpret_cast<std::uintptr_t>(memory) % size_ == 0;
  }

  const Plan& plan_;
  const std::byte* in_;
  std::byte* out_;
  std::size_t size_;
  Engine engine_;
  std::optional<TensorClip> clip_;
};

/// The plan for elements in memory, which are read if a bound is a percentile.
Plan plan_in_memory(const Request& request, const npy::Header& header, const void* in, unsigned threads) {
  if (!has_percentiles(request)) return make_plan(request, header);
  const std::size_t size = traits(header.dtype).size;
  Engine engine(engine_options(header.data_size() <= kSmall ? 1 : threads));
  engine.prepare(header.data_size());
  const Chunks chunks(header.count, size, engine.chunk_size(), 0);
  const auto read = [&](const ElementSource::Look& look) {
    engine.for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* /*memory*/) {
      const auto [begin, count] = chunks[i];
      look({static_cast<const std::byte*>(in) + begin * size, count * size});
    });
  };
  return plan_with_percentiles(request, header, {header.dtype, header.order, header.count, read},
                               engine.level());
}

void check_tolerance(std::string_view field, const Number& number) {
  if (!is_tolerance(number))
    throw Error(ErrorKind::usage, Term{field, field} + Message(" " + decimal_text(number) +
                                                               ": must be a finite number, 0 or more"));
}

bool overlap(const void* in, const void* out, std::size_t size) {
  const std::less<const void*> before;
  const void* const in_end = static_cast<const std::byte*>(in) + size;
  const void* const out_end = static_cast<const std::byte*>(out) + size;
  return in != out && before(in, out_end) && before(out, in_end);
}

}  // namespace

Given from_file(const std::string& path) {
  return read_parameter(path);
}

Counts clip_file(const std::string& in, const std::string& out, const Request& request,
                 const FileOptions& options) {
  using Existing = OutputFile::Existing;
  const Existing existing = options.overwrite ? Existing::replace : Existing::refuse;
  if (is_in_place(in, out, existing)) return clip_in_place(in, request, options);
  const ClipSettings settings = settings_of(request, options);
  Engine engine(engine_options(options.threads));
  ElementCount observer;
  ClipResult result;
  clip_to_file({settings, engine, observer}, in, out, existing, result);
  return observer.counts_of(result);
}

Counts clip_in_place(const std::string& path, const Request& request, const FileOptions& options) {
  const ClipSettings settings = settings_of(request, options);
  Engine engine(engine_options(options.threads));
  ElementCount observer;
  ClipResult result;
  if (options.direct) {
    rewrite_file({settings, engine, observer}, path, result);
    return observer.counts_of(result);
  }
  std::exception_ptr failure;
  ReplacementBatch batch;
  replace_file(
      {settings, engine, observer}, path, batch, [&](std::exception_ptr why) { failure = std::move(why); },
      result);
  batch.commit();
  if (failure) std::rethrow_exception(failure);
  return observer.counts_of(result);
}

Counts clip(DType dtype, const void* in, void* out, std::size_t count, const Request& request,
            unsigned threads) {
  if (count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / traits(dtype).size)
    throw Error(ErrorKind::usage, std::to_string(count) + " elements exceed the address space");
  npy::Header header;
  header.dtype = dtype;
  header.shape = {static_cast<std::int64_t>(count)};
  header.count = count;
  const Plan plan = plan_in_memory(request, header, in, threads);
  if (overlap(in, out, plan.data_size()))
    throw Error(ErrorKind::usage,
                "in and out overlap; they must be the same memory, or have no byte in common");
  MemoryClip memory(plan, in, out, threads);
  memory.check_parameters();
  memory.check_nan();
  return counts_of(memory.clip(), count);
}

Comparison compare_files(const std::string& actual, const std::string& expected,
                         const CompareOptions& compare, const FileOptions& options) {
  if (actual == "-" && expected == "-") throw Error(ErrorKind::usage, "standard input cannot be both files");
  check_tolerance("rtol", compare.rtol);
  check_tolerance("atol", compare.atol);
  CompareSettings settings;
  settings.dtype = options.dtype;
  settings.rule = {.bits = compare.bits,
                   .nan_equal = compare.nan_equal,
                   .tolerance = {compare.atol, compare.rtol},
                   .ulps = compare.ulps,
                   .listed = std::max<std::size_t>(compare.max_listed, 1)};
  Engine engine(engine_options(options.threads));
  InputFile actual_file = open(actual, options);
  InputFile expected_file = open(expected, options);
  FileComparison result;
  compare_files(engine, settings, actual_file, expected_file, result);

  Comparison comparison{.reason = result.reason,
                        .dtype = result.header.dtype,
                        .shape = result.header.shape,
                        .compared = result.comparison.compared,
                        .mismatches = result.comparison.mismatches,
                        .first = {},
                        .largest = is_floating(result.header.dtype)
                                       ? std::bit_cast<double>(result.comparison.largest)
                                       : static_cast<double>(result.comparison.largest)};
  for (const Mismatch& mismatch : result.comparison.first)
    comparison.first.push_back(
        {npy::index_of(result.header, mismatch.position), mismatch.actual, mismatch.expected});
  if (compare.max_listed == 0) comparison.first.clear();
  return comparison;
}

std::vector<std::optional<ElementBits>> percentiles(const std::string& path,
                                                    std::span<const Number> percentages,
                                                    const FileOptions& options) {
  InputFile input = open(path, options);
  const npy::Header header = read_header(input, options.dtype);
  Engine engine(engine_options(options.threads));
  return read_percentiles(engine, input, header, percentages);
}

Statistics statistics(const std::string& path, const FileOptions& options) {
  InputFile input = open(path, options);
  const npy::Header header = read_header(input, options.dtype);
  Engine engine(engine_options(options.threads));
  std::optional<ElementBits> median;
  if (input.is_regular()) median = read_percentiles(engine, input, header, std::array{Number(50)}).front();
  const ElementStatistics read = read_statistics(engine, input, header, std::nullopt, std::nullopt);
  return {.dtype = header.dtype,
          .shape = header.shape,
          .count = read.count,
          .nan = read.nan,
          .positive_infinite = read.positive_infinite,
          .negative_infinite = read.negative_infinite,
          .min = read.min(),
          .max = read.max(),
          .mean = read.mean(),
          .standard_deviation = read.standard_deviation(),
          .median = median};
}

}  // namespace clipper
