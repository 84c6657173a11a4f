#pragma once

#include <optional>
#include <span>
#include <vector>

#include "flows/memory_clip.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

/// read_statistics() and read_percentiles() of elements in memory, which are numbers without gaps.
namespace clipper {

[[nodiscard]] ElementStatistics statistics_in_memory(const TensorLayout& layout, const void* elements,
                                                     const Workers& workers);

[[nodiscard]] std::vector<std::optional<Number>> percentiles_in_memory(const TensorLayout& layout,
                                                                       const void* elements,
                                                                       std::span<const Number> percentages,
                                                                       const Workers& workers);

}  // namespace clipper
