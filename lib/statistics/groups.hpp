#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "element/tensor_layout.hpp"

namespace clipper {

/// Consecutive groups.
struct GroupRange {
  std::uint64_t first = 0;
  std::size_t count = 1;
};

/// Divides a tensor's elements into groups: those with equal indexes along some of its axes. Without axes
/// there is one group. Groups are numbered in C order of these indexes.
class Groups {
 public:
  /// `axes` are from 0 to the number of dimensions - 1.
  Groups(const TensorLayout& layout, std::span<const std::size_t> axes);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// The tensor's shape, with 1 in place of the axes along which groups extend.
  [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return shape_; }

  /// Whether some of `count` elements in the file from index `position` on may belong to these groups.
  [[nodiscard]] bool has_any(const GroupRange& groups, std::uint64_t position, std::uint64_t count) const;

  using Look = std::function<void(std::size_t, std::span<const std::byte>)>;

  /// Calls `look` with the number of a group in the range, and elements of this group, for all elements
  /// that belong to the range. `elements` of `size` bytes are those from index `position` on.
  void split(const GroupRange& groups, std::uint64_t position, std::span<const std::byte> elements,
             std::size_t size, const Look& look) const;

 private:
  /// Of the tensor in its file. One step along it leads `stride` groups on.
  struct Axis {
    std::uint64_t size = 1;
    std::uint64_t stride = 0;
  };

  template <class Use>
  void for_each_run(std::uint64_t position, std::uint64_t count, const Use& use) const;

  std::uint64_t count_ = 1;
  std::vector<std::int64_t> shape_;
  std::vector<Axis> axes_;  ///< the last one is contiguous; axes that nothing distinguishes are merged
};

}  // namespace clipper
