#include <fmt/format.h>

#include <string>

#include "contract/plan.hpp"
#include "element/element.hpp"
#include "element/joined.hpp"

/// Plans as text, for people and for journals.
namespace clipper {
namespace {

std::string text_of(const Operation::Integer& integer) {
  return fmt::format("{}{}", integer.negative ? "-" : "", integer.magnitude);
}

/// "x * 2 + @bias.npy (3,)": the text for people of a parameter that may be an array.
std::string text_of(const Plan& plan, Parameter parameter, std::string number) {
  const ArrayParameter* const row = plan.array(parameter);
  return row == nullptr ? number : fmt::format("{} {}", row->text, shape_text(row->array->layout().shape));
}

}  // namespace

std::string Plan::fingerprint() const {
  const auto arithmetic = [&]() -> std::string {
    switch (operation.arithmetic) {
      case Arithmetic::none: return "none";
      case Arithmetic::float32:
      case Arithmetic::float64:
        return fmt::format("{}*{:016x}+{:016x}", operation.arithmetic == Arithmetic::float32 ? "f4" : "f8",
                           to_bits(operation.scale), to_bits(operation.bias));
      case Arithmetic::integer:
        return fmt::format("int*{}+{}", text_of(operation.integer_scale), text_of(operation.integer_bias));
    }
    __builtin_unreachable();
  };
  const char order = traits(input.dtype).size == 1 ? '|' : input.order == ByteOrder::little ? '<' : '>';
  const std::string nan = operation.nan ? fmt::format("{:x}", *operation.nan) : refuse_nan ? "error" : "keep";
  return fmt::format("plan 1: {}{}{} {}({}) {}+{} {} lo={:x} hi={:x} nan={}", order,
                     traits(input.dtype).descr, input.opaque ? " opaque" : "",
                     input.fortran_order ? 'F' : 'C', joined(input.shape, ","), slice.first, slice.count,
                     arithmetic(), operation.lo, operation.hi, nan) +
         (arrays ? arrays->fingerprint() : "") + (percentiles.empty() ? "" : " of" + percentiles);
}

std::string replacement_text(const Plan& plan) {
  if (plan.arrays && plan.arrays->nan && plan.arrays->find(*plan.arrays->nan) != nullptr)
    return std::string(name_of(*plan.arrays->nan));
  return element_text(plan.input.dtype, *plan.operation.nan);
}

std::string describe(const Plan& plan) {
  const Operation& operation = plan.operation;
  const DType dtype = operation.dtype;
  std::string text = fmt::format(
      "{} {}, {}-endian, {} order", traits(dtype).name, shape_text(plan.output.shape),
      plan.input.order == ByteOrder::little ? "little" : "big", plan.input.fortran_order ? "Fortran" : "C");
  const auto scale = [&](auto number) { return text_of(plan, Parameter::scale, fmt::format("{}", number)); };
  const auto bias = [&](auto number) { return text_of(plan, Parameter::bias, fmt::format("{}", number)); };
  switch (operation.arithmetic) {
    case Arithmetic::none: break;
    case Arithmetic::float32:
      text += fmt::format(", x * {} + {} in float32", scale(static_cast<float>(operation.scale)),
                          bias(static_cast<float>(operation.bias)));
      break;
    case Arithmetic::float64:
      text += fmt::format(", x * {} + {} in float64", scale(operation.scale), bias(operation.bias));
      break;
    case Arithmetic::integer:
      text += fmt::format(", x * {} + {} exactly", scale(text_of(operation.integer_scale)),
                          bias(text_of(operation.integer_bias)));
      break;
  }
  const std::string min = text_of(plan, Parameter::min, element_text(dtype, plan.min));
  const std::string max = text_of(plan, Parameter::max, element_text(dtype, plan.max));
  text += fmt::format(", min {}, max {}", min, max);
  if (operation.nan) text += ", NaN becomes " + replacement_text(plan);
  return text;
}

}  // namespace clipper
