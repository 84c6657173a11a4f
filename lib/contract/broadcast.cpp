#include "contract/broadcast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "contract/bounds.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// How many elements of the array's file one step along each axis of a tensor of this rank is. 0 where the
/// array has size 1 or no axis.
std::vector<std::uint64_t> strides_of(const TensorLayout& array, std::size_t rank) {
  std::vector<std::uint64_t> strides(rank, 0);
  const std::size_t missing = rank - array.shape.size();
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    const std::size_t axis = array.fortran_order ? i : array.shape.size() - 1 - i;
    const auto size = static_cast<std::uint64_t>(array.shape[axis]);
    if (size != 1) strides[missing + axis] = stride;
    stride *= size;
  }
  return strides;
}

/// Whether one step along the outer axis is as far, in every array, as all steps along the inner one.
bool can_be_merged(const Broadcast& broadcast, std::size_t outer) {
  return std::ranges::all_of(broadcast.arrays, [&](const ArrayParameter& row) {
    return row.strides[outer] == row.strides[outer + 1] * broadcast.axes[outer + 1];
  });
}

void remove_axis(Broadcast& broadcast, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  broadcast.axes.erase(broadcast.axes.begin() + at);
  for (ArrayParameter& row : broadcast.arrays) row.strides.erase(row.strides.begin() + at);
}

/// Error{usage} or Error{input} if the profile does not take this array for a tensor of this shape.
void check_array(const Request& request, std::string_view field, const Given& given,
                 const std::vector<std::int64_t>& shape) {
  const Profile& profile = *request.profile;
  const auto refuse = [&](ErrorKind kind, std::string_view why) {
    throw Error(kind, label(field, given) +
                          fmt::format(" has shape {}; {} {}", shape_text(given.shape), profile.system, why));
  };
  const auto is_typed = [](const std::optional<Given>& bound) { return bound && !bound->dtype; };
  switch (profile.arrays) {
    case Profile::Arrays::broadcast: return;
    case Profile::Arrays::none:
      return refuse(ErrorKind::usage, "takes one number, profile native takes arrays");
    case Profile::Arrays::both:
      if (is_typed(request.min) || is_typed(request.max))
        refuse(ErrorKind::usage, "takes no array beside a number");
      return;
    case Profile::Arrays::same_shape:
      if (given.shape != shape)
        refuse(ErrorKind::input,
               fmt::format("needs one number or the tensor's shape, {}", shape_text(shape)));
      return;
  }
}

}  // namespace

const ArrayParameter* Broadcast::find(Parameter parameter) const {
  const auto row = std::ranges::find(arrays, parameter, &ArrayParameter::parameter);
  return row == arrays.end() ? nullptr : &*row;
}

std::uint64_t Broadcast::period() const {
  std::size_t first = 0;  // the outermost axis along which a parameter changes
  const auto changes = [&](const ArrayParameter& row) { return row.strides[first] != 0; };
  while (first < axes.size() && std::ranges::none_of(arrays, changes)) ++first;
  return count_from(first);
}

std::uint64_t Broadcast::count_from(std::size_t axis) const {
  return std::accumulate(axes.begin() + static_cast<std::ptrdiff_t>(axis), axes.end(), std::uint64_t{1},
                         std::multiplies<>());
}

std::string Broadcast::fingerprint() const {
  std::string text = fmt::format(" min_above_max={}", static_cast<int>(min_above_max));
  if (nan) text += fmt::format(" nan={}", name_of(*nan));
  for (const ArrayParameter& row : arrays)
    text += fmt::format(" {}={:016x}", name_of(row.parameter), row.array->fingerprint());
  return text;
}

void lay_out(Broadcast& broadcast, const std::vector<std::int64_t>& shape, bool fortran_order) {
  broadcast.axes.assign(shape.begin(), shape.end());
  if (fortran_order) std::ranges::reverse(broadcast.axes);
  for (ArrayParameter& row : broadcast.arrays) {
    row.strides = strides_of(row.array->layout(), shape.size());
    if (fortran_order) std::ranges::reverse(row.strides);
  }
  for (std::size_t axis = broadcast.axes.size(); axis-- > 0;)
    if (broadcast.axes[axis] == 1) remove_axis(broadcast, axis);
  for (std::size_t axis = broadcast.axes.size(); axis-- > 1;)
    if (can_be_merged(broadcast, axis - 1)) {
      broadcast.axes[axis] *= broadcast.axes[axis - 1];
      remove_axis(broadcast, axis - 1);
    }
}

void check_shape(std::string_view field, const Given& given, const std::vector<std::int64_t>& shape) {
  const std::vector<std::int64_t>& own = given.shape;
  const bool broadcasts = own.size() <= shape.size() && std::equal(own.rbegin(), own.rend(), shape.rbegin(),
                                                                   [](std::int64_t size, std::int64_t to) {
                                                                     return size == to || size == 1;
                                                                   });
  if (!broadcasts)
    throw Error(ErrorKind::input, label(field, given) + fmt::format(" has shape {}; it must broadcast to {}",
                                                                    shape_text(own), shape_text(shape)));
}

std::optional<Broadcast> plan_arrays(const Request& request, const TensorLayout& layout) {
  Broadcast result;
  const std::array<const std::optional<Given>*, 4> all{&request.min, &request.max, &request.scale,
                                                       &request.bias};
  const Profile& profile = *request.profile;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::optional<Given>& given = *all[i];
    if (!given) continue;
    if (given->array) check_array(request, kParameterNames[i], *given, layout.shape);
    if (profile.arrays == Profile::Arrays::broadcast || profile.arrays == Profile::Arrays::both)
      check_shape(kParameterNames[i], *given, layout.shape);
    if (!given->array) continue;
    result.arrays.push_back({static_cast<Parameter>(i), given->text, given->array, {}});
  }
  if (result.arrays.empty()) return std::nullopt;
  lay_out(result, layout.shape, layout.fortran_order);
  result.min_above_max = request.min_above_max.value_or(profile.min_above_max);
  result.takes_nan = profile.nan_bound == Profile::NanBound::poisons;
  if (is_floating(layout.dtype) && request.action_on_nan() == OnNan::min) result.nan = Parameter::min;
  if (is_floating(layout.dtype) && request.action_on_nan() == OnNan::max) result.nan = Parameter::max;
  return result;
}

}  // namespace clipper
