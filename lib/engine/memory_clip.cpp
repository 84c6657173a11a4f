#include "engine/memory_clip.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "engine/engine.hpp"
#include "engine/first_nan.hpp"
#include "engine/percentile_bounds.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// Bytes that one thread clips before other threads could start.
constexpr std::size_t kSmall = 4UL << 20;

std::unique_ptr<Engine> start_engine(std::size_t size, unsigned threads) {
  Engine::Options options;
  options.threads = size <= kSmall ? 1 : threads;
  auto engine = std::make_unique<Engine>(options);
  engine->prepare(size);
  return engine;
}

/// The engine of all large tensors of this process. Starting one takes about as long as clipping 1 MiB.
/// A child process gets none: oneTBB's threads stay in the parent.
class SharedEngine {
 public:
  /// Null in a child of the process that has started the engine.
  static std::shared_ptr<Engine> get(unsigned threads) {
    static auto* const shared = new SharedEngine;  // never destroyed: other threads may use it at the exit
    const std::lock_guard lock(shared->mutex_);
    if (shared->process_ != 0 && shared->process_ != ::getpid()) return nullptr;
    if (!shared->engine_ || shared->threads_ != threads) {
      shared->engine_ = start_engine(std::numeric_limits<std::size_t>::max(), threads);
      shared->process_ = ::getpid();
      shared->threads_ = threads;
    }
    return shared->engine_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
  unsigned threads_ = 0;
  pid_t process_ = 0;
};

std::shared_ptr<Engine> engine_for(std::size_t size, unsigned threads) {
  std::shared_ptr<Engine> engine;
  if (size > kSmall && threads != 1) engine = SharedEngine::get(threads);
  return engine ? engine : start_engine(size, 1);
}

bool is_aligned(const void* memory, std::size_t size) {
  return reinterpret_cast<std::uintptr_t>(memory) % size == 0;
}

bool overlap(const ElementsInMemory& elements, std::size_t size) {
  const std::less<const void*> before;
  const void* const in_end = static_cast<const std::byte*>(elements.in) + size;
  const void* const out_end = static_cast<const std::byte*>(elements.out) + size;
  return elements.in != elements.out && before(elements.in, out_end) && before(elements.out, in_end);
}

[[noreturn]] void refuse_nan_at(std::uint64_t position) {
  throw Error(ErrorKind::input, "NaN at element " + std::to_string(position));
}

/// Clips elements a chunk at a time. Elements that are not aligned are copied to the chunk's memory first.
class MemoryClip {
 public:
  MemoryClip(const Plan& plan, const ElementsInMemory& elements, Engine& engine)
      : plan_(plan),
        in_(static_cast<const std::byte*>(elements.in)),
        out_(static_cast<std::byte*>(elements.out)),
        count_(elements.count),
        size_(traits(plan.header.dtype).size),
        engine_(engine),
        clip_(plan, engine.kernel_options(), "") {}

  /// Throws the errors of TensorClip::expect_valid().
  void check_parameters() { engine_.check(plan_, clip_); }

  /// Error{input} for the first NaN, if the plan refuses NaN.
  void check_nan() {
    if (!plan_.refuse_nan) return;
    FirstNan first_nan;
    for_each_chunk([&](std::span<const std::byte> in, std::byte* /*out*/, std::byte* memory) {
      const std::size_t count = in.size() / size_;
      std::memcpy(memory, in.data(), in.size());
      clip_.clip(position_of(in), memory, memory, count, Counting::off);
      first_nan.look_at(plan_.operation.dtype, plan_.operation.order, memory, count, position_of(in));
    });
    if (const auto nan = first_nan.position()) refuse_nan_at(*nan);
  }

  ElementCounts clip(Counting counting) {
    ElementCounts total;
    std::mutex mutex;
    for_each_chunk([&](std::span<const std::byte> in, std::byte* out, std::byte* memory) {
      const std::byte* const from = is_aligned(in.data(), size_) ? in.data() : memory;
      std::byte* const to = is_aligned(out, size_) ? out : memory;
      if (from == memory) std::memcpy(memory, in.data(), in.size());
      const ElementCounts counts = clip_.clip(position_of(in), from, to, in.size() / size_, counting);
      if (to == memory) std::memcpy(out, memory, in.size());
      if (counting == Counting::off) return;
      const std::lock_guard lock(mutex);
      total += counts;
    });
    clip_.expect_valid();
    return total;
  }

 private:
  using Look = std::function<void(std::span<const std::byte> in, std::byte* out, std::byte* memory)>;

