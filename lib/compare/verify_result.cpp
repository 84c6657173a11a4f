#include "compare/verify_result.hpp"

#include <fmt/format.h>

#include <optional>

#include "engine/first_nan.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"

namespace clipper {

ElementComparison verify_result(Engine& engine, const Plan& plan, InputFile& input,
                                const TensorInput& golden) {
  Plan in_order = plan;  // positions of pairs are those of the golden file
  in_order.input.fortran_order = golden.layout.fortran_order;
  if (in_order.arrays) lay_out(*in_order.arrays, plan.input.shape, golden.layout.fortran_order);
  engine.prepare(plan.data_size());
  TensorClip clip(in_order, engine.kernel_options(), input.path());
  FirstNan first_nan;
  const auto clip_actual = [&](const ElementPairs& pairs) {
    clip.clip(pairs.position, pairs.actual, pairs.actual, pairs.count, Counting::off);
    if (plan.refuse_nan)
      first_nan.look_at(pairs.dtype, pairs.actual_order, pairs.actual, pairs.count, pairs.position);
  };
  ComparisonRule rule;
  rule.bits = true;
  ElementComparison comparison = compare(engine, {input, plan.input}, golden, rule, clip_actual);
  clip.expect_valid();
  if (const std::optional<std::uint64_t> nan = first_nan.position())
    throw Error(ErrorKind::input,
                fmt::format("{}: NaN at {}", input.path(), index_text(golden.layout, *nan)));
  return comparison;
}

}  // namespace clipper
