#include "flows/tensor_statistics.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "contract/bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "memory/codec.hpp"
#include "parallel/pool.hpp"

namespace clipper {
namespace {

/// A limit that is a number, as an element.
ElementBits element_or(const std::optional<Limit>& limit, ElementBits otherwise) {
  return limit ? limit->element.value_or(otherwise) : otherwise;
}

/// Counts the elements beyond a limit that is an array. Counts nothing for other limits.
class ArrayLimit {
 public:
  ArrayLimit(const std::optional<Limit>& limit, const Nodata& nodata, const KernelOptions& options,
             const std::string& path) {
    if (!limit || !limit->plan) return;
    plan_ = decoded(*limit->plan);
    plan_.nodata.emplace().read = nodata;
    clip_.emplace(plan_, options, path);
  }

  /// What a clip to the array would do to elements of the tensor, of which the first has index `position`.
  ElementCounts count(std::uint64_t position, std::span<const std::byte> elements, std::size_t size) {
    ElementCounts total;
    if (!clip_) return total;
    std::array<ElementBits, 1024> clipped;
    while (!elements.empty()) {
      const std::span part = elements.first(std::min(elements.size(), clipped.size() * size));
      total += clip_->clip(position, part.data(), std::as_writable_bytes(std::span(clipped)).data(),
                           part.size() / size, Counting::on);
      elements = elements.subspan(part.size());
      position += part.size() / size;
    }
    return total;
  }

  /// See TensorClip::expect_valid().
  void expect_valid() const {
    if (clip_) clip_->expect_valid();
  }

 private:
  Plan plan_;
  std::optional<TensorClip> clip_;
};

/// The elements without NaT or nodata, moved together.
std::span<std::byte> only_numbers(const TensorLayout& layout, const Nodata& nodata, SimdLevel level,
                                  std::span<std::byte> elements) {
  if (!nodata.matches_nothing()) return without_nodata(nodata, elements, level);
  if (!layout.meaning.is_time()) return elements;
  auto* const ticks = reinterpret_cast<std::int64_t*>(elements.data());
  const std::size_t count = elements.size() / sizeof(kNaT);
  return elements.first(static_cast<std::size_t>(std::remove(ticks, ticks + count, kNaT) - ticks) *
                        sizeof(kNaT));
}

void expect_percentiles(std::span<const Number> percentages) {
  for (const Number& percentage : percentages)
    if (!is_percentile(percentage))
      throw Error(
          ErrorKind::usage,
          decimal_text(percentage) + ": a percentile is a number from 0 to 100 with max 16 decimal places");
}

}  // namespace

ElementStatistics read_statistics(Engine& engine, InputFile& input, const TensorLayout& layout,
                                  const std::optional<Limit>& min, const std::optional<Limit>& max,
                                  const Nodata& nodata) {
  const Bounds bounds{element_or(min, lowest_element(layout.dtype)),
                      element_or(max, highest_element(layout.dtype))};
  engine.prepare(layout.data_size());
  ArrayLimit min_array(min, nodata, engine.kernel_options(), input.path());
  ArrayLimit max_array(max, nodata, engine.kernel_options(), input.path());
  ElementStatistics total;
  total.dtype = layout.dtype;
  const std::size_t size = traits(layout.dtype).size;
  std::mutex mutex;
  engine.read(layout, input, [&](std::uint64_t position, std::span<std::byte> elements) {
    const std::uint64_t below = min_array.count(position, elements, size).raised;
    const std::uint64_t above = max_array.count(position, elements, size).lowered;
    const std::span<std::byte> numbers = only_numbers(layout, nodata, engine.level(), elements);
    ElementStatistics part =
        statistics_of(layout.dtype, bounds, numbers.data(), numbers.size() / size, engine.level());
    const std::uint64_t others = (elements.size() - numbers.size()) / size;
    part.count += layout.meaning.is_time() ? others : 0;
    part.nan += layout.meaning.is_time() ? others : 0;
    part.below += below;
    part.above += above;
    const std::lock_guard lock(mutex);
    total += part;
  });
  min_array.expect_valid();
  max_array.expect_valid();
  // A number that all elements are beyond exists only for integers and floats of one byte.
  if (min && !min->plan && !min->element) total.below = total.count - total.nan;
  if (max && !max->plan && !max->element) total.above = total.count - total.nan;
  return total;
}

void read_statistics_of_groups(std::span<const TensorSource> sources, std::span<const Groups> groups,
                               const std::optional<Limit>& min, const std::optional<Limit>& max,
                               std::span<const Number> percentages, const Nodata& nodata, SimdLevel level,
                               const GroupFigures& found) {
  const ElementSource all = elements_of(sources, groups, nodata, level);
  const Bounds bounds{element_or(min, lowest_element(all.dtype)),
                      element_or(max, highest_element(all.dtype))};
  const auto show = [&](std::uint64_t group, ElementStatistics total, const Percentiles& percentiles) {
    if (min && !min->element) total.below = total.count - total.nan;
    if (max && !max->element) total.above = total.count - total.nan;
    if (sources.front().layout.meaning.is_time()) {
      total.nan += all.count - total.count;
      total.count = all.count;
    }
    found(group, total, percentiles);
  };
  if (all.for_each_gathered([&](std::uint64_t group, std::span<const std::byte> elements) {
        const std::size_t count = elements.size() / traits(all.dtype).size;
        show(group, statistics_of(all.dtype, bounds, elements.data(), count, level),
             percentiles_of(group_of(all, elements), percentages, level));
      }))
    return;
  std::vector<Percentiles> percentiles;
  percentiles_of_groups(all, percentages, level, [&](std::uint64_t /*group*/, const Percentiles& each) {
    percentiles.push_back(each);
  });
  const std::vector<ElementStatistics> totals = statistics_of_groups(all, bounds, level);
  for (std::size_t group = 0; group < totals.size(); ++group) show(group, totals[group], percentiles[group]);
}

std::vector<std::optional<Number>> read_percentiles(Engine& engine, InputFile& input,
                                                    const TensorLayout& layout,
                                                    std::span<const Number> percentages,
                                                    const Nodata& nodata) {
  expect_percentiles(percentages);
  if (!input.is_regular())
    throw Error(ErrorKind::usage,
                input.path() + ": percentiles need a file, not a stream: its elements are read twice");
  const TensorSource source = source_of(layout, engine, input);
  const Groups all(layout, {});
  return percentiles_of(elements_of({&source, 1}, {&all, 1}, nodata, engine.level()), percentages,
                        engine.level());
}

TensorSource source_of(const TensorLayout& layout, Engine& engine, InputFile& input) {
  return {layout, input.path(), [&](const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
            engine.read(layout, input, look, wanted);
            engine.take_back_done(layout.data_size());  // done() counts each tensor once
          }};
}

TensorSource source_of(const TensorLayout& layout, const void* elements, Engine& engine,
                       const Workers& workers) {
  return {layout, "", [=, &engine](const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
            const std::size_t size = traits(layout.dtype).size;
            const Chunks chunks(layout.count, size, engine.chunk_size(), 0);
            engine.for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* memory) {
              expect_going_on(workers.stop);
              const auto take = [&](std::uint64_t begin, std::uint64_t count) {
                const std::span stored(static_cast<const std::byte*>(elements) + begin * size, count * size);
                if (is_decoded(layout) && is_aligned(stored.data(), size)) return look(begin, stored);
                decode(layout, stored.data(), {memory, stored.size()}, engine.level());
                look(begin, {memory, stored.size()});
              };
              if (wanted) return wanted(chunks[i].begin, chunks[i].count, take);
              take(chunks[i].begin, chunks[i].count);
            });
          }};
}

