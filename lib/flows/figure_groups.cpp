#include "flows/figure_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "error.hpp"

namespace clipper {

std::vector<std::size_t> axes_of(const Request& request, const TensorLayout& layout) {
  const auto rank = std::ssize(layout.shape);
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : request.per_axis) {
    if (axis < -rank || axis >= rank)
      throw Error(ErrorKind::input,
                  parameter("per_axis") + fmt::format(" {}: the tensor has no such axis, its shape is {}",
                                                      axis, shape_text(layout.shape)));
    axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  }
  return axes;
}

std::vector<Groups> groups_of(const Request& request, std::span<const TensorSource> sources) {
  std::vector<Groups> groups;
  for (const TensorSource& source : sources)
    groups.emplace_back(source.layout, axes_of(request, source.layout));
  return groups;
}

std::vector<std::int64_t> lengths_of_groups(const Request& request, const TensorLayout& layout) {
  const std::vector<std::int64_t> shape = Groups(layout, axes_of(request, layout)).shape();
  return {std::ranges::find_if(shape, [](std::int64_t size) { return size != 1; }), shape.end()};
}

Request bounds_alone(const Request& request) {
  Request alone{.min = request.min,
                .max = request.max,
                .profile = request.profile,
                .min_above_max = request.min_above_max};
  if (const Field* const user = user_of_bounds(request)) user->copy(request, alone);
  for (std::optional<Given>* const bound : {&alone.min, &alone.max})
    if (*bound && (*bound)->array) bound->reset();
  return alone;
}

}  // namespace clipper
