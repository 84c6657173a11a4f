#pragma once

#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "statistics/percentiles.hpp"

/// Requests whose min or max is a percentile of the tensor's elements (Given::percentage). The value found
/// becomes the bound's exact number; then make_plan() applies the profile's rules as to any other number.
namespace clipper {

[[nodiscard]] bool has_percentiles(const Request& request);

/// Error{usage}, which names the bound, if the request has percentiles: a stream cannot be read twice.
void expect_no_percentiles_of_stream(const Request& request);

/// The plan with the widest bounds in place of percentiles. Throws all errors that do not depend on the
/// elements: those of make_plan(), and Error{usage} for percentiles together with scale or bias, or with more
/// than 16 decimal places.
[[nodiscard]] Plan plan_before_reading(const Request& request, const TensorLayout& layout);

/// The plan with the percentiles of `elements`. Error{input}, which names the bound, if all elements are NaN,
/// or if the percentile lies between -inf and inf.
[[nodiscard]] Plan plan_with_percentiles(const Request& request, const TensorLayout& layout,
                                         const ElementSource& elements, SimdLevel level);

/// What becomes of a bound whose percentile the tensor does not have, because it has no elements except NaN:
/// an error; or it is no bound, which Plan::lost says. With OnNan::min or max of such a bound NaN is kept.
enum class NoPercentile : bool { refused, dropped };

/// The plan with the percentiles of a file. Error{usage} for a stream. Errors have the path in front.
[[nodiscard]] Plan plan_with_percentiles(const Request& request, const TensorLayout& layout, Engine& engine,
                                         InputFile& input, NoPercentile none = NoPercentile::refused);

}  // namespace clipper
