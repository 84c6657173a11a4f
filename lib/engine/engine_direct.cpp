#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>

#include "engine/engine.hpp"

/// How the engine changes a file where it is.
namespace clipper {
namespace {

constexpr std::size_t kMaxChunks = 32;  // max chunks in a part; a small chunk size makes small parts

}  // namespace

ElementCounts Engine::rewrite(const Plan& plan, InputFile& input, DirectFile& file) {
  prepare(plan.input_size());
  TensorClip clip(plan, kernel_options(), input.path());
  check(plan, clip);
  file.begin(plan.fingerprint());
  const std::size_t capacity =
      std::min<std::uint64_t>({kMemory / 2, kMaxChunks * options_.chunk_size, plan.input_size()});
  const auto memory = allocate(2 * capacity);
  ElementCounts total;
  for (std::uint64_t at = 0; at < plan.input_size(); at += capacity) {
    const std::size_t length = std::min<std::uint64_t>(capacity, plan.input_size() - at);
    const std::span before(memory.get(), length);
    const std::span after(memory.get() + capacity, length);
    file.read(before, input.data_begin() + at);
    const ElementCounts counts = clip_part(plan, clip, at / traits(plan.input.dtype).size, before, after);
    if (counts.changed) file.write(before, after, input.data_begin() + at);
    total += counts;
    done_ += length;
  }
  return total;
}

ElementCounts Engine::clip_part(const Plan& plan, TensorClip& clip, std::uint64_t position,
                                std::span<const std::byte> before, std::span<std::byte> after) {
  const std::size_t chunk = options_.chunk_size;
  const std::size_t element_size = traits(plan.input.dtype).size;
  ElementCounts total;
  std::mutex mutex;
  take_each((before.size() + chunk - 1) / chunk, true, [&](std::uint64_t i) {
    const std::size_t at = i * chunk;
    const std::size_t size = std::min(chunk, before.size() - at);
    const ElementCounts counts = clip.clip(position + at / element_size, before.data() + at,
                                           after.data() + at, size / element_size, Counting::on);
    const std::lock_guard lock(mutex);
    total += counts;
  });
  clip.expect_valid();
  return total;
}

}  // namespace clipper
