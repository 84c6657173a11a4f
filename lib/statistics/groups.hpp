#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

  /// The number of elements of each group.
  [[nodiscard]] std::uint64_t members() const noexcept { return members_; }

  /// Calls `take` with the index of the first element, and the number of elements, of parts of `count`
  /// elements in the file from index `position` on, in order. The parts have all of these groups' elements
  /// and, rather than being very short, others between them.
  using Take = std::function<void(std::uint64_t, std::uint64_t)>;
  void for_each_part(const GroupRange& groups, std::uint64_t position, std::uint64_t count,
                     const Take& take) const;

  using Look = std::function<void(std::size_t, std::span<const std::byte>)>;

  /// Calls `look` with the number of a group in the range, and elements of this group, for all elements
  /// that belong to the range. `elements` of `size` bytes are those from index `position` on. Of them only
  /// those count whose flag is not 0, if there are `flags`.
  void split(const GroupRange& groups, std::uint64_t position, std::span<const std::byte> elements,
             std::size_t size, const Look& look, std::span<const std::byte> flags = {}) const;

  /// Copies all elements that belong to the range to a table, which has a row of `row` elements for each
  /// group: to the begin of its row, each to a place of its own among members().
  void gather(const GroupRange& groups, std::uint64_t position, std::span<const std::byte> elements,
              std::size_t size, std::byte* table, std::uint64_t row) const;

 private:
  /// Of the tensor in its file.
  struct Axis {
    std::uint64_t size = 1;
    std::uint64_t stride = 0;  ///< groups that one step along the axis leads on
    std::uint64_t step = 0;    ///< members of the same group that it leads on
    std::uint64_t extent = 1;  ///< elements that it leads on
    std::uint64_t reach = 0;   ///< groups that all steps along the axes after this one lead on
  };

  /// Elements along the last axis.
  struct Run {
    std::uint64_t position = 0;
    std::uint64_t group = 0;  ///< of the first one
    std::uint64_t member = 0;
    std::uint64_t length = 0;
  };

  /// Elements from index `begin` to before `end`, of these groups.
  struct Window {
    std::uint64_t begin;
    std::uint64_t end;
    GroupRange groups;
  };

  template <class Use>
  void for_each_run(const Window& window, const Use& use) const {
    for_each_run(window, use, 0, {});
  }
  template <class Use>
  void for_each_run(const Window& window, const Use& use, std::size_t axis, const Run& from) const;

  std::uint64_t count_ = 1;
  std::uint64_t members_ = 1;
  std::vector<std::int64_t> shape_;
  std::vector<Axis> axes_;  ///< the last one is contiguous; axes that nothing distinguishes are merged
};

/// The elements of `groups` groups, `row` of each, of `size` bytes.
class GroupTable {
 public:
  GroupTable(std::size_t groups, std::uint64_t row, std::size_t size, bool has_flags);

  /// See Groups::gather() and split(); `member`: the place of the tensor's first element in each row.
  void gather(const Groups& groups, const GroupRange& range, std::uint64_t position,
              std::span<const std::byte> elements, std::span<const std::byte> flags, std::uint64_t member);

  /// The elements of a group whose flag is not 0. Moves them together.
  [[nodiscard]] std::span<std::byte> counted(std::size_t group);

 private:
  std::uint64_t row_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> elements_;
  std::unique_ptr<std::byte[]> flags_;  ///< null: all are true
};

/// How many groups' elements fit a table of kGathered bytes; 0 if these are so few that more passes, each of
/// which reads all elements, would take longer than to look at long runs.
[[nodiscard]] std::uint64_t gathered_at_once(std::uint64_t members, std::size_t size) noexcept;

inline constexpr std::uint64_t kGathered = 8UL << 20;

}  // namespace clipper
