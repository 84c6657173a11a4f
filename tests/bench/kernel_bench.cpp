// Measures the kernels and memcpy of as many bytes. Names are WHAT/DTYPE/LEVEL/BYTES,
// decode/DTYPE/LEVEL/BYTES for elements in the other byte order, and threads/DTYPE/BYTES/THREADS for clip
// with the highest SIMD level on several threads, streamed/DTYPE/BYTES for one that writes past the caches.
// Names that begin with cycles/ are for cycles.py. cast/FROM/TO/LEVEL/BYTES is convert() with both bounds.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "clip/convert.hpp"
#include "compare/comparison.hpp"
#include "element/number.hpp"
#include "engine/transfer.hpp"
#include "memory/byte_table.hpp"
#include "memory/elements.hpp"
#include "statistics/rank_search.hpp"
#include "statistics/statistics.hpp"

namespace {

using clipper::DType;
using clipper::Operation;
using clipper::SimdLevel;

constexpr std::size_t kFirstLevel = 16UL << 10;  // input and output fit the first-level cache
constexpr std::size_t kCached = 64UL << 10;
constexpr std::size_t kUncached = 16UL << 20;
constexpr std::size_t kChunk = 256UL << 10;  // what a thread clips at a time of kUncached bytes
constexpr std::size_t kHugePage = 2UL << 20;
constexpr int kMemcpyRepetitions = 12;  // spread over the run: all ratios depend on memcpy

enum class Work { clip, scale_bias_clip, clip_and_count, scale_bias_clip_and_count, clip_vectors };

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// The input and the output of a kernel, `size` bytes each. All pages are allocated; like numpy's arrays they
/// use huge pages if the system has them.
class Buffers {
 public:
  explicit Buffers(std::size_t size) : size_(size) {
    const std::size_t all = (2 * size + kHugePage - 1) / kHugePage * kHugePage;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kHugePage, all)));
    if (!memory_) throw std::bad_alloc();
    ::madvise(memory_.get(), all, MADV_HUGEPAGE);
    std::memset(memory_.get(), 1, all);
  }

  [[nodiscard]] std::byte* in() const { return memory_.get(); }
  [[nodiscard]] std::byte* out() const { return memory_.get() + size_; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[], Free> memory_;
};

template <class T>
T element(double value) {
  if constexpr (clipper::HalfType<T>)
    return clipper::narrow<T>(value);
  else
    return static_cast<T>(value);
}

/// Elements from -10 to 10, or 0 to 20 if unsigned.
void fill(std::byte* memory, std::size_t size, DType dtype) {
  const std::size_t period = std::min(size, 1UL << 20);
  const bool is_unsigned = clipper::traits(dtype).kind == clipper::NumberKind::unsigned_integer;
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> values(is_unsigned ? 0 : -10, is_unsigned ? 20 : 10);
  clipper::with_type(dtype, [&]<class T>() {
    for (std::size_t offset = 0; offset < period; offset += sizeof(T)) {
      const T x = element<T>(values(random));
      std::memcpy(memory + offset, &x, sizeof(T));
    }
  });
  for (std::size_t offset = period; offset < size; offset += period)
    std::memcpy(memory + offset, memory, period);
}

Operation make_operation(Work work, DType dtype) {
  Operation operation;
  operation.dtype = dtype;
  clipper::with_type(dtype, [&]<class T>() {
    operation.lo = clipper::to_bits(element<T>(0));
    operation.hi = clipper::to_bits(element<T>(6));
  });
  if (work != Work::scale_bias_clip && work != Work::scale_bias_clip_and_count) return operation;
  const bool narrow = clipper::is_floating(dtype) && dtype != DType::float64;
  operation.arithmetic = narrow ? clipper::Arithmetic::float32 : clipper::Arithmetic::float64;
  operation.scale = 0.5;
  operation.bias = 1;
  return operation;
}

