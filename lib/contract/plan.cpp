#include "contract/plan.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "contract/exact_parameter.hpp"
#include "contract/parameter_array.hpp"
#include "contract/plan_conversion.hpp"
#include "contract/typed_bounds.hpp"
#include "element/element.hpp"
#include "element/joined.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// Error{usage} if a number from a file has neither the tensor's dtype nor `other`.
void check_dtype(std::string_view field, const Given& given, DType dtype, DType other) {
  if (!given.dtype || given.dtype == dtype || given.dtype == other) return;
  const std::string file = given.text.substr(given.text.starts_with('@') ? 1 : 0);
  if (given.opaque)
    throw Error(ErrorKind::input, file + ": " + opaque_dtype(fmt::format("|{}", traits(*given.dtype).descr)));
  throw Error(ErrorKind::usage,
              label(field, given) +
                  fmt::format(" is {}, but the tensor is {}{}", traits(*given.dtype).name, traits(dtype).name,
                              is_floating(dtype) ? ", which does not have all its numbers exactly"
                                                 : "; both must have the same dtype"));
}

void check_dtype(std::string_view field, const std::optional<Given>& given, DType dtype, DType other) {
  if (given) check_dtype(field, *given, dtype, other);
}

/// An array whose file does not say which of the dtypes with its descriptor the elements have.
class TypedArray : public ParameterArray {
 public:
  TypedArray(std::shared_ptr<const ParameterArray> array, DType dtype)
      : array_(std::move(array)), layout_(array_->layout()) {
    layout_.dtype = dtype;
  }
  [[nodiscard]] const TensorLayout& layout() const override { return layout_; }
  [[nodiscard]] std::span<const std::byte> held() const override { return array_->held(); }
  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    array_->read(position, elements);
  }
  [[nodiscard]] std::uint64_t fingerprint() const override { return array_->fingerprint(); }
  void expect_unwritten() const override { array_->expect_unwritten(); }
  [[nodiscard]] bool is(const struct stat& file) const override { return array_->is(file); }

 private:
  std::shared_ptr<const ParameterArray> array_;
  TensorLayout layout_;
};

/// Whether the parameter's file leaves open whether its dtype is that of the tensor.
bool is_untyped(const std::optional<Given>& given, DType dtype) {
  return given && given->opaque && given->dtype && given->dtype != dtype &&
         traits(*given->dtype).descr == traits(dtype).descr;
}

/// The parameter, which is_untyped(), with the tensor's dtype.
void give_type(std::optional<Given>& given, DType dtype) {
  if (!is_untyped(given, dtype)) return;
  given->dtype = dtype;
  if (given->array)
    given->array = std::make_shared<TypedArray>(given->array, dtype);
  else
    given->number = number_of(dtype, given->element);
}

/// The request with the tensor's dtype for all parameters that are untyped, and for bounds from files of
/// another dtype whose numbers it has. Nothing if there are none. With scale or bias, bounds may have another
/// dtype.
std::optional<Request> with_types(const Request& request, DType dtype) {
  const auto untyped = [&](const std::optional<Given>& given) { return is_untyped(given, dtype); };
  const auto differs = [&](const std::optional<Given>& given) {
    return given && given->dtype && given->dtype != dtype && !request.scale && !request.bias;
  };
  bool is_changed =
      untyped(request.min) || untyped(request.max) || untyped(request.scale) || untyped(request.bias);
  if (!is_changed && !differs(request.min) && !differs(request.max)) return std::nullopt;
  Request typed = request;
  for (std::optional<Given>* const each : {&typed.min, &typed.max, &typed.scale, &typed.bias})
    give_type(*each, dtype);
  for (std::optional<Given>* const bound : {&typed.min, &typed.max})
    if (differs(*bound) && give_dtype_if_exact(*bound, dtype)) is_changed = true;
  return is_changed ? std::optional(std::move(typed)) : std::nullopt;
}

/// Error{usage} if a scale or a bias from a file is neither a float nor of the tensor's dtype. 64-bit integer
/// tensors also take both 64-bit integer dtypes.
void check_factor_dtype(std::string_view field, const std::optional<Given>& given, DType dtype) {
  const auto is_long = [](DType d) { return d == DType::int64 || d == DType::uint64; };
  const auto takes = [&](DType d) {
    return d == dtype || d == DType::float32 || d == DType::float64 || (is_long(dtype) && is_long(d));
  };
  if (!given || !given->dtype || takes(*given->dtype)) return;
  const bool is_float = dtype == DType::float32 || dtype == DType::float64;
  const std::string own = is_long(dtype) ? "int64, uint64, "
                          : is_float     ? ""
                                         : fmt::format("{}, ", traits(dtype).name);
  throw Error(ErrorKind::usage, label(field, *given) + fmt::format(" is {}; it must be {}float32 or float64",
                                                                   traits(*given->dtype).name, own));
}

