#include "statistics/groups.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "element/dtype.hpp"

namespace clipper {
namespace {

/// Shorter runs are collected: a call for each would take longer than to copy the elements.
constexpr std::size_t kLongRun = 4096;  // bytes

/// Of the collected elements of all groups together.
constexpr std::size_t kCollected = 128UL << 10;  // bytes

constexpr std::uint64_t kMaxRuns = 64;  // that has_any() looks at

/// Collects the elements of each group, to look at many of them at once.
template <class Bits>
class Collector {
 public:
  Collector(const GroupRange& groups, const Groups::Look& look)
      : first_(groups.first),
        capacity_(std::max<std::size_t>(kCollected / sizeof(Bits) / groups.count, 16)),
        sizes_(groups.count),
        memory_(std::make_unique_for_overwrite<Bits[]>(capacity_ * groups.count)),
        look_(look) {}

  /// Takes `count` elements, each of which is of a group `stride` after the one before.
  void take(std::uint64_t group, std::uint64_t stride, const std::byte* from, std::uint64_t count) {
    if (stride == 0) return take_run(group - first_, from, count);
    for (std::uint64_t i = 0; i < count; ++i, group += stride) {
      const std::uint64_t own = group - first_;
      if (own >= sizes_.size()) continue;
      std::memcpy(&memory_[own * capacity_ + sizes_[own]], from + i * sizeof(Bits), sizeof(Bits));
      if (++sizes_[own] == capacity_) show(own);
    }
  }

  void show_rest() {
    for (std::size_t own = 0; own < sizes_.size(); ++own)
      if (sizes_[own] != 0) show(own);
  }

 private:
  void take_run(std::size_t own, const std::byte* from, std::uint64_t count) {
    while (count != 0) {
      const std::size_t taken = std::min<std::uint64_t>(count, capacity_ - sizes_[own]);
      std::memcpy(&memory_[own * capacity_ + sizes_[own]], from, taken * sizeof(Bits));
      sizes_[own] += taken;
      if (sizes_[own] == capacity_) show(own);
      from += taken * sizeof(Bits);
      count -= taken;
    }
  }

  void show(std::size_t own) {
    look_(own, std::as_bytes(std::span(&memory_[own * capacity_], sizes_[own])));
    sizes_[own] = 0;
  }

  std::uint64_t first_;
  std::size_t capacity_;  ///< of a group
  std::vector<std::size_t> sizes_;
  std::unique_ptr<Bits[]> memory_;
  const Groups::Look& look_;
};

}  // namespace

Groups::Groups(const TensorLayout& layout, std::span<const std::size_t> axes) : shape_(layout.shape) {
  std::vector<Axis> all(shape_.size());
  for (std::size_t axis = all.size(); axis-- > 0;) {
    all[axis].size = static_cast<std::uint64_t>(shape_[axis]);
    if (std::ranges::find(axes, axis) == axes.end()) {
      shape_[axis] = 1;
    } else {
      all[axis].stride = count_;
      count_ *= all[axis].size;
    }
  }
  if (layout.fortran_order) std::ranges::reverse(all);
  for (const Axis& axis : all) {
    if (axis.size == 1) continue;
    if (!axes_.empty() && axes_.back().stride == axis.stride * axis.size)
      axes_.back() = {axes_.back().size * axis.size, axis.stride};
    else
      axes_.push_back(axis);
  }
  if (axes_.empty()) axes_.push_back({});
}

/// Calls `use` with the group of a run's first element, and the run's length, for the runs along the last
/// axis, until it returns false.
template <class Use>
void Groups::for_each_run(std::uint64_t position, std::uint64_t count, const Use& use) const {
  std::vector<std::uint64_t> index(axes_.size());
  std::uint64_t group = 0;
  for (std::size_t axis = axes_.size(); axis-- > 0; position /= axes_[axis].size) {
    index[axis] = position % axes_[axis].size;
    group += index[axis] * axes_[axis].stride;
  }
  const Axis& last = axes_.back();
  while (count != 0) {
    const std::uint64_t length = std::min(count, last.size - index.back());
    if (!use(group, length)) return;
    count -= length;
    index.back() += length;
    group += length * last.stride;
    for (std::size_t axis = axes_.size() - 1; axis > 0 && index[axis] == axes_[axis].size; --axis) {
      group += axes_[axis - 1].stride - axes_[axis].size * axes_[axis].stride;
      index[axis] = 0;
      ++index[axis - 1];
    }
  }
}

bool Groups::has_any(const GroupRange& groups, std::uint64_t position, std::uint64_t count) const {
  if (groups.count == count_ || axes_.back().stride != 0) return true;
  bool found = false;
  std::uint64_t runs = 0;
  for_each_run(position, count, [&](std::uint64_t group, std::uint64_t /*length*/) {
    found = group - groups.first < groups.count || ++runs > kMaxRuns;
    return !found;
  });
  return found;
}

void Groups::split(const GroupRange& groups, std::uint64_t position, std::span<const std::byte> elements,
                   std::size_t size, const Look& look) const {
  if (count_ == 1) return look(0, elements);
  const std::uint64_t stride = axes_.back().stride;
  const std::byte* from = elements.data();
  with_size(size, [&]<std::size_t kSize>() {
    using Bits = UnsignedOfSize<kSize>;
    std::optional<Collector<Bits>> collector;
    for_each_run(position, elements.size() / kSize, [&](std::uint64_t group, std::uint64_t length) {
      const std::uint64_t own = group - groups.first;
      if (stride == 0 && length * kSize >= kLongRun) {
        if (own < groups.count) look(own, {from, length * kSize});
      } else if (stride != 0 || own < groups.count) {
        if (!collector) collector.emplace(groups, look);
        collector->take(group, stride, from, length);
      }
      from += length * kSize;
      return true;
    });
    if (collector) collector->show_rest();
  });
}

}  // namespace clipper
