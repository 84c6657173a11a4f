// Kernels against memcpy of the same bytes, in one process: for every dtype and level, at sizes in and out of
// cache.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "clip.hpp"
#include "element.hpp"

namespace {

using clipper::DType;
using clipper::Operation;
using clipper::SimdLevel;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte[], Free>;

constexpr std::array kSizes{std::size_t{64} << 10, std::size_t{16} << 20};

Memory make_memory(std::size_t size) {
  return Memory(static_cast<std::byte*>(std::aligned_alloc(4096, size)));
}

/// Elements from -10 to 10 (0 to 20 unsigned), about half of which the bounds 0 (5) and 6 (15) change.
Memory make_elements(DType dtype, clipper::ByteOrder order, std::size_t size) {
  Memory memory = make_memory(size);
  std::mt19937 random(1);
  const bool is_unsigned = clipper::info(dtype).kind == clipper::NumberKind::unsigned_integer;
  std::uniform_real_distribution<double> values(is_unsigned ? 0 : -10, is_unsigned ? 20 : 10);
  clipper::with_type(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < size / sizeof(T); ++i) {
      T element{};
      if constexpr (clipper::HalfType<T>)
        element = clipper::narrow<T>(values(random));
      else
        element = static_cast<T>(values(random));
      std::array<std::byte, sizeof(T)> bytes{};
      std::memcpy(bytes.data(), &element, sizeof(T));
      if (order != clipper::kNativeOrder) std::reverse(bytes.begin(), bytes.end());
      std::memcpy(memory.get() + i * sizeof(T), bytes.data(), sizeof(T));
    }
  });
  return memory;
}

clipper::ElementBits element(DType dtype, double value) {
  return clipper::with_type(dtype, [&]<class T>() {
    if constexpr (clipper::HalfType<T>)
      return clipper::to_bits(clipper::narrow<T>(value));
    else
      return clipper::to_bits(static_cast<T>(value));
  });
}

Operation make_operation(DType dtype, clipper::ByteOrder order, bool scaled) {
  Operation operation;
  operation.dtype = dtype;
  operation.order = order;
  operation.lo = element(dtype, 0);
  operation.hi = element(dtype, 6);
  if (!scaled) return operation;
  const bool narrow = clipper::is_floating(dtype) && dtype != DType::float64;
  operation.arithmetic = narrow ? clipper::Arithmetic::float32 : clipper::Arithmetic::float64;
  operation.scale = 0.5;
  operation.bias = 1;
  return operation;
}

void measure_memcpy(benchmark::State& state, std::size_t size) {
  const Memory in = make_memory(size);
  const Memory out = make_memory(size);
  std::memset(in.get(), 1, size);
  for (auto _ : state) {
    std::memcpy(out.get(), in.get(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * size));
}

void measure_clip(benchmark::State& state, const Operation& operation, SimdLevel level, std::size_t size) {
  const Memory in = make_elements(operation.dtype, operation.order, size);
  const Memory out = make_memory(size);
  const std::size_t count = size / clipper::info(operation.dtype).size;
  for (auto _ : state) {
    clipper::clip(operation, in.get(), out.get(), count, level);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * size));
}

void register_all() {
  for (const std::size_t size : kSizes) {
    benchmark::RegisterBenchmark(fmt::format("memcpy/{}", size).c_str(), measure_memcpy, size);
    for (const SimdLevel level : clipper::simd_levels())
      for (const auto& row : clipper::kDTypes)
        for (const bool scaled : {false, true})
          for (const auto order : {clipper::ByteOrder::little, clipper::ByteOrder::big}) {
            if (row.size == 1 && order == clipper::ByteOrder::big) continue;
            const std::string name = fmt::format(
                "{}/{}/{}/{}/{}", scaled ? "scale_bias_clip" : "clip", row.name,
                order == clipper::ByteOrder::little ? "little" : "big", clipper::name(level), size);
            benchmark::RegisterBenchmark(name.c_str(), measure_clip, make_operation(row.dtype, order, scaled),
                                         level, size);
          }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  register_all();
  benchmark::RunSpecifiedBenchmarks();
}
