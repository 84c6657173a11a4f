#pragma once

#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "engine/tensor_clip.hpp"
#include "files/input_file.hpp"
#include "flows/tensor_statistics.hpp"

/// Plans of requests that may have figures and later stages.
namespace clipper {

/// Error{usage}, which names the parameter, if the request has figures: a stream cannot be read twice.
void expect_no_figures_of_stream(const Request& request);

/// The plan with the widest bounds and with 0 and 1 in place of figures. Throws all errors that do not depend
/// on the elements: those of make_plan(), and Error{usage} for percentiles together with scale or bias, or
/// with more than 16 decimal places; Error{input} for a tensor without an axis of Request::per_axis.
[[nodiscard]] Plan plan_before_reading(const Request& request, const TensorLayout& layout);

/// The plan of a tensor of which only a part is read. Error{usage} for figures.
[[nodiscard]] Plan plan_of_part(const Request& request, const TensorLayout& layout);

/// The plan with the figures of a tensor in memory. Error{usage} for Request::pooled.
[[nodiscard]] Plan plan_with_figures(const Request& request, const TensorSource& source,
                                     const KernelOptions& options);

/// The plan with the figures of a file. Error{usage} for a stream. Errors have the path in front.
[[nodiscard]] Plan plan_with_figures(const Request& request, const TensorLayout& layout, Engine& engine,
                                     InputFile& input);

}  // namespace clipper
