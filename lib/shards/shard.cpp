#include "shards/shard.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr std::uint64_t kUnit = 1 << 20;

/// The number of items of the shards before `index`. Rounds up: if there are any items, the first shard has
/// some.
std::uint64_t before(std::uint64_t index, std::uint64_t count, std::uint64_t all) {
  return static_cast<std::uint64_t>((UInt128{index} * all + count - 1) / count);
}

}  // namespace

ByteRange part_range(const Shard& shard, std::uint64_t file_size) {
  const std::uint64_t units = (file_size + kUnit - 1) / kUnit;
  const auto offset = [&](std::uint64_t index) {
    return std::min(before(index, shard.count, units) * kUnit, file_size);
  };
  const std::uint64_t begin = offset(shard.index);
  return {begin, offset(shard.index + 1) - begin};
}

Slice slice_of(const Shard& shard, const TensorLayout& layout, std::uint64_t header_size) {
  const auto elements_before = [&](std::uint64_t at) {
    return at < header_size ? 0 : (at - header_size) / traits(layout.dtype).size;
  };
  const auto [offset, size] = part_range(shard, header_size + layout.data_size());
  const std::uint64_t first = elements_before(offset);
  return {first, elements_before(offset + size) - first};
}

Rows rows_of(const Shard& shard, const TensorLayout& layout) {
  if (layout.shape.empty()) throw Error(ErrorKind::input, "has no axis 0 to split");
  if (layout.fortran_order && layout.shape.size() > 1)
    throw Error(ErrorKind::input, "is in Fortran order; only tensors in C order can be split along axis 0");
  const auto rows = static_cast<std::uint64_t>(layout.shape.front());
  const std::uint64_t begin = before(shard.index, shard.count, rows);
  return {begin, before(shard.index + 1, shard.count, rows) - begin};
}

Plan slab_plan(const Plan& whole, const Rows& rows) {
  const auto all = static_cast<std::uint64_t>(whole.input.shape.front());
  const std::uint64_t row = all == 0 ? 0 : whole.input.count / all;
  Plan plan = whole;
  plan.slice = {rows.begin * row, rows.count * row};
  plan.output.count = plan.slice.count;
  plan.output.shape.front() = static_cast<std::int64_t>(rows.count);
  return plan;
}

std::vector<std::size_t> files_of(const Shard& shard, std::span<const std::uint64_t> sizes) {
  std::vector<std::size_t> by_size(sizes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });

  using Load = std::pair<std::uint64_t, std::uint64_t>;  // bytes, shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::uint64_t i = 0; i < shard.count; ++i) loads.emplace(0, i);
  std::vector<std::size_t> files;
  for (const std::size_t file : by_size) {
    const auto [bytes, index] = loads.top();
    loads.pop();
    loads.emplace(bytes + sizes[file], index);
    if (index == shard.index) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace clipper