  void for_each_chunk(const Look& look) {
    const Chunks chunks(count_, size_, engine_.chunk_size(), 0);
    engine_.for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* memory) {
      const auto [begin, count] = chunks[i];
      look({in_ + begin * size_, count * size_}, out_ + begin * size_, memory);
    });
  }

  [[nodiscard]] std::uint64_t position_of(std::span<const std::byte> in) const {
    return static_cast<std::uint64_t>(in.data() - in_) / size_;
  }

  const Plan& plan_;
  const std::byte* in_;
  std::byte* out_;
  std::uint64_t count_;
  std::size_t size_;
  Engine& engine_;
  TensorClip clip_;
};

/// Whether no memory for chunks is needed: a NaN to refuse must be in the input, not a result of the scale.
bool is_one_step(const Plan& plan, const ElementsInMemory& elements, std::size_t size) {
  return is_aligned(elements.in, size) && is_aligned(elements.out, size) &&
         (!plan.refuse_nan || plan.operation.arithmetic == Arithmetic::none);
}

ElementCounts clip_to_arrays(const Plan& plan, const std::byte* in, std::byte* out, std::size_t count,
                             Counting counting) {
  TensorClip clip(plan, {simd_levels().back()}, "");
  clip.check(0, count);
  clip.expect_valid();
  return clip.clip(0, in, out, count, counting);
}

/// How many elements to clip before the others, so that no vector of the others lies in two cache lines of
/// `out`. malloc() aligns to 16 bytes only. 0 for a few elements, for which it is not worth a call.
std::size_t elements_before_line(const std::byte* out, std::size_t count, std::size_t size) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kWorth = 4096;  // bytes
  if (count * size < kWorth) return 0;
  return (kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine / size;
}

ElementCounts clip_in_one_step(const Plan& plan, const ElementsInMemory& elements, Counting counting) {
  const Operation& operation = plan.operation;
  const SimdLevel level = simd_levels().back();
  const auto* const in = static_cast<const std::byte*>(elements.in);
  auto* const out = static_cast<std::byte*>(elements.out);
  if (plan.refuse_nan)
    if (const auto nan = find_nan(operation.dtype, operation.order, in, elements.count)) refuse_nan_at(*nan);
  if (plan.arrays) return clip_to_arrays(plan, in, out, elements.count, counting);
  const std::size_t head = elements_before_line(out, elements.count, traits(operation.dtype).size);
  const std::size_t size = head * traits(operation.dtype).size;
  if (counting == Counting::on) {
    ElementCounts counts = clip_and_count(operation, in, out, head, level);
    return counts += clip_and_count(operation, in + size, out + size, elements.count - head, level);
  }
  if (head != 0) clip(operation, in, out, head, level);
  clip(operation, in + size, out + size, elements.count - head, level);
  return {};
}

}  // namespace

Plan plan_in_memory(const Request& request, const npy::Header& header, const void* elements,
                    unsigned threads) {
  if (!has_percentiles(request)) return make_plan(request, header);
  const std::size_t size = traits(header.dtype).size;
  const std::shared_ptr<Engine> engine = engine_for(header.data_size(), threads);
  const Chunks chunks(header.count, size, engine->chunk_size(), 0);
  const auto read = [&](const ElementSource::Look& look) {
    engine->for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* /*memory*/) {
      const auto [begin, count] = chunks[i];
      look({static_cast<const std::byte*>(elements) + begin * size, count * size});
    });
  };
  return plan_with_percentiles(request, header, {header.dtype, header.order, header.count, read},
                               engine->level());
}

ElementCounts clip_in_memory(const Plan& plan, const ElementsInMemory& elements, unsigned threads,
                             Counting counting) {
  if (plan.arrays && elements.count != plan.slice.count)
    throw Error(ErrorKind::usage, "another number of elements than the tensor for which arrays were given");
  const std::size_t size = traits(plan.header.dtype).size;
  if (overlap(elements, elements.count * size))
    throw Error(ErrorKind::usage,
                "in and out overlap; they must be the same memory, or have no byte in common");
  if (is_one_step(plan, elements, size) && (threads == 1 || elements.count * size <= kSmall))
    return clip_in_one_step(plan, elements, counting);
  const std::shared_ptr<Engine> engine = engine_for(elements.count * size, threads);
  MemoryClip memory(plan, elements, *engine);
  memory.check_parameters();
  memory.check_nan();
  return memory.clip(counting);
}

}  // namespace clipper
