#include "flows/memory_clip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "contract/fields.hpp"
#include "engine/engine.hpp"
#include "engine/transfer.hpp"
#include "error.hpp"
#include "flows/figure_requests.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

/// Whether the results are written past the caches. In place each line is read anyway.
bool streams(const ElementsInMemory& elements, std::size_t size, unsigned threads) {
  return elements.in != elements.out &&
         should_stream(static_cast<const std::byte*>(elements.out), size, threads);
}

[[noreturn]] void refuse_nan_at(std::uint64_t position) {
  throw Error(ErrorKind::input, "NaN at element " + std::to_string(position));
}

/// Whether a kernel does all of the work on aligned elements. Scaled bytes are looked up in a table.
bool is_alone(const Plan& plan, Counting counting) {
  return plan.then.empty() && is_decoded(plan.input) && !plan.arrays && !plan.has_nodata() && !plan.mask &&
         !plan.operation.cast &&
         (!plan.may_lose() || (counting == Counting::off && traits(plan.input.dtype).size > 1));
}

/// Clips aligned elements to the numbers of an operation.
ElementCounts clip_to_numbers(const Operation& operation, const std::byte* in, std::byte* out,
                              std::size_t count, Counting counting, bool streams) {
  constexpr std::size_t kWorth = 4096;  // bytes from which on the vectors of `out` begin at a cache line
  const std::size_t size = traits(operation.dtype).size;
  ElementCounts counts;
  const auto clip_run = [&](std::size_t begin, std::byte* to, std::size_t length) {
    const std::byte* const from = in + begin * size;
    if (counting == Counting::on)
      counts += clip_and_count(operation, from, to, length, simd_levels().back());
    else
      clip(operation, from, to, length, simd_levels().back());
    return true;
  };
  if (streams) {
    clip_streaming(in, out, count, size, clip_run);
    return counts;
  }
  // malloc() aligns to 16 bytes only: a vector could lie in two lines.
  const std::size_t head = count * size < kWorth ? 0 : std::min(elements_before_line(out, size), count);
  if (head != 0) clip_run(0, out, head);
  clip_run(head, out + head * size, count - head);
  return counts;
}

/// Clips elements a chunk at a time.
class MemoryClip {
 public:
  MemoryClip(const Plan& plan, const ElementsInMemory& elements, Engine& engine,
             const std::atomic<bool>* stop)
      : plan_(plan),
        in_(static_cast<const std::byte*>(elements.in)),
        out_(static_cast<std::byte*>(elements.out)),
        count_(elements.count),
        gather_(elements.gather),
        size_(traits(plan.input.dtype).size),
        out_size_(traits(plan.output.dtype).size),
        streams_(!plan.operation.cast && streams(elements, count_ * size_, engine.threads())),
        engine_(engine),
        stop_(stop),
        clip_(plan, engine.kernel_options(), "") {}

  /// Throws the errors of TensorClip::expect_valid().
  void check_parameters() { engine_.check(plan_, clip_); }

  /// Error{input} for the first NaN, if the plan refuses NaN.
  void check_nan() {
    if (!plan_.looks_for_nan()) return;
    for_each_part([&](std::uint64_t begin, std::size_t count, const std::byte* in, std::byte* memory) {
      clip_.clip(begin, in, plan_.then.empty() ? memory : nullptr, count, Counting::off);
    });
    clip_.expect_valid();
  }

  StageCounts clip(Counting counting) {
    StageCounts total;
    total.then.resize(plan_.then.size());
    std::mutex mutex;
    for_each_part([&](std::uint64_t begin, std::size_t count, const std::byte* in, std::byte* /*memory*/) {
      const StageCounts counts = clip_part(begin, in, count, counting);
      if (counting == Counting::off) return;
      const std::lock_guard lock(mutex);
      total += counts;
    });
    clip_.expect_valid();
    return total;
  }

 private:
  /// Elements of a chunk, or of the part of it that was copied, the position of the first, and memory for as
  /// many results of their dtype.
  using Look =
      std::function<void(std::uint64_t begin, std::size_t count, const std::byte* in, std::byte* memory)>;

