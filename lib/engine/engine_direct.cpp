#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "engine/engine.hpp"
#include "files/checksum.hpp"

/// How the engine changes a file where it is.
namespace clipper {
namespace {

constexpr std::size_t kMaxChunks = 32;  // max chunks in a part; a small chunk size makes small parts

}  // namespace

std::uint64_t Engine::sum(const InputFile& input, std::uint64_t begin, std::uint64_t end) {
  std::atomic<std::uint64_t> total = 0;
  for_each_chunk_of(end - begin, [&](std::uint64_t at, std::span<std::byte> bytes) {
    input.read_at(bytes, begin + at);
    total += placed_sum(bytes, begin + at);
  });
  return total;
}

ElementCounts Engine::rewrite(const Plan& plan, InputFile& input, JournaledFile& file) {
  prepare(plan.input_size());
  TensorClip clip(plan, kernel_options(), input.path());
  check(plan, clip);
  const std::uint64_t wanted = std::min<std::uint64_t>(kMemory / 2, kMaxChunks * options_.chunk_size);
  const auto interrupted =
      file.begin({plan.fingerprint(), describe(plan), plan.min, plan.max, std::min(wanted, plan.input_size()),
                  input.data_begin(),
                  [this, &input](std::uint64_t begin, std::uint64_t end) { return sum(input, begin, end); }});
  const std::size_t capacity = file.capacity();
  const auto memory = allocate(2 * capacity);
  const auto before = [&](std::size_t length) { return std::span(memory.get(), length); };
  const auto part_at = [&](std::uint64_t offset, std::size_t length) {
    return JournaledFile::Part{offset, before(length), std::span(memory.get() + capacity, length), 0, 0};
  };

  ElementCounts total;
  std::uint64_t at = input.data_begin();
  const std::uint64_t end = at + plan.input_size();
  if (interrupted) {
    file.read_interrupted(before(interrupted->length));
    JournaledFile::Part part = part_at(interrupted->offset, interrupted->length);
    total += clip_part(plan, clip, input.data_begin(), part);
    file.finish_interrupted(part);
    at = interrupted->offset + interrupted->length;
  }
  while (at < end) {
    const std::size_t length = std::min<std::uint64_t>(capacity, end - at);
    file.read(before(length), at);
    JournaledFile::Part part = part_at(at, length);
    const ElementCounts counts = clip_part(plan, clip, input.data_begin(), part);
    if (counts.changed)
      file.change(part);
    else
      file.leave(part);
    total += counts;
    at += length;
    done_ += length;
  }
  return total;
}

ElementCounts Engine::clip_part(const Plan& plan, TensorClip& clip, std::uint64_t data_begin,
                                JournaledFile::Part& part) {
  const std::size_t chunk = options_.chunk_size;
  const std::size_t element_size = traits(plan.input.dtype).size;
  ElementCounts total;
  std::mutex mutex;
  take_each((part.before.size() + chunk - 1) / chunk, true, [&](std::uint64_t i) {
    const std::uint64_t at = i * chunk;
    const std::size_t size = std::min<std::size_t>(chunk, part.before.size() - at);
    const std::span before = part.before.subspan(at, size);
    const std::span after = part.after.subspan(at, size);
    const std::uint64_t position = (part.offset + at - data_begin) / element_size;
    const ElementCounts counts =
        clip.clip(position, before.data(), after.data(), size / element_size, Counting::on);
    const std::uint64_t sum_before = placed_sum(before, part.offset + at);
    const std::uint64_t sum_after = counts.changed ? placed_sum(after, part.offset + at) : sum_before;
    const std::lock_guard lock(mutex);
    total += counts;
    part.sum_before += sum_before;
    part.sum_after += sum_after;
  });
  clip.expect_valid();
  return total;
}

}  // namespace clipper
