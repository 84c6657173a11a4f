#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "flows/tensor_statistics.hpp"
#include "statistics/groups.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {

/// What is clipped for figures: all that it refers to must live as long as the source.
struct ClippedFrom {
  const std::vector<TensorSource>& sources;  ///< of one dtype, unless `first` makes it one
  const std::vector<Groups>& groups;         ///< of each source
  std::uint64_t row;                         ///< elements of a group, of all sources
  bool has_mask;
  const std::string& path;  ///< in front of errors: that of the only source
  const KernelOptions& options;
};

/// The elements after the first steps, which must live as long as the source.
[[nodiscard]] ElementSource clipped_elements(const Request& first, const ClippedFrom& from);

/// What the stages of a plan give, calculated each time it is read; `before` and `source` must live as long.
[[nodiscard]] TensorSource source_after(const Plan& before, const TensorSource& source,
                                        const TensorLayout& layout, const std::string& name,
                                        const KernelOptions& options);

}  // namespace clipper