ElementSource elements_of(std::span<const TensorSource> sources, std::span<const Groups> groups,
                          const Nodata& nodata, SimdLevel level) {
  const TensorLayout& first = sources.front().layout;
  ElementSource all{.dtype = first.dtype, .read = {}};
  if (sources.size() == 1) all.path = sources.front().path;
  all.only_elements = first.meaning.kind != LogicalType::Kind::number;
  all.groups = groups.front().count();
  for (const TensorSource& source : sources)
    all.count += source.layout.count / std::max<std::uint64_t>(all.groups, 1);
  const std::size_t size = traits(all.dtype).size;
  if (all.at_once() != 0) {
    all.read = [=, row = all.count](const GroupRange& range, const ElementSource::Look& look) {
      GroupTable table(range.count, row, size, sources.front().flag != nullptr);
      std::uint64_t member = 0;
      for (std::size_t i = 0; i < sources.size(); member += groups[i++].members())
        sources[i].read(parts_of(groups[i], range),
                        [&](std::uint64_t position, std::span<const std::byte> elements) {
                          table.gather(groups[i], range, position, elements,
                                       sources[i].flags(position, elements.size() / size), member);
                        });
      for (std::size_t group = 0; group < range.count; ++group)
        look(group, only_numbers(sources.front().layout, nodata, level, table.counted(group)));
    };
    return all;
  }
  const bool are_all = !first.meaning.is_time() && nodata.matches_nothing();
  all.read = [=](const GroupRange& range, const ElementSource::Look& look) {
    const ElementSource::Look look_at = [&](std::size_t group, std::span<const std::byte> elements) {
      if (are_all) return look(group, elements);
      std::vector<std::byte> own(elements.begin(), elements.end());
      look(group, only_numbers(sources.front().layout, nodata, level, own));
    };
    for (std::size_t i = 0; i < sources.size(); ++i)
      sources[i].read(parts_of(groups[i], range),
                      [&](std::uint64_t position, std::span<const std::byte> elements) {
                        groups[i].split(range, position, elements, size, look_at,
                                        sources[i].flags(position, elements.size() / size));
                      });
  };
  return all;
}

TensorSource::Wanted parts_of(const Groups& groups, const GroupRange& range) {
  return [&groups, range](std::uint64_t position, std::uint64_t count, const Engine::TakePart& take) {
    groups.for_each_part(range, position, count, take);
  };
}

ElementStatistics statistics_in_memory(const TensorLayout& layout, const void* elements,
                                       const Workers& workers) {
  const std::shared_ptr<Engine> engine = engine_for(layout.data_size(), workers.threads);
  const Bounds bounds{lowest_element(layout.dtype), highest_element(layout.dtype)};
  ElementStatistics total;
  total.dtype = layout.dtype;
  std::mutex mutex;
  source_of(layout, elements, *engine, workers).read({}, [&](std::uint64_t, std::span<const std::byte> part) {
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
  expect_percentiles(percentages);
  const std::shared_ptr<Engine> engine = engine_for(layout.data_size(), workers.threads);
  const TensorSource source = source_of(layout, elements, *engine, workers);
  const auto read = [&](const GroupRange& /*only*/, const ElementSource::Look& look) {
    source.read({}, [&](std::uint64_t, std::span<const std::byte> part) { look(0, part); });
  };
  return percentiles_of({layout.dtype, layout.count, read}, percentages, engine->level());
}

}  // namespace clipper
