#pragma once

#include "compare/tensor_pair.hpp"
#include "contract/plan.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"

namespace clipper {

/// Clips the input by the plan and compares the result with `golden`, bit by bit, in one pass over both.
/// Writes nothing. The headers of the plan and of `golden` must agree in dtype and shape. Error{input} for
/// the first NaN if the plan refuses NaN; also throws what compare() throws.
[[nodiscard]] ElementComparison verify_result(Engine& engine, const Plan& plan, InputFile& input,
                                              const TensorInput& golden);

}  // namespace clipper