/// Error{usage} for a bound whose percentile has not been found in the elements.
void expect_number(std::string_view field, const std::optional<Given>& bound) {
  if (bound && bound->percentage)
    throw Error(ErrorKind::usage, label(field, *bound) + ": a percentile needs all elements of the tensor" +
                                      Term{"percentile", ""});
}

void refuse_percentile(std::string_view field, const std::optional<Given>& given) {
  if (given && given->percentage)
    throw Error(ErrorKind::usage, label(field, *given) + ": only min and max can be percentiles");
}

/// The limit of a request that has only one bound, `bound`.
std::optional<Limit> limit(std::string_view field, const Request& request, std::optional<Given> bound,
                           const TensorLayout& layout, decltype(least_from)* within) {
  if (!bound) return std::nullopt;
  give_type(bound, layout.dtype);
  static_cast<void>(give_dtype_if_exact(bound, layout.dtype));
  if (bound->array) return Limit{{}, bound->text, std::nullopt, make_plan(request, layout)};
  const DType dtype = layout.dtype;
  check_dtype(field, bound, dtype, dtype);
  check_shape(field, *bound, layout.shape);
  expect_number(field, bound);
  if (bound->number.kind == Number::Kind::nan)
    throw Error(ErrorKind::usage, label(field, *bound) + ": NaN cannot be a bound");
  const std::optional<ElementBits> element = within(dtype, bound->number);
  return Limit{bound->number, bound->dtype ? element_text(dtype, *element) : bound->text, element};
}

Message parameter(std::string_view field) {
  return Term{field, field};
}

bool takes_rank(const Profile& profile, std::size_t rank) {
  return profile.min_rank <= rank && rank <= profile.max_rank;
}

/// " (ONNX Clip-12 takes it)", if a newer version of the system does.
std::string newer_that_takes(const Profile& profile, const TensorLayout& layout) {
  for (const Profile& newer : profiles())
    if (&newer > &profile && newer.family == profile.family && newer.dtypes.contains(layout.dtype) &&
        takes_rank(newer, layout.shape.size()))
      return fmt::format(" ({} takes it)", newer.system);
  return "";
}

void check_tensor(const Profile& profile, const TensorLayout& layout) {
  if (layout.meaning.kind != Meaning::Kind::number && !profile.takes_dates)
    throw Error(ErrorKind::input, fmt::format("{} does not take {}", profile.system, type_name(layout)));
  if (!profile.dtypes.contains(layout.dtype)) {
    std::vector<std::string_view> names;
    for (const DTypeTraits& row : kDTypes)
      if (profile.dtypes.contains(row.dtype)) names.push_back(row.name);
    throw Error(ErrorKind::input,
                fmt::format("{} takes {}; this tensor is {}{}", profile.system, joined(names, ", "),
                            traits(layout.dtype).name, newer_that_takes(profile, layout)));
  }
  const std::size_t rank = layout.shape.size();
  if (!takes_rank(profile, rank)) {
    const std::string ranks = profile.min_rank == profile.max_rank
                                  ? fmt::format("exactly {}", profile.min_rank)
                                  : fmt::format("{} to {}", profile.min_rank, profile.max_rank);
    throw Error(ErrorKind::input,
                fmt::format("{} takes tensors of {} dimensions; this tensor has {}{}", profile.system, ranks,
                            rank, newer_that_takes(profile, layout)));
  }
}

/// Checks what does not depend on the tensor.
void check_request(const Request& request) {
  const Profile& profile = *request.profile;
  if (profile.bounds == Profile::Bounds::required && (!request.min || !request.max))
    throw Error(ErrorKind::usage, fmt::format("{} requires both bounds; ", profile.system) +
                                      parameter(request.min ? "max" : "min") + " is missing");
  if (profile.bounds == Profile::Bounds::one && !request.min && !request.max)
    throw Error(ErrorKind::usage,
                fmt::format("{} requires a bound; ", profile.system) + parameter("min") + " is missing");
  if (profile.scale_bias == Profile::ScaleBias::none && (request.scale || request.bias))
    throw Error(ErrorKind::usage, parameter(request.scale ? "scale" : "bias") +
                                      fmt::format(" is not supported by {}", profile.system));
  expect_number("min", request.min);
  expect_number("max", request.max);
  refuse_percentile("scale", request.scale);
  refuse_percentile("bias", request.bias);
  refuse_percentile("nan", request.nan.number);
  check_conversion(request);
}

[[noreturn]] void refuse_infinite(std::string_view field, const Given& given, DType dtype) {
  throw Error(ErrorKind::usage,
              label(field, given) + fmt::format(" is not a finite {} number", traits(dtype).name));
}

