#pragma once

#include "contract/plan.hpp"
#include "flows/memory_clip.hpp"

namespace clipper {

/// Arrays in place of a plan's bounds: as many elements as are clipped, in their order, of the tensor's dtype
/// and in this machine's byte order. Null: the bound is the plan's. They have no byte in common with `out`.
struct BoundsInMemory {
  const void* min;
  const void* max;
  bool may_spoil_out;  ///< whether `out` may hold anything after a refusal: saves a pass over the arrays
};

/// Clips to arrays that differ from call to call: no tiles, no checks but of their elements. Returns false
/// for a NaN or a min that exceeds its max, and for what needs clip_in_memory(): a plan that does more than
/// clip to numbers, elements or bounds that are not aligned, in and out that overlap. Nothing has been
/// written then, unless may_spoil_out.
[[nodiscard]] bool clip_to_bounds(const Plan& plan, const ElementsInMemory& elements,
                                  const BoundsInMemory& bounds, const Workers& workers);

}  // namespace clipper
