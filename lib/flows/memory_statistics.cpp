#include "flows/memory_statistics.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>

#include "clip/codec.hpp"
#include "contract/bounds.hpp"
#include "element/element.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "parallel/chunks.hpp"

namespace clipper {
namespace {

/// Calls `look` with aligned elements in this machine's byte order: with several parts at once.
void read_in_memory(Engine& engine, const TensorLayout& layout, const void* elements, const Workers& workers,
                    const std::function<void(std::span<const std::byte>)>& look) {
  const std::size_t size = traits(layout.dtype).size;
  const Chunks chunks(layout.count, size, engine.chunk_size(), 0);
  engine.for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* memory) {
    expect_going_on(workers.stop);
    const auto [begin, count] = chunks[i];
    const std::span stored(static_cast<const std::byte*>(elements) + begin * size, count * size);
    if (is_decoded(layout) && is_aligned(stored.data(), size)) return look(stored);
    std::ranges::copy(stored, memory);
    decode(layout, {memory, stored.size()}, engine.level());
    look({memory, stored.size()});
  });
}

}  // namespace

ElementStatistics statistics_in_memory(const TensorLayout& layout, const void* elements,
                                       const Workers& workers) {
  const std::shared_ptr<Engine> engine = engine_for(layout.data_size(), workers.threads);
  const Bounds bounds{lowest_element(layout.dtype), highest_element(layout.dtype)};
  ElementStatistics total;
  total.dtype = layout.dtype;
  std::mutex mutex;
  read_in_memory(*engine, layout, elements, workers, [&](std::span<const std::byte> part) {
    const ElementStatistics figures = statistics_of(layout.dtype, bounds, part.data(),
                                                    part.size() / traits(layout.dtype).size, engine->level());
    const std::lock_guard lock(mutex);
    total += figures;
  });
  return total;
}

std::vector<std::optional<Number>> percentiles_in_memory(const TensorLayout& layout, const void* elements,
                                                         std::span<const Number> percentages,
                                                         const Workers& workers) {
  for (const Number& percentage : percentages)
    if (!is_percentile(percentage))
      throw Error(
          ErrorKind::usage,
          decimal_text(percentage) + ": a percentile is a number from 0 to 100 with max 16 decimal places");
  const std::shared_ptr<Engine> engine = engine_for(layout.data_size(), workers.threads);
  const auto read = [&](const GroupRange& /*only*/, const ElementSource::Look& look) {
    read_in_memory(*engine, layout, elements, workers,
                   [&](std::span<const std::byte> part) { look(0, part); });
  };
  return percentiles_of({layout.dtype, layout.count, read}, percentages, engine->level());
}

}  // namespace clipper
