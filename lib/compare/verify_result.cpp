#include "compare/verify_result.hpp"

#include <fmt/format.h>

#include <optional>

#include "clip/clip.hpp"
#include "engine/first_nan.hpp"
#include "error.hpp"

namespace clipper {

ElementComparison verify_result(Engine& engine, const Plan& plan, InputFile& input,
                                const TensorInput& golden) {
  FirstNan first_nan;
  const auto clip_actual = [&](const ElementPairs& pairs) {
    clip(plan.operation, pairs.actual, pairs.actual, pairs.count, engine.level());
    if (plan.refuse_nan)
      first_nan.look_at(pairs.dtype, pairs.actual_order, pairs.actual, pairs.count, pairs.position);
  };
  ComparisonRule rule;
  rule.bits = true;
  ElementComparison comparison = compare(engine, {input, plan.header}, golden, rule, clip_actual);
  if (const std::optional<std::uint64_t> nan = first_nan.position())
    throw Error(ErrorKind::input,
                fmt::format("{}: NaN at {}", input.path(), npy::index_text(golden.header, *nan)));
  return comparison;
}

}  // namespace clipper
