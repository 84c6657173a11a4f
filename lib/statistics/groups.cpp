#include "statistics/groups.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "element/dtype.hpp"

namespace clipper {
namespace {

/// Shorter runs are collected: a call for each would take longer than to copy the elements.
constexpr std::size_t kLongRun = 4096;  // bytes

/// Of the collected elements of all groups together.
constexpr std::size_t kCollected = 128UL << 10;  // bytes

/// A part goes on over as many elements of other groups: to read them takes less time than another call.
constexpr std::uint64_t kGap = 1024;

constexpr std::uint64_t kLeastAtOnce = 4;  // groups that are worth a pass

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

  /// Takes `count` elements, each of which is of a group `stride` after the one before. Null flags are true.
  void take(std::uint64_t group, std::uint64_t stride, const std::byte* from, std::uint64_t count,
            const std::byte* flags) {
    if (stride == 0 && flags == nullptr) return take_run(group - first_, from, count);
    for (std::uint64_t i = 0; i < count; ++i, group += stride) {
      if (flags != nullptr && flags[i] == std::byte{0}) continue;
      const std::uint64_t own = group - first_;
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
      axes_.back() = {.size = axes_.back().size * axis.size, .stride = axis.stride};
    else
      axes_.push_back(axis);
  }
  if (axes_.empty()) axes_.push_back({});
  Axis after{.size = 0};
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); after = *axis++) {
    if (axis != axes_.rbegin()) {
      axis->extent = after.extent * after.size;
      axis->reach = after.reach + (after.size - 1) * after.stride;
    }
    if (axis->stride != 0) continue;
    axis->step = members_;
    members_ *= axis->size;
  }
}

/// Calls `use` for the runs of the window, in order. `from` is where the elements along this axis and the
/// ones after it begin.
template <class Use>
void Groups::for_each_run(const Window& window, const Use& use, std::size_t axis, const Run& from) const {
  const Axis& own = axes_[axis];
  const auto steps_to = [](std::uint64_t distance, std::uint64_t step) {
    return (distance + step - 1) / step;
  };
  std::uint64_t first = window.begin > from.position ? (window.begin - from.position) / own.extent : 0;
  std::uint64_t last = std::min(own.size, steps_to(window.end - from.position, own.extent));
  const std::uint64_t wanted = window.groups.first;
  const std::uint64_t end = wanted + window.groups.count;
  if (from.group >= end) return;
  if (const std::uint64_t reached = from.group + own.reach; reached < wanted) {
    if (own.stride == 0) return;
    first = std::max(first, steps_to(wanted - reached, own.stride));
  }
  if (own.stride != 0) last = std::min(last, steps_to(end - from.group, own.stride));
  const auto at = [&](std::uint64_t i) {
    return Run{from.position + i * own.extent, from.group + i * own.stride, from.member + i * own.step, 0};
  };
  if (axis + 1 != axes_.size()) {
    for (std::uint64_t i = first; i < last; ++i) for_each_run(window, use, axis + 1, at(i));
  } else if (first < last) {
    Run run = at(first);
    run.length = last - first;
    use(run);
  }
}

void Groups::for_each_part(const GroupRange& groups, std::uint64_t position, std::uint64_t count,
                           const Take& take) const {
  if (groups.count == count_) return take(position, count);
  std::uint64_t begin = position;
  std::uint64_t end = position;
  for_each_run({position, position + count, groups}, [&](const Run& run) {
    if (run.position - end > kGap || begin == end) {
      if (begin != end) take(begin, end - begin);
      begin = run.position;
    }
    end = run.position + run.length;
  });
  if (begin != end) take(begin, end - begin);
}

void Groups::split(const GroupRange& groups, std::uint64_t position, std::span<const std::byte> elements,
                   std::size_t size, const Look& look, std::span<const std::byte> flags) const {
  if (count_ == 1 && flags.empty()) return look(0, elements);
  const std::uint64_t stride = axes_.back().stride;
  with_size(size, [&]<std::size_t kSize>() {
    std::optional<Collector<UnsignedOfSize<kSize>>> collector;
    for_each_run({position, position + elements.size() / kSize, groups}, [&](const Run& run) {
      const std::byte* const from = elements.data() + (run.position - position) * kSize;
      if (stride == 0 && flags.empty() && run.length * kSize >= kLongRun)
        return look(run.group - groups.first, {from, run.length * kSize});
      if (!collector) collector.emplace(groups, look);
      collector->take(run.group, stride, from, run.length,
                      flags.empty() ? nullptr : flags.data() + (run.position - position));
    });
    if (collector) collector->show_rest();
  });
}

void Groups::gather(const GroupRange& groups, std::uint64_t position, std::span<const std::byte> elements,
                    std::size_t size, std::byte* table, std::uint64_t row) const {
  with_size(size, [&]<std::size_t kSize>() {
    const std::size_t step = (axes_.back().stride * row + axes_.back().step) * kSize;
    for_each_run({position, position + elements.size() / kSize, groups}, [&](const Run& run) {
      const std::byte* const from = elements.data() + (run.position - position) * kSize;
      std::byte* const to = table + ((run.group - groups.first) * row + run.member) * kSize;
      if (step == kSize)
        std::memcpy(to, from, run.length * kSize);
      else
        for (std::uint64_t i = 0; i < run.length; ++i) std::memcpy(to + i * step, from + i * kSize, kSize);
    });
  });
}

GroupTable::GroupTable(std::size_t groups, std::uint64_t row, std::size_t size, bool has_flags)
    : row_(row),
      size_(size),
      elements_(std::make_unique_for_overwrite<std::byte[]>(groups * row * size)),
      flags_(has_flags ? std::make_unique_for_overwrite<std::byte[]>(groups * row) : nullptr) {}

void GroupTable::gather(const Groups& groups, const GroupRange& range, std::uint64_t position,
                        std::span<const std::byte> elements, std::span<const std::byte> flags,
                        std::uint64_t member) {
  groups.gather(range, position, elements, size_, elements_.get() + member * size_, row_);
  if (flags_) groups.gather(range, position, flags, 1, flags_.get() + member, row_);
}

std::span<std::byte> GroupTable::counted(std::size_t group) {
  const std::span elements(elements_.get() + group * row_ * size_, row_ * size_);
  if (!flags_) return elements;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < row_; ++i)
    if (flags_[group * row_ + i] != std::byte{0})
      std::memmove(&elements[size_ * kept++], &elements[size_ * i], size_);
  return elements.first(kept * size_);
}

std::uint64_t gathered_at_once(std::uint64_t members, std::size_t size) noexcept {
  const std::uint64_t groups = kGathered / std::max<std::uint64_t>(members, 1) / size;
  return groups < kLeastAtOnce ? 0 : groups;
}

}  // namespace clipper
