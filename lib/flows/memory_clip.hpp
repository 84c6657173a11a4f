#pragma once

#include <atomic>
#include <cstddef>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "engine/tensor_clip.hpp"
#include "memory/elements.hpp"

/// Clips tensors in memory.
namespace clipper {

/// Where elements are and where to write them: the same memory, or memory without a common byte. They need no
/// alignment.
struct ElementsInMemory {
  const void* in;
  void* out;
  std::size_t count;
  const StridedCopy* gather = nullptr;  ///< copies the elements from `in` in C order, where they have gaps

  /// Whether elements of `in_size` bytes and those of `out_size` have a common byte, but are not in the same
  /// memory.
  [[nodiscard]] bool overlap(std::size_t in_size, std::size_t out_size) const noexcept;

  /// The bytes that are read or written.
  [[nodiscard]] std::size_t touched(std::size_t in_size, std::size_t out_size) const noexcept {
    return count * (in == out ? in_size : in_size + out_size);
  }
};

/// Who works on the elements, and until when.
struct Workers {
  unsigned threads = 0;                     ///< maximum; 0: available_threads()
  const std::atomic<bool>* stop = nullptr;  ///< ends the work between chunks, with Error{io}; see FileOptions
};

/// make_plan() for a tensor in memory, whose elements are read if the request has figures.
[[nodiscard]] Plan plan_in_memory(const Request& request, const TensorLayout& layout, const void* elements,
                                  const Workers& workers);

/// Applies the plan. A plan without arrays takes any number of elements, other plans take those of their
/// tensor. Without counting, the counts are zero. If it throws, nothing has been written, unless the plan
/// converts or the work was stopped: `out` may then hold anything. Error{usage} for
/// elements that overlap, or that have another dtype in the same memory, and for refused elements of arrays;
/// Error{input} for a NaN if the plan refuses NaN.
StageCounts clip_in_memory(const Plan& plan, const ElementsInMemory& elements, const Workers& workers,
                           Counting counting);

/// Arrays in place of a plan's bounds: as many elements as are clipped, in their order, of the tensor's dtype
/// and in this machine's byte order. Null: the bound is the plan's. They have no byte in common with `out`.
struct BoundsInMemory {
  const void* min;
  const void* max;
  bool may_clobber_output;  ///< whether `out` may hold anything after a refusal: saves a pass over the arrays
};

/// Clips to arrays that differ from call to call: no tiles, no checks but of their elements. Returns false
/// for a NaN or a min that exceeds its max, and for what needs clip_in_memory(): a plan that does more than
/// clip to numbers, elements or bounds that are not aligned, in and out that overlap. Nothing has been
/// written then, unless may_clobber_output.
[[nodiscard]] bool clip_to_bounds(const Plan& plan, const ElementsInMemory& elements,
                                  const BoundsInMemory& bounds, const Workers& workers);

}  // namespace clipper
