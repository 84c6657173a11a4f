#pragma once

#include <optional>
#include <span>
#include <vector>

#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {

/// For each percentage, a number from 0 to 100, the exact value below which this share of the tensor's
/// elements lies: see percentiles_of(). Reads the elements one to four times; the header has been read.
/// Error{usage} for a number that is_percentile() refuses, and for a stream; Error{io} if the file changes
/// meanwhile.
[[nodiscard]] std::vector<std::optional<Number>> read_percentiles(Engine& engine, InputFile& input,
                                                                  const TensorLayout& layout,
                                                                  std::span<const Number> percentages);

}  // namespace clipper