/// A scale or a bias.
struct Factor {
  std::string_view field;
  Given given;

  template <class T>
  [[nodiscard]] double rounded() const {
    const auto value = static_cast<double>(round_to<T>(given.number));
    if (given.divides && value == 0)
      throw Error(ErrorKind::usage, label(field, given) + ": the divisor must not be 0");
    if (!std::isfinite(value))
      refuse_infinite(field, given, sizeof(T) == sizeof(float) ? DType::float32 : DType::float64);
    return value;
  }
};

/// The number as an integer, if int64 or uint64 holds it.
std::optional<Operation::Integer> as_integer(const Number& number) {
  if (!is_integer(number)) return std::nullopt;
  const Int128 value = to_integer(number, Rounding::toward_zero);
  if (value < std::numeric_limits<std::int64_t>::lowest() ||
      value > std::numeric_limits<std::uint64_t>::max())
    return std::nullopt;
  return Operation::Integer{value < 0, static_cast<std::uint64_t>(value < 0 ? -value : value)};
}

/// The given number; `otherwise` if none is given, or an array.
Given number_or(const std::optional<Given>& given, int otherwise) {
  return given && !given->array ? *given : Given(otherwise);
}

/// The factor as an integer. Elements of a float file are not integers, whatever their values.
std::optional<Operation::Integer> exact(const std::optional<Given>& given, const Factor& factor) {
  if (given && given->dtype && is_floating(*given->dtype)) return std::nullopt;
  return as_integer(factor.given.number);
}

void plan_scale_and_bias(const Profile& profile, const Request& request, Operation& operation) {
  check_factor_dtype("scale", request.scale, operation.dtype);
  check_factor_dtype("bias", request.bias, operation.dtype);
  if (!request.scale && !request.bias) return;
  Factor scale{"scale", number_or(request.scale, 1)};
  Factor bias{"bias", number_or(request.bias, 0)};
  if (profile.scale_bias == Profile::ScaleBias::float32) {
    scale.given.number = scale.rounded<float>();
    bias.given.number = bias.rounded<float>();
  }

  const bool in_float32 = traits(operation.dtype).carrier == DType::float32;
  operation.arithmetic = in_float32 ? Arithmetic::float32 : Arithmetic::float64;
  operation.scale = in_float32 ? scale.rounded<float>() : scale.rounded<double>();
  operation.bias = in_float32 ? bias.rounded<float>() : bias.rounded<double>();

  if (operation.dtype != DType::int64 && operation.dtype != DType::uint64) return;
  if (request.scale && request.scale->divides) return;
  const auto integer_scale = exact(request.scale, scale);
  const auto integer_bias = exact(request.bias, bias);
  if (!integer_scale || !integer_bias) return;
  operation.arithmetic = Arithmetic::integer;
  operation.integer_scale = *integer_scale;
  operation.integer_bias = *integer_bias;
}

/// The element that replaces NaN. Error{usage} for a finite number that rounds to an infinity, and for a
/// number beyond the elements of a dtype without infinity.
ElementBits replacement(const Given& given, DType dtype) {
  const ElementBits element = nearest_element(dtype, given.number);
  const Number::Kind kind = number_of(dtype, element).kind;
  if (kind == Number::Kind::nan || (kind != given.number.kind)) refuse_infinite("nan", given, dtype);
  return element;
}

bool has_nan(const TensorLayout& layout) {
  return is_floating(layout.dtype) || layout.meaning.is_time();
}

/// The bound that replaces NaN; nothing if the tensor has none.
std::optional<ElementBits> bound_for_nan(const Request& request, const Plan& plan) {
  const bool is_min = request.action_on_nan() == OnNan::min;
  const std::optional<Given>& bound = is_min ? request.min : request.max;
  const std::string_view field = is_min ? "min" : "max";
  if (!bound)
    throw Error(ErrorKind::usage, parameter("nan") + fmt::format(" {} requires ", field) + parameter(field));
  if (!has_nan(plan.input)) return std::nullopt;
  if (bound->array) return 0;  // each element has its own: see Broadcast::nan
  return (is_min ? convert_min : convert_max)(*request.profile, plan.bound_dtype, *bound);
}

/// The element of the operation that replaces NaN; nothing if the tensor has no NaN, or Conversion::nan
/// replaces it.
std::optional<ElementBits> nan_replacement(const Request& request, const Plan& plan) {
  const DType dtype = plan.bound_dtype;
  switch (request.action_on_nan()) {
    case OnNan::by_profile:
    case OnNan::keep:
    case OnNan::error: return std::nullopt;
    case OnNan::min:
    case OnNan::max: return bound_for_nan(request, plan);
    case OnNan::canonical: return is_floating(dtype) ? std::optional(canonical_nan(dtype)) : std::nullopt;
    case OnNan::replace: break;
  }
  if (!request.nan.number)
    throw Error(ErrorKind::usage, parameter("nan") + ": the number that replaces NaN is missing");
  const Given& given = *request.nan.number;
  if (given.number.kind == Number::Kind::nan)
    throw Error(ErrorKind::usage, label("nan", given) + ": NaN cannot replace NaN");
  if (!is_floating(plan.input.dtype) || plan.conversion) return std::nullopt;
  return replacement(given, dtype);
}