void measure_memcpy(benchmark::State& state, std::size_t size) {
  const Buffers buffers(size);
  for (auto _ : state) {
    std::memcpy(buffers.out(), buffers.in(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

/// A vector of a parameter.
std::vector<std::byte> repeated(clipper::ElementBits bits, DType dtype, std::size_t count) {
  const std::size_t size = clipper::traits(dtype).size;
  std::vector<std::byte> result(count * size);
  clipper::with_type(dtype, [&]<class T>() {
    const T x = clipper::from_bits<T>(bits);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(result.data() + i * size, &x, size);
  });
  return result;
}

/// What the library does with bytes that are scaled: PlanClip makes the table once for a tensor.
void measure_bytes(benchmark::State& state, bool counted, SimdLevel level, std::size_t size) {
  const Buffers buffers(size);
  fill(buffers.in(), size, DType::uint8);
  const clipper::ByteTable table{};
  for (auto _ : state) {
    if (counted) benchmark::DoNotOptimize(clipper::count_bytes({buffers.in(), size}));
    clipper::look_up(table, buffers.in(), buffers.out(), size, clipper::byte_lookups(level).back());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void measure_kernel(benchmark::State& state, Work work, const Operation& operation, SimdLevel level,
                    std::size_t size) {
  const Buffers buffers(size);
  fill(buffers.in(), size, operation.dtype);
  const std::size_t each = clipper::traits(operation.dtype).size;
  const std::size_t count = size / each;
  const std::vector<std::byte> lo = repeated(operation.lo, operation.dtype, count);
  const std::vector<std::byte> hi = repeated(operation.hi, operation.dtype, count);
  clipper::Operands bounds;
  bounds[clipper::Slot::lo] = {lo.data(), each};
  bounds[clipper::Slot::hi] = {hi.data(), each};
  for (auto _ : state) {
    if (work == Work::clip_vectors)
      clipper::clip(operation, bounds, buffers.in(), buffers.out(), count, level);
    else if (work == Work::clip_and_count || work == Work::scale_bias_clip_and_count)
      benchmark::DoNotOptimize(clipper::clip_and_count(operation, buffers.in(), buffers.out(), count, level));
    else
      clipper::clip(operation, buffers.in(), buffers.out(), count, level);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void measure_decode(benchmark::State& state, DType dtype, SimdLevel level, std::size_t size) {
  const Buffers buffers(size);
  clipper::TensorLayout layout;
  layout.dtype = dtype;
  layout.order = clipper::kNativeOrder == clipper::ByteOrder::little ? clipper::ByteOrder::big
                                                                     : clipper::ByteOrder::little;
  for (auto _ : state) {
    clipper::decode(layout, {buffers.in(), size}, level);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

/// What the library does with a large tensor in memory that is allocated: it writes past the caches.
void measure_streamed(benchmark::State& state, const Operation& operation, std::size_t size) {
  const Buffers buffers(size);
  fill(buffers.in(), size, operation.dtype);
  const std::size_t each = clipper::traits(operation.dtype).size;
  const auto clip_part = [&](std::size_t begin, std::byte* to, std::size_t length) {
    clipper::clip(operation, buffers.in() + begin * each, to, length, clipper::simd_levels().back());
    return true;
  };
  for (auto _ : state) {
    clipper::clip_streaming(buffers.in(), buffers.out(), size / each, each, clip_part);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

/// Clips kUncached bytes with several threads. If `size` is kUncached, the threads share the bytes in chunks.
/// If it is kCached, each thread has buffers of its own and clips them again and again.
void measure_threads(benchmark::State& state, const Operation& operation, std::size_t size, int threads) {
  const bool own = size == kCached;
  const std::size_t each = own ? kCached : kChunk;
  const Buffers buffers(own ? kCached * static_cast<std::size_t>(threads) : size);
  fill(buffers.in(), own ? kCached * static_cast<std::size_t>(threads) : size, operation.dtype);
  const std::size_t count = each / clipper::traits(operation.dtype).size;
  const SimdLevel level = clipper::simd_levels().back();
  const auto clip_chunk = [&](std::size_t chunk) {
    const auto thread = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
    const std::size_t offset = (own ? thread : chunk) * each;
    clipper::clip(operation, buffers.in() + offset, buffers.out() + offset, count, level);
  };
  tbb::task_arena arena(threads);
  for (auto _ : state) {
    arena.execute([&] { tbb::parallel_for(std::size_t{0}, kUncached / each, clip_chunk); });
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kUncached));
}

/// Three cycles each on x86-64 CPUs of the last ten years: a multiplication that needs the product before it.
void measure_multiplication(benchmark::State& state) {
  std::uint64_t product = 3;
  for (auto _ : state) {
    product *= product;
    benchmark::DoNotOptimize(product);
  }
}

/// Pairs that differ by less than the tolerance.
void measure_compare(benchmark::State& state, DType dtype, SimdLevel level) {
  const Buffers buffers(kFirstLevel);
  fill(buffers.in(), kFirstLevel, dtype);
  std::memcpy(buffers.out(), buffers.in(), kFirstLevel);
  const std::size_t size = clipper::traits(dtype).size;
  for (std::size_t i = 0; i < kFirstLevel; i += 256) buffers.out()[i] ^= std::byte{1};
  clipper::ComparisonRule rule;
  rule.tolerance = clipper::Tolerance(*clipper::parse_number("1"), *clipper::parse_number("0"));
  for (auto _ : state)
    benchmark::DoNotOptimize(
        clipper::compare({dtype, buffers.in(), buffers.out(), kFirstLevel / size, 0}, rule, level));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kFirstLevel));
}

void measure_statistics(benchmark::State& state, DType dtype, SimdLevel level) {
  const Buffers buffers(kFirstLevel);
  fill(buffers.in(), kFirstLevel, dtype);
  const Operation bounds = make_operation(Work::clip, dtype);
  for (auto _ : state)
    benchmark::DoNotOptimize(clipper::statistics_of(dtype, clipper::Bounds{bounds.lo, bounds.hi},
                                                    buffers.in(), kFirstLevel / clipper::traits(dtype).size,
                                                    level));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kFirstLevel));
}

/// The first pass, which all percentiles need.
void measure_percentiles(benchmark::State& state, DType dtype, SimdLevel level) {
  const Buffers buffers(kFirstLevel);
  fill(buffers.in(), kFirstLevel, dtype);
  std::vector<std::uint32_t> counters(clipper::kDigits * clipper::kInterleaved);
  for (auto _ : state) {
    clipper::count_first_digits(clipper::traits(dtype).size, {buffers.in(), kFirstLevel}, counters.data(),
                                level);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kFirstLevel));
}

/// Conversions to another dtype with both bounds; `size` is that of the input.
void measure_cast(benchmark::State& state, DType from, DType to, SimdLevel level, std::size_t size) {
  Operation operation = make_operation(Work::clip, from);
  operation.from = from;
  operation.dtype = clipper::working_dtype(from);
  operation.to = to;
  operation.lo = clipper::working_element(from, operation.lo, operation.dtype);
  operation.hi = clipper::working_element(from, operation.hi, operation.dtype);
  clipper::Cast& cast = operation.cast.emplace();
  cast.saturates = !clipper::is_floating(to);
  if (cast.saturates) cast.round = clipper::Round::half_even;
  clipper::set_limits(operation);
  const std::size_t count = size / clipper::traits(from).size;
  const Buffers buffers(count * std::max(clipper::traits(from).size, clipper::traits(to).size));
  fill(buffers.in(), size, from);
  for (auto _ : state) {
    benchmark::DoNotOptimize(clipper::convert(operation, clipper::kNumbers, buffers.in(), buffers.out(),
                                              count, clipper::Counting::off, level));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

template <class... Arguments>
benchmark::internal::Benchmark* add(const std::string& name, const Arguments&... arguments) {
  return benchmark::RegisterBenchmark(name.c_str(), arguments...)->MeasureProcessCPUTime()->UseRealTime();
}

constexpr std::array kWorks{std::pair{Work::clip, "clip"},
                            std::pair{Work::scale_bias_clip, "scale_bias_clip"},
                            std::pair{Work::clip_and_count, "clip_and_count"},
                            std::pair{Work::scale_bias_clip_and_count, "scale_bias_clip_and_count"},
                            std::pair{Work::clip_vectors, "clip_vectors"}};

void add_kernels(DType dtype, SimdLevel level, std::size_t size) {
  const clipper::DTypeTraits& row = clipper::traits(dtype);
  for (const auto& [work, name] : kWorks) {
    const std::string title = fmt::format("{}/{}/{}/{}", name, row.name, clipper::to_string(level), size);
    const bool counted = work == Work::scale_bias_clip_and_count;
    if (row.size == 1 && (counted || work == Work::scale_bias_clip))
      add(title, measure_bytes, counted, level, size);
    else
      add(title, measure_kernel, work, make_operation(work, dtype), level, size);
  }
  if (row.size > 1)
    add(fmt::format("decode/{}/{}/{}", row.name, clipper::to_string(level), size), measure_decode, dtype,
        level, size);
}

void add_all() {
  for (const std::size_t size : {kCached, kUncached}) {
    add(fmt::format("memcpy/{}", size), measure_memcpy, size)->Repetitions(kMemcpyRepetitions);
    for (const clipper::DTypeTraits& row : clipper::kKernelDTypes) {
      for (const SimdLevel level : clipper::simd_levels()) add_kernels(row.dtype, level, size);
      for (const int threads : {1, 2})
        add(fmt::format("threads/{}/{}/{}", row.name, size, threads), measure_threads,
            make_operation(Work::clip, row.dtype), size, threads);
      if (size == kUncached)
        add(fmt::format("streamed/{}/{}", row.name, size), measure_streamed,
            make_operation(Work::clip, row.dtype), size);
    }
  }
}

/// cycles/WORK/DTYPE/LEVEL, in the first-level cache.
void add_cycles() {
  add("cycles/multiplication", measure_multiplication);
  for (const clipper::DTypeTraits& row : clipper::kKernelDTypes) {
    for (const SimdLevel level : clipper::simd_levels()) {
      for (const auto& [work, name] : kWorks)
        add(fmt::format("cycles/{}/{}/{}", name, row.name, clipper::to_string(level)), measure_kernel, work,
            make_operation(work, row.dtype), level,
            work == Work::clip_vectors ? kFirstLevel / 2 : kFirstLevel);
      add(fmt::format("cycles/statistics/{}/{}", row.name, clipper::to_string(level)), measure_statistics,
          row.dtype, level);
      add(fmt::format("cycles/compare/{}/{}", row.name, clipper::to_string(level)), measure_compare,
          row.dtype, level);
      add(fmt::format("cycles/percentiles/{}/{}", row.name, clipper::to_string(level)), measure_percentiles,
          row.dtype, level);
    }
  }
}

/// cast/FROM/TO/LEVEL/BYTES of the input.
void add_casts() {
  for (const auto& [from, to] :
       {std::pair{DType::int32, DType::float32}, std::pair{DType::float32, DType::uint8},
        std::pair{DType::float32, DType::float16}, std::pair{DType::float32, DType::bfloat16},
        std::pair{DType::float32, DType::int32}, std::pair{DType::float64, DType::float32},
        std::pair{DType::float16, DType::float32}, std::pair{DType::int64, DType::float32},
        std::pair{DType::uint8, DType::float32}, std::pair{DType::int32, DType::int8}})
    for (const SimdLevel level : clipper::simd_levels())
      add(fmt::format("cast/{}/{}/{}/{}", clipper::traits(from).name, clipper::traits(to).name,
                      clipper::to_string(level), kCached),
          measure_cast, from, to, level, kCached);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_all();
  add_cycles();
  add_casts();
  benchmark::RunSpecifiedBenchmarks();
}