  void for_each_part(const Look& look) {
    const Chunks chunks(count_, size_, engine_.chunk_in_memory(count_ * size_), 0);
    engine_.for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* memory) {
      expect_going_on(stop_);
      const auto [begin, count] = chunks[i];
      if (gather_ == nullptr) return look(begin, count, in_ + begin * size_, memory);
      alignas(64) std::array<std::byte, 16UL << 10> copied;
      const std::size_t most = copied.size() / size_;
      for (std::size_t done = 0; done < count; done += most) {
        const std::size_t length = std::min(most, count - done);
        (*gather_)(in_, copied.data(), begin + done, length);
        look(begin + done, length, copied.data(), memory);
      }
    });
  }

  StageCounts clip_part(std::uint64_t begin, const std::byte* in, std::size_t count, Counting counting) {
    std::byte* const out = out_ + begin * out_size_;
    if (is_alone(plan_, counting) && is_aligned(in, size_) && is_aligned(out, size_))
      return {clip_to_numbers(plan_.operation, in, out, count, counting, streams_)};
    return clip_.clip(begin, in, out, count, counting);
  }

  const Plan& plan_;
  const std::byte* in_;
  std::byte* out_;
  std::uint64_t count_;
  const StridedCopy* gather_;
  std::size_t size_;
  std::size_t out_size_;
  bool streams_;
  Engine& engine_;
  const std::atomic<bool>* stop_;
  TensorClip clip_;
};

/// Whether no memory for chunks is needed: a NaN to refuse must be in the input, not a result of the scale.
bool is_one_step(const Plan& plan, const ElementsInMemory& elements, std::size_t size) {
  if (elements.gather != nullptr) return false;
  if (!plan.looks_for_nan()) return true;
  return plan.then.empty() && is_decoded(plan.input) && !plan.has_nodata() && !plan.mask &&
         is_aligned(elements.in, size) && plan.operation.arithmetic == Arithmetic::none;
}

/// Does more than a kernel.
StageCounts clip_by_parts(const Plan& plan, const std::byte* in, std::byte* out, std::size_t count,
                          Counting counting) {
  TensorClip clip(plan, {simd_levels().back()}, "");
  clip.check(0, count);
  clip.expect_valid();
  StageCounts counts = clip.clip(0, in, out, count, counting);
  clip.expect_valid();
  return counts;
}

StageCounts clip_in_one_step(const Plan& plan, const ElementsInMemory& elements, Counting counting) {
  const Operation& operation = plan.operation;
  const auto* const in = static_cast<const std::byte*>(elements.in);
  auto* const out = static_cast<std::byte*>(elements.out);
  if (plan.looks_for_nan())
    if (const auto nan = find_nan(operation, in, elements.count)) refuse_nan_at(*nan);
  const std::size_t size = traits(operation.dtype).size;
  if (!is_alone(plan, counting) || !is_aligned(in, size) || !is_aligned(out, size))
    return clip_by_parts(plan, in, out, elements.count, counting);
  return {clip_to_numbers(operation, in, out, elements.count, counting,
                          streams(elements, elements.count * size, 1))};
}

Plan plan_for(const Request& request, const TensorLayout& layout, const void* elements,
              const Workers& workers) {
  if (!has_figures(request)) return make_plan(request, layout);
  if (layout.count != 0 && elements == nullptr) throw Error(ErrorKind::usage, "the elements are null");
  const std::shared_ptr<Engine> engine = engine_for(layout.data_size(), workers.threads);
  return plan_with_figures(request, source_of(layout, elements, *engine, workers), engine->kernel_options());
}

}  // namespace

bool ElementsInMemory::overlap(std::size_t in_size, std::size_t out_size) const noexcept {
  const std::less<const void*> before;
  const void* const in_end = static_cast<const std::byte*>(in) + count * in_size;
  const void* const out_end = static_cast<const std::byte*>(out) + count * out_size;
  return in != out && before(in, out_end) && before(out, in_end);
}

