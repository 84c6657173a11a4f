#include <fmt/format.h>

#include <string>

#include "contract/plan.hpp"
#include "element/element.hpp"
#include "element/joined.hpp"
#include "element/number.hpp"

/// Plans as text, for people and for fingerprints.
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

/// The conversion, for fingerprints: empty if there is none.
std::string fingerprint_of(const std::optional<Conversion>& conversion) {
  if (!conversion) return "";
  const auto integer = [](const Wide& wide) {
    return fmt::format("{}{:x}", wide.negative ? "-" : "", wide.magnitude);
  };
  const auto element = [](std::optional<ElementBits> bits) {
    return bits ? fmt::format("{:x}", *bits) : std::string("bound");
  };
  const auto wide = [&](const Conversion::WideBound& bound) {
    const bool is_integer = bound.ceil == bound.floor && bound.ceil.magnitude != ~UInt128{0};
    return integer(bound.ceil) + (is_integer || !bound.result ? "" : ":" + element(bound.result));
  };
  return fmt::format(
      " to={} {} zero={} range={:x}..{:x} wide={}..{} below={} above={}{}{}", traits(conversion->to).name,
      conversion->round ? kRoundWords.at(static_cast<std::size_t>(*conversion->round)) : "",
      text_of(conversion->zero_point), conversion->lowest, conversion->highest, wide(conversion->wide.lo),
      wide(conversion->wide.hi), element(conversion->below), element(conversion->above),
      conversion->nan ? " nan=" + element(conversion->nan) : "", conversion->divides ? " divides" : "");
}

/// ", rounded half-even, plus 128, to uint8": what happens after the clip, for people.
std::string description_of(const Conversion& conversion, DType working) {
  std::string text;
  const auto replaced = [&](std::string_view side, const std::optional<ElementBits>& by) {
    if (by) text += fmt::format(", {} becomes {}", side, element_text(conversion.to, *by));
  };
  replaced("below min", conversion.below);
  replaced("above max", conversion.above);
  if (conversion.round && is_floating(working))
    text += fmt::format(", rounded {}", kRoundWords.at(static_cast<std::size_t>(*conversion.round)));
  if (conversion.zero_point.magnitude != 0) text += ", zero point " + text_of(conversion.zero_point);
  if (conversion.to != conversion.from) text += fmt::format(", to {}", traits(conversion.to).name);
  return text;
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
  const std::string edges = (operation.zero_tie == ZeroTie::element ? ""
                             : operation.zero_tie == ZeroTie::upper ? " upper"
                                                                    : " ordered") +
                            std::string(operation.poisons ? " poisons" : "");
  return fmt::format("plan 1: {}{}{} {}({}) {}+{} {} lo={:x} hi={:x} nan={}", order,
                     has_kernels(input.dtype) && input.meaning.kind == Meaning::Kind::number
                         ? std::string(traits(input.dtype).descr)
                         : type_name(input),
                     input.stored_as.empty() ? "" : " opaque", input.fortran_order ? 'F' : 'C',
                     joined(input.shape, ","), slice.first, slice.count, arithmetic(), operation.lo,
                     operation.hi, nan) +
         edges + fingerprint_of(conversion) + (arrays ? arrays->fingerprint() : "");
}

std::string bound_text(const Plan& plan, Parameter bound) {
  const bool is_min = bound == Parameter::min;
  if (const std::optional<Number>& exact = is_min ? plan.exact_min : plan.exact_max)
    return decimal_text(*exact);
  if (plan.conversion && plan.operation.arithmetic == Arithmetic::integer) return is_min ? "-inf" : "inf";
  return element_text(plan.bound_dtype, plan.input.meaning, is_min ? plan.min : plan.max);
}

std::string replacement_text(const Plan& plan) {
  if (plan.arrays && plan.arrays->nan && plan.arrays->find(*plan.arrays->nan) != nullptr)
    return std::string(name_of(*plan.arrays->nan));
  if (plan.conversion && plan.conversion->nan) return element_text(plan.output.dtype, *plan.conversion->nan);
  if (is_floating(plan.operation.dtype) && *plan.operation.nan == canonical_nan(plan.operation.dtype))
    return "the canonical NaN";
  return element_text(plan.operation.dtype, plan.input.meaning, *plan.operation.nan);
}

std::string describe(const Plan& plan) {
  const Operation& operation = plan.operation;
  std::string text = fmt::format(
      "{} {}, {}-endian, {} order", type_name(plan.input), shape_text(plan.output.shape),
      plan.input.order == ByteOrder::little ? "little" : "big", plan.input.fortran_order ? "Fortran" : "C");
  const auto scale = [&](auto number) { return text_of(plan, Parameter::scale, fmt::format("{}", number)); };
  const auto bias = [&](auto number) { return text_of(plan, Parameter::bias, fmt::format("{}", number)); };
  const char by = plan.conversion && plan.conversion->divides ? '/' : '*';
  switch (operation.arithmetic) {
    case Arithmetic::none: break;
    case Arithmetic::float32:
      text += fmt::format(", x {} {} + {} in float32", by, scale(static_cast<float>(operation.scale)),
                          bias(static_cast<float>(operation.bias)));
      break;
    case Arithmetic::float64:
      text += fmt::format(", x {} {} + {} in float64", by, scale(operation.scale), bias(operation.bias));
      break;
    case Arithmetic::integer:
      text += fmt::format(", x * {} + {} exactly", scale(text_of(operation.integer_scale)),
                          bias(text_of(operation.integer_bias)));
      break;
  }
  const std::string min = text_of(plan, Parameter::min, bound_text(plan, Parameter::min));
  const std::string max = text_of(plan, Parameter::max, bound_text(plan, Parameter::max));
  text += fmt::format(", min {}, max {}", min, max);
  if (plan.replaces_nan()) text += ", NaN becomes " + replacement_text(plan);
  if (plan.conversion) text += description_of(*plan.conversion, operation.dtype);
  return text;
}

}  // namespace clipper
