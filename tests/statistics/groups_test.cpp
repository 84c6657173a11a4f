#include "statistics/groups.hpp"

#include <random>

#include "support/catch.hpp"

namespace clipper {
namespace {

using Members = std::map<std::uint64_t, std::vector<std::uint64_t>>;

/// The group of each element in the order of the file, by the definition.
std::vector<std::uint64_t> groups_by_index(const TensorLayout& layout, const std::vector<std::size_t>& axes) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t position = 0; position < layout.count; ++position) {
    std::vector<std::uint64_t> index(layout.shape.size());
    std::uint64_t rest = position;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::size_t axis = layout.fortran_order ? i : index.size() - 1 - i;
      index[axis] = rest % static_cast<std::uint64_t>(layout.shape[axis]);
      rest /= static_cast<std::uint64_t>(layout.shape[axis]);
    }
    std::uint64_t group = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      if (std::ranges::find(axes, axis) != axes.end())
        group = group * static_cast<std::uint64_t>(layout.shape[axis]) + index[axis];
    result.push_back(group);
  }
  return result;
}

}  // namespace

TEST_CASE(
    "Groups of every shape, order and range have the elements with their indexes, wherever a part begins") {
  std::mt19937_64 random(57);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int trial = 0; trial < 3000 / static_cast<int>(kStep); ++trial) {
    TensorLayout layout;
    layout.fortran_order = below(2) == 0;
    layout.count = 1;
    const std::uint64_t longest = trial % 10 == 0 ? 3000 : 7;  // also runs that are not collected
    for (std::size_t rank = below(5); rank != 0; --rank) {
      layout.shape.push_back(static_cast<std::int64_t>(1 + below(layout.count > 500 ? 2 : longest)));
      layout.count *= static_cast<std::uint64_t>(layout.shape.back());
    }
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < layout.shape.size(); ++axis)
      if (below(2) == 0) axes.push_back(axis);
    const Groups groups(layout, axes);
    const std::vector<std::uint64_t> group_of = groups_by_index(layout, axes);
    REQUIRE(groups.count() * groups.members() == layout.count);
    const std::uint64_t first = below(groups.count());
    const GroupRange range{first, 1 + below(groups.count() - first)};
    std::vector<std::uint32_t> elements(layout.count);
    for (std::uint32_t i = 0; i < elements.size(); ++i) elements[i] = i;

    Members expected;
    for (std::uint64_t i = 0; i < layout.count; ++i)
      if (group_of[i] - first < range.count) expected[group_of[i] - first].push_back(i);
    Members split;
    const std::uint64_t row = groups.members() + below(3);
    std::vector<std::uint32_t> table(range.count * row, ~0U);
    for (std::uint64_t at = 0, count = 0; at < layout.count; at += count) {
      count = std::min(1 + below(below(2) == 0 ? 9 : 9000), layout.count - at);
      std::uint64_t end = at;
      groups.for_each_part(range, at, count, [&](std::uint64_t begin, std::uint64_t length) {
        REQUIRE((begin >= end && length != 0 && begin + length <= at + count));
        end = begin + length;
        const std::span part = std::as_bytes(std::span(elements).subspan(begin, length));
        groups.gather(range, begin, part, 4, reinterpret_cast<std::byte*>(table.data()), row);
        groups.split(range, begin, part, 4, [&](std::size_t group, std::span<const std::byte> some) {
          for (std::size_t i = 0; i < some.size(); i += 4) {
            std::uint32_t element = 0;
            std::memcpy(&element, &some[i], 4);
            split[group].push_back(element);
          }
        });
      });
    }
    Members gathered;
    for (std::uint64_t i = 0; i < table.size(); ++i)
      if (i % row < groups.members()) gathered[i / row].push_back(table[i]);
    for (Members* const found : {&split, &gathered})
      for (auto& [group, members] : *found) std::ranges::sort(members);
    CAPTURE(trial, layout.shape, layout.fortran_order, axes, range.first, range.count);
    REQUIRE((split == expected));
    REQUIRE((gathered == expected));
  }
}

}  // namespace clipper