/// What zeros and NaN do as bounds.
void plan_edges(const Profile& profile, Plan& plan) {
  Operation& operation = plan.operation;
  if (!is_floating(operation.dtype)) return;
  operation.zero_tie = profile.zero_tie;
  const auto is_nan = [&](ElementBits bound) {
    return number_of(operation.dtype, bound).kind == Number::Kind::nan;
  };
  // Of two NaN, the bound that the system applies first decides.
  if (profile.min_above_max == MinAboveMax::min && is_nan(operation.hi) && is_nan(operation.lo))
    operation.lo = operation.hi;
  operation.poisons = profile.nan_bound == Profile::NanBound::poisons &&
                      (plan.arrays || is_nan(operation.lo) || is_nan(operation.hi));
}

/// The greatest element is 1, True.
void plan_flags(Plan& plan) {
  plan.operation.is_bool = true;
  plan.operation.hi = std::min<ElementBits>(plan.operation.hi, 1);
  plan.max = std::min<ElementBits>(plan.max, 1);
}

/// NaT, the lowest element, is none of the elements that are clipped, and no bound.
void plan_ticks(const Request& request, Plan& plan) {
  if (plan.min == to_bits(kNaT)) ++plan.min;
  plan.operation.has_nat = true;
  if (request.action_on_nan() == OnNan::replace)
    plan.operation.nan =
        to_bits(static_cast<std::int64_t>(to_integer(request.nan.number->number, Rounding::toward_zero)));
}

/// The parameter, unless it is an array.
std::optional<Given> number_in(const std::optional<Given>& given) {
  return given && given->array ? std::nullopt : given;
}

}  // namespace

std::optional<Limit> min_limit(const Request& request, const TensorLayout& layout) {
  const Request only = in_units({.min = request.min}, layout);
  return limit("min", only, only.min, layout, least_from);
}

std::optional<Limit> max_limit(const Request& request, const TensorLayout& layout) {
  const Request only = in_units({.max = request.max}, layout);
  return limit("max", only, only.max, layout, greatest_to);
}

Plan make_plan(const Request& request, const TensorLayout& layout) {
  check_tensor(*request.profile, layout);
  return make_plan_in_units(in_units(request, layout), layout);
}

Plan make_plan_in_units(const Request& request, const TensorLayout& layout) {
  if (const auto typed = with_types(request, layout.dtype)) return make_plan_in_units(*typed, layout);
  const Profile& profile = *request.profile;
  check_tensor(profile, layout);
  check_request(request);
  Plan plan;
  plan.input = plan.output = layout;
  plan.slice = {0, layout.count};
  Operation& operation = plan.operation;
  operation.dtype = layout.dtype;
  operation.order = layout.order;
  plan_scale_and_bias(profile, request, operation);
  plan_conversion(request, plan);
  const DType dtype = plan.bound_dtype;
  check_dtype("min", request.min, layout.dtype, dtype);
  check_dtype("max", request.max, layout.dtype, dtype);
  plan.arrays = plan_arrays(request, layout);
  // finish_conversion() converts bounds of integer arithmetic, which may exceed the tensor's dtype.
  const bool is_wide =
      plan.conversion && operation.arithmetic == Arithmetic::integer && has_arithmetic_bounds(request);
  const std::optional<Given> min = is_wide ? std::nullopt : number_in(request.min);
  const std::optional<Given> max = is_wide ? std::nullopt : number_in(request.max);
  const Bounds bounds =
      convert_bounds(profile, dtype, min, max, request.min_above_max.value_or(profile.min_above_max));
  operation.lo = bounds.lo;
  operation.hi = bounds.hi;
  plan.min = bounds.min;
  plan.max = bounds.max;
  plan.cut = cut_bounds(profile, dtype, min, max);
  plan.takes_other_bounds =
      profile.arrays == Profile::Arrays::broadcast && !request.min_above_max && !plan.conversion;
  plan.refuse_nan = request.nan.action == OnNan::error;
  plan_edges(profile, plan);
  operation.nan = nan_replacement(request, plan);
  if (layout.meaning.is_time()) plan_ticks(request, plan);
  if (layout.meaning.kind == Meaning::Kind::boolean) plan_flags(plan);
  if (plan.conversion) finish_conversion(request, plan);
  return plan;
}

}  // namespace clipper