Plan plan_in_memory(const Request& request, const TensorLayout& layout, const void* elements,
                    const Workers& workers) {
  Plan plan = plan_for(request, layout, elements, workers);
  for_each_stage(request, [&](const Request& stage) {
    if (stage.to && stage.to->order.value_or(layout.order) != layout.order)
      throw Error(ErrorKind::usage, Term{"to", "to"} + ": elements in memory keep their byte order");
  });
  plan.output.order = layout.order;  // in a file, what becomes of elements of one byte is little-endian
  return plan;
}

StageCounts clip_in_memory(const Plan& plan, const ElementsInMemory& elements, const Workers& workers,
                           Counting counting) {
  if (plan.has_arrays() && elements.count != plan.slice.count)
    throw Error(ErrorKind::usage, "another number of elements than the tensor for which arrays were given");
  const std::size_t size = traits(plan.input.dtype).size;
  const std::size_t out_size = traits(plan.output.dtype).size;
  if (plan.changes_dtype() && elements.in == elements.out && elements.count != 0)
    throw Error(ErrorKind::usage, fmt::format("{} elements cannot become {} in the same memory",
                                              traits(plan.input.dtype).name, traits(plan.output.dtype).name));
  if (elements.gather == nullptr && elements.overlap(size, out_size))
    throw Error(ErrorKind::usage,
                "in and out overlap; they must be the same memory, or have no byte in common");
  const std::size_t touched = elements.touched(size, out_size);
  std::shared_ptr<Engine> engine = engine_with_threads(touched, workers.threads);
  constexpr std::size_t kStopped = 1 << 20;  // bytes; fewer take less time than it takes to stop
  if (!engine && (workers.stop == nullptr || touched < kStopped) && is_one_step(plan, elements, size)) {
    expect_going_on(workers.stop);
    return clip_in_one_step(plan, elements, counting);
  }
  if (!engine) engine = engine_for(touched, 1);
  MemoryClip memory(plan, elements, *engine, workers.stop);
  memory.check_parameters();
  memory.check_nan();
  return memory.clip(counting);
}

namespace {

/// Bytes of elements that are checked and clipped at a time: four arrays of them fit the first-level cache.
constexpr std::size_t kBlock = 8192;

/// A bound for each element: those of an array, or a block of one number.
class Bound {
 public:
  Bound(DType dtype, const void* array, ElementBits number, std::size_t count)
      : array_(static_cast<const std::byte*>(array)), size_(traits(dtype).size) {
    if (array_ != nullptr) return;
    with_type(dtype, [&]<class T>() {
      std::fill_n(reinterpret_cast<T*>(number_.data()), std::min(count, kBlock / sizeof(T)),
                  from_bits<T>(number));
    });
  }

  /// At least those of the next kBlock bytes.
  [[nodiscard]] const std::byte* from(std::size_t position) const noexcept {
    return array_ != nullptr ? array_ + position * size_ : number_.data();
  }

 private:
  const std::byte* array_;
  std::size_t size_;
  alignas(64) std::array<std::byte, kBlock> number_;  // not initialized if there is an array
};

class BoundsClip {
 public:
  BoundsClip(const Operation& operation, const ElementsInMemory& elements, const BoundsInMemory& bounds,
             unsigned threads)
      : operation_(operation),
        in_(static_cast<const std::byte*>(elements.in)),
        out_(static_cast<std::byte*>(elements.out)),
        size_(traits(operation.dtype).size),
        streams_(streams(elements, elements.count * size_, threads)),
        min_(operation.dtype, bounds.min, operation.lo, elements.count),
        max_(operation.dtype, bounds.max, operation.hi, elements.count) {}

  [[nodiscard]] bool check(std::size_t begin, std::size_t count) const noexcept {
    bool ordered = true;
    for_each_block(begin, count,
                   [&](std::size_t at, std::size_t length) { ordered = ordered && is_ordered(at, length); });
    return ordered;
  }

