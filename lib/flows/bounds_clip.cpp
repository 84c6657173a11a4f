#include "flows/bounds_clip.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "clip/clip_vectors.hpp"
#include "clip/ordered_bounds.hpp"
#include "engine/engine.hpp"
#include "engine/shared_engine.hpp"
#include "engine/streaming.hpp"
#include "simd/levels.hpp"

namespace clipper {
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
  BoundsClip(const Operation& operation, const ElementsInMemory& elements, const BoundsInMemory& bounds)
      : operation_(operation),
        in_(static_cast<const std::byte*>(elements.in)),
        out_(static_cast<std::byte*>(elements.out)),
        size_(traits(operation.dtype).size),
        streams_(in_ != out_ && should_stream(out_, elements.count * size_)),
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
      if (checks) ordered = ordered && is_ordered(at, length);
      if (!ordered) return false;
      const ParameterVectors vectors{.lo = min_.from(at), .hi = max_.from(at)};
      clipper::clip(operation_, vectors, in_ + at * size_, to, length, simd_levels().back());
      return true;
    };
    if (streams_)
      clip_streaming(out_ + begin * size_, count, size_,
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
  return plan.takes_other_bounds && !plan.arrays && !plan.refuse_nan && !plan.replaces_nan() &&
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
  const BoundsClip clip(plan.operation, elements, bounds);
  const std::size_t arrays = (bounds.min != nullptr ? 1 : 0) + (bounds.max != nullptr ? 1 : 0);
  const std::size_t touched = elements.touched(size, size) + arrays * elements.count * size;
  if (workers.stop == nullptr && !is_worth_threads(touched, workers.threads))
    return (bounds.may_spoil_out || clip.check(0, elements.count)) &&
           clip.clip(0, elements.count, bounds.may_spoil_out);

  const std::shared_ptr<Engine> engine = engine_for(touched, workers.threads);
  const Chunks chunks(elements.count, size, engine->chunk_size(), 0);
  std::atomic<bool> ordered = true;
  const auto for_each_chunk = [&](const auto& step) {
    engine->for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* /*memory*/) {
      expect_going_on(workers.stop);
      if (ordered && !step(chunks[i].begin, chunks[i].count)) ordered = false;
    });
    return ordered.load();
  };
  if (!bounds.may_spoil_out &&
      !for_each_chunk([&](std::size_t begin, std::size_t count) { return clip.check(begin, count); }))
    return false;
  return for_each_chunk(
      [&](std::size_t begin, std::size_t count) { return clip.clip(begin, count, bounds.may_spoil_out); });
}

}  // namespace clipper
