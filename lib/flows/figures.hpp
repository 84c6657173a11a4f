#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "engine/tensor_clip.hpp"
#include "files/input_file.hpp"
#include "flows/tensor_statistics.hpp"
#include "statistics/groups.hpp"

/// Requests with figures: numbers that are calculated from the elements. Bounds that are percentiles
/// (Parameter::percentage), and a subtrahend or divisor that is a statistic of the clipped elements
/// (Parameter::statistic). What is found becomes the parameter's exact number, or an array with an element
/// for each index along Request::per_axis; then make_plan() applies the profile's rules as to any other
/// parameter. A list is an array whose numbers are known before: see with_lists().
namespace clipper {

/// The request with numbers and arrays in place of the figures of all elements of the sources, which have one
/// dtype. A tensor or group without elements from which a figure can be calculated is left as it is by the
/// step that needs the figure, which `lost` says; with OnNan::min or max of such a bound NaN is kept.
/// Error{input}, which names the parameter, for figures that are infinite, a percentile between -inf and inf,
/// or a divisor of 0. The result has the sources' units: see set_units().
[[nodiscard]] Request with_figures(const Request& request, std::span<const TensorSource> sources,
                                   const KernelOptions& options, std::vector<LostBound>& lost);

}  // namespace clipper