  /// Also checks each block if `checks`; stops at a refused one and returns false.
  [[nodiscard]] bool clip(std::size_t begin, std::size_t count, bool checks) const noexcept {
    bool ordered = true;
    const auto clip_block = [&](std::size_t at, std::byte* to, std::size_t length) {
      Operands bounds;
      bounds[Slot::lo] = {min_.from(at), size_};
      bounds[Slot::hi] = {max_.from(at), size_};
      if (streams_)
        for (const Slot slot : {Slot::lo, Slot::hi}) prefetch_next(bounds[slot].data);
      if (checks) ordered = ordered && is_ordered(at, length);
      if (!ordered) return false;
      clipper::clip(operation_, bounds, in_ + at * size_, to, length, simd_levels().back());
      return true;
    };
    if (streams_)
      clip_streaming(in_ + begin * size_, out_ + begin * size_, count, size_,
                     [&](std::size_t at, std::byte* to, std::size_t length) {
                       return clip_block(begin + at, to, length);
                     });
    else
      for_each_block(begin, count,
                     [&](std::size_t at, std::size_t length) { clip_block(at, out_ + at * size_, length); });
    return ordered;
  }

 private:
  template <class Use>
  void for_each_block(std::size_t begin, std::size_t count, const Use& use) const {
    const std::size_t length = kBlock / size_;
    for (std::size_t done = 0; done < count; done += length)
      use(begin + done, std::min(length, count - done));
  }

  [[nodiscard]] bool is_ordered(std::size_t begin, std::size_t count) const noexcept {
    return are_ordered_bounds(operation_.dtype, min_.from(begin), max_.from(begin), count,
                              simd_levels().back());
  }

  const Operation& operation_;
  const std::byte* in_;
  std::byte* out_;
  std::size_t size_;
  bool streams_;
  Bound min_;
  Bound max_;
};

bool can_have_other_bounds(const Plan& plan) {
  return plan.takes_other_bounds && plan.then.empty() && is_decoded(plan.input) && !plan.arrays &&
         !plan.has_nodata() && !plan.mask && !plan.refuse_nan && !plan.replaces_nan() &&
         plan.operation.arithmetic == Arithmetic::none;
}

}  // namespace

bool clip_to_bounds(const Plan& plan, const ElementsInMemory& elements, const BoundsInMemory& bounds,
                    const Workers& workers) {
  const std::size_t size = traits(plan.input.dtype).size;
  for (const void* const memory :
       {elements.in, static_cast<const void*>(elements.out), bounds.min, bounds.max})
    if (!is_aligned(memory, size)) return false;
  if (!can_have_other_bounds(plan) || elements.overlap(size, size)) return false;
  const std::size_t arrays = (bounds.min != nullptr ? 1 : 0) + (bounds.max != nullptr ? 1 : 0);
  const std::size_t touched = elements.touched(size, size) + arrays * elements.count * size;
  std::shared_ptr<Engine> engine = engine_with_threads(touched, workers.threads);
  const BoundsClip clip(plan.operation, elements, bounds, engine ? engine->threads() : 1);
  if (!engine && workers.stop == nullptr)
    return (bounds.may_clobber_output || clip.check(0, elements.count)) &&
           clip.clip(0, elements.count, bounds.may_clobber_output);

  if (!engine) engine = engine_for(touched, 1);
  const Chunks chunks(elements.count, size, engine->chunk_in_memory(elements.count * size), 0);
  std::atomic<bool> ordered = true;
  const auto for_each_chunk = [&](const auto& step) {
    engine->for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* /*memory*/) {
      expect_going_on(workers.stop);
      if (ordered && !step(chunks[i].begin, chunks[i].count)) ordered = false;
    });
    return ordered.load();
  };
  if (!bounds.may_clobber_output &&
      !for_each_chunk([&](std::size_t begin, std::size_t count) { return clip.check(begin, count); }))
    return false;
  return for_each_chunk([&](std::size_t begin, std::size_t count) {
    return clip.clip(begin, count, bounds.may_clobber_output);
  });
}

}  // namespace clipper
