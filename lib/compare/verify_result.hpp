#pragma once

#include "compare/tensor_pair.hpp"
#include "contract/plan.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"

namespace clipper {

/// Compares what the plan makes of the input with `golden`, bit by bit, in one pass over both; nothing is
/// written. The plan's header and golden's have one dtype and shape. Error{input} for the first NaN if the
/// plan refuses NaN, and as by compare().
[[nodiscard]] ElementComparison verify_result(Engine& engine, const Plan& plan, InputFile& input,
                                              const TensorInput& golden);

}  // namespace clipper
