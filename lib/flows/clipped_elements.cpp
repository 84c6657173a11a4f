#include "flows/clipped_elements.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "contract/plan.hpp"
#include "element/dtype.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// Bytes of clipped elements that are looked at together.
constexpr std::size_t kClippedBytes = 64UL << 10;

/// Calls `look` with what a plan of decoded elements gives of the source.
void read_after(const Plan& plan, const TensorSource& source, const KernelOptions& options,
                const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
  const std::size_t in_size = traits(plan.input.dtype).size;
  const std::size_t capacity = kClippedBytes / plan.largest_element();
  TensorClip clip(plan, options, source.path);
  source.read(wanted, [&](std::uint64_t position, std::span<const std::byte> elements) {
    const auto clipped = std::make_unique_for_overwrite<std::byte[]>(kClippedBytes);
    while (!elements.empty()) {
      const std::size_t count = std::min(capacity, elements.size() / in_size);
      clip.clip(position, elements.data(), clipped.get(), count, Counting::off);
      look(position, {clipped.get(), count * traits(plan.output.dtype).size});
      elements = elements.subspan(count * in_size);
      position += count;
    }
  });
  clip.expect_valid();
}

Plan first_plan(const Request& first, const TensorLayout& tensor, const std::string& path) {
  return with_path(path, [&] { return decoded(make_plan_in_units(first, tensor)); });
}

/// Gathers the clipped elements of the groups in the table, or calls `look` with them if there is none.
void read_clipped(const Request& first, const ClippedFrom& from, const GroupRange& range,
                  const ElementSource::Look& look, GroupTable* table) {
  std::uint64_t member = 0;
  for (std::size_t i = 0; i < from.sources.size(); ++i) {
    const TensorSource& source = from.sources[i];
    const Groups& groups = from.groups[i];
    const Plan plan = first_plan(first, source.layout, from.path);
    const std::size_t size = traits(plan.output.dtype).size;
    read_after(plan, source, from.options, parts_of(groups, range),
               [&](std::uint64_t position, std::span<const std::byte> block) {
                 const std::vector<std::byte> flags = source.flags(position, block.size() / size);
                 if (table != nullptr)
                   table->gather(groups, range, position, block, flags, member);
                 else
                   groups.split(range, position, block, size, look, flags);
               });
    member += groups.members();
  }
}

}  // namespace

ElementSource clipped_elements(const Request& first, const ClippedFrom& from) {
  const DType dtype = first_plan(first, from.sources.front().layout, from.path).output.dtype;
  ElementSource all{.dtype = dtype,
                    .count = from.row,
                    .read = {},
                    .path = from.path,
                    .groups = from.groups.front().count()};
  const bool gathers = all.at_once() != 0;
  all.read = [from, &first, gathers, dtype](const GroupRange& range, const ElementSource::Look& look) {
    if (!gathers) return read_clipped(first, from, range, look, nullptr);
    GroupTable table(range.count, from.row, traits(dtype).size, from.has_mask);
    read_clipped(first, from, range, {}, &table);
    for (std::size_t group = 0; group < range.count; ++group) look(group, table.counted(group));
  };
  return all;
}

TensorSource source_after(const Plan& before, const TensorSource& source, const TensorLayout& layout,
                          const std::string& name, const KernelOptions& options) {
  const auto read = [&before, &source, options](const TensorSource::Wanted& wanted,
                                                const TensorSource::Look& look) {
    read_after(decoded(before), source, options, wanted, look);
  };
  return {layout, source.path.empty() ? name : source.path + ": " + name, read};
}

}  // namespace clipper
