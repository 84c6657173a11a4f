#pragma once

#include "contract/plan.hpp"
#include "contract/profile.hpp"

/// What a request demands after the clip: another dtype, rounding, replacements. Steps of make_plan().
namespace clipper {

/// Whether bounds beside a scale or bias are numbers of the arithmetic, not elements of the tensor's dtype.
[[nodiscard]] bool has_arithmetic_bounds(const Request& request);

/// Error{usage} for combinations that no tensor allows.
void check_conversion(const Request& request);

/// Decides whether the plan, of which layouts and arithmetic are known, converts. Sets the working dtype, the
/// dtype of bounds, the output's layout and Plan::truncates_fractions. Error{usage} for a zero point or a
/// replacement that the output's dtype does not have.
void plan_conversion(const Request& request, Plan& plan);

/// Makes the bounds and what replaces NaN working elements. Error{usage} for a min above, or a max below, all
/// elements of the output's dtype, and for a number that replaces NaN beyond its range.
void finish_conversion(const Request& request, Plan& plan);

}  // namespace clipper
