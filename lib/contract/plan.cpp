#include "contract/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "element/element.hpp"
#include "error.hpp"
#include "files/input_file.hpp"

namespace clipper {
namespace {

/// The one element of an @file.npy, which has the tensor's dtype.
Number read_scalar(std::string_view flag, const std::string& path, DType dtype) {
  if (path == "-") throw Error(ErrorKind::usage, fmt::format("{} @-: a file is needed", flag));
  InputFile file = InputFile::open(path);
  const npy::Header header =
      read_header(file, dtype == DType::bfloat16 ? std::optional(dtype) : std::nullopt);
  if (header.dtype != dtype)
    throw Error(ErrorKind::usage,
                fmt::format("{} @{}: {}, but the tensor is {}; a number in a file has the tensor's dtype",
                            flag, path, traits(header.dtype).name, traits(dtype).name));
  if (header.count != 1)
    throw Error(ErrorKind::usage, fmt::format("{} @{}: shape {}, but one element is needed", flag, path,
                                              npy::shape_text(header.shape)));
  std::array<std::byte, sizeof(ElementBits)> bytes{};
  const std::span element = std::span(bytes).first(traits(dtype).size);
  file.read_exactly(element);
  file.expect_end();
  ElementBits bits = 0;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const std::size_t place = header.order == ByteOrder::little ? i : element.size() - 1 - i;
    bits |= std::to_integer<ElementBits>(element[i]) << (8 * place);
  }
  return number_of(dtype, bits);
}

Number parse_given(std::string_view flag, const std::string& text) {
  if (std::optional<Number> number = parse_number(text)) return *std::move(number);
  throw Error(ErrorKind::usage, fmt::format("{}: '{}' is not a number", flag, text));
}

std::optional<GivenNumber> given(std::string_view flag, const std::optional<std::string>& text, DType dtype) {
  if (!text) return std::nullopt;
  const bool typed = !text->starts_with('@');
  Number number = typed ? parse_given(flag, *text) : read_scalar(flag, text->substr(1), dtype);
  return GivenNumber{std::move(number), fmt::format("{} {}", flag, *text), typed};
}

std::optional<Limit> limit(std::string_view flag, const std::optional<std::string>& text, DType dtype,
                           decltype(least_from)* within) {
  const std::optional<GivenNumber> bound = given(flag, text, dtype);
  if (!bound) return std::nullopt;
  if (bound->number.kind == Number::Kind::nan)
    throw Error(ErrorKind::usage, fmt::format("{}: not a number is no bound", bound->label));
  const std::optional<ElementBits> element = within(dtype, bound->number);
  return Limit{bound->number, bound->typed ? *text : element_text(dtype, *element), element};
}

bool takes_rank(const Profile& profile, std::size_t rank) {
  return profile.min_rank <= rank && rank <= profile.max_rank;
}

/// " (ONNX Clip-12 takes it)", if a newer version of the system does.
std::string newer_that_takes(const Profile& profile, const npy::Header& header) {
  for (const Profile& newer : profiles())
    if (&newer > &profile && newer.family == profile.family && newer.dtypes.contains(header.dtype) &&
        takes_rank(newer, header.shape.size()))
      return fmt::format(" ({} takes it)", newer.system);
  return "";
}

void check_tensor(const Profile& profile, const npy::Header& header) {
  if (!profile.dtypes.contains(header.dtype)) {
    std::vector<std::string_view> names;
    for (const DTypeTraits& row : kDTypes)
      if (profile.dtypes.contains(row.dtype)) names.push_back(row.name);
    throw Error(ErrorKind::input,
                fmt::format("{} takes {}; this tensor is {}{}", profile.system, fmt::join(names, ", "),
                            traits(header.dtype).name, newer_that_takes(profile, header)));
  }
  const std::size_t rank = header.shape.size();
  if (!takes_rank(profile, rank)) {
    const std::string ranks = profile.min_rank == profile.max_rank
                                  ? fmt::format("exactly {}", profile.min_rank)
                                  : fmt::format("{} to {}", profile.min_rank, profile.max_rank);
    throw Error(ErrorKind::input,
                fmt::format("{} takes tensors of {} dimensions; this one has {}{}", profile.system, ranks,
                            rank, newer_that_takes(profile, header)));
  }
}

/// What the profile says of the request alone.
void check_request(const Request& request) {
  const Profile& profile = *request.profile;
  if (profile.bounds == Profile::Bounds::required && (!request.min || !request.max))
    throw Error(ErrorKind::usage, fmt::format("{} requires both bounds; --{} is missing", profile.system,
                                              request.min ? "max" : "min"));
  if (profile.scale_bias == Profile::ScaleBias::none && (request.scale || request.bias))
    throw Error(ErrorKind::usage, fmt::format("--{}: {} has no scale and bias",
                                              request.scale ? "scale" : "bias", profile.system));
}

template <class T>
double rounded_finite(const GivenNumber& given) {
  const auto value = static_cast<double>(round_to<T>(given.number));
  if (!std::isfinite(value))
    throw Error(ErrorKind::usage, fmt::format("{}: not finite as a {}", given.label,
                                              traits(sizeof(T) == 4 ? DType::float32 : DType::float64).name));
  return value;
}

/// An integer that int64 or uint64 has.
std::optional<Operation::Integer> as_integer(const Number& number) {
  if (!is_integer(number)) return std::nullopt;
  const Int128 value = to_integer(number, Rounding::toward_zero);
  if (value < std::numeric_limits<std::int64_t>::lowest() ||
      value > std::numeric_limits<std::uint64_t>::max())
    return std::nullopt;
  return Operation::Integer{value < 0, static_cast<std::uint64_t>(value < 0 ? -value : value)};
}

void plan_scale_and_bias(const Profile& profile, const Request& request, Operation& operation) {
  std::optional<GivenNumber> scale = given("--scale", request.scale, operation.dtype);
  std::optional<GivenNumber> bias = given("--bias", request.bias, operation.dtype);
  if (!scale && !bias) return;
  if (!scale) scale = {number_of(1.0), "--scale 1"};
  if (!bias) bias = {number_of(0.0), "--bias 0"};
  if (profile.scale_bias == Profile::ScaleBias::float32) {
    scale->number = number_of(rounded_finite<float>(*scale));
    bias->number = number_of(rounded_finite<float>(*bias));
  }

  const bool narrow = operation.dtype == DType::float32 || traits(operation.dtype).size == 2;
  const bool in_float32 = is_floating(operation.dtype) && narrow;
  operation.arithmetic = in_float32 ? Arithmetic::float32 : Arithmetic::float64;
  operation.scale = in_float32 ? rounded_finite<float>(*scale) : rounded_finite<double>(*scale);
  operation.bias = in_float32 ? rounded_finite<float>(*bias) : rounded_finite<double>(*bias);

  if (operation.dtype != DType::int64 && operation.dtype != DType::uint64) return;
  const auto integer_scale = as_integer(scale->number);
  const auto integer_bias = as_integer(bias->number);
  if (!integer_scale || !integer_bias) return;
  operation.arithmetic = Arithmetic::integer;
  operation.integer_scale = *integer_scale;
  operation.integer_bias = *integer_bias;
}

Number parse_nan_replacement(const std::string& text) {
  std::optional<Number> number = parse_number(text);
  if (number && number->kind != Number::Kind::nan) return *std::move(number);
  throw Error(ErrorKind::usage, fmt::format("--nan: '{}' is not keep, error, min, max or a number", text));
}

/// The number as an element, which is infinite only if it was written so.
template <class T>
ElementBits finite_as_written(const Number& number, DType dtype, const std::string& label) {
  const ElementBits element = to_bits(round_to<T>(number));
  const bool infinite = element == lowest_element(dtype) || element == highest_element(dtype);
  if (infinite && number.kind == Number::Kind::finite)
    throw Error(ErrorKind::usage, fmt::format("{}: not finite as a {}", label, traits(dtype).name));
  return element;
}

std::optional<ElementBits> nan_replacement(const Request& request, DType dtype,
                                           const std::optional<GivenNumber>& min,
                                           const std::optional<GivenNumber>& max) {
  const std::string& what = request.nan;
  if (what == "keep" || what == "error") return std::nullopt;
  if (what == "min" || what == "max") {
    const std::optional<GivenNumber>& bound = what == "min" ? min : max;
    if (!bound) throw Error(ErrorKind::usage, fmt::format("--nan {}: there is no --{}", what, what));
    return what == "min" ? convert_min(*request.profile, dtype, *bound)
                         : convert_max(*request.profile, dtype, *bound);
  }
  const Number number = parse_nan_replacement(what);
  return with_type(dtype, [&]<class T>() -> std::optional<ElementBits> {
    if constexpr (std::is_integral_v<T>)
      return std::nullopt;
    else
      return finite_as_written<T>(number, dtype, fmt::format("--nan {}", what));
  });
}

}  // namespace

void check_numbers(const Request& request) {
  const auto check = [](std::string_view flag, const std::optional<std::string>& text) {
    if (text == "@") throw Error(ErrorKind::usage, fmt::format("{} @: no file (an empty variable?)", flag));
    if (text && !text->starts_with('@')) parse_given(flag, *text);
  };
  check("--min", request.min);
  check("--max", request.max);
  check("--scale", request.scale);
  check("--bias", request.bias);
  if (std::find(kNanWords.begin(), kNanWords.end(), request.nan) == kNanWords.end())
    parse_nan_replacement(request.nan);
}

std::optional<Limit> min_limit(const Request& request, DType dtype) {
  return limit("--min", request.min, dtype, least_from);
}

std::optional<Limit> max_limit(const Request& request, DType dtype) {
  return limit("--max", request.max, dtype, greatest_to);
}

Plan make_plan(const Request& request, const npy::Header& header) {
  const Profile& profile = *request.profile;
  check_tensor(profile, header);
  check_request(request);
  const std::optional<GivenNumber> min = given("--min", request.min, header.dtype);
  const std::optional<GivenNumber> max = given("--max", request.max, header.dtype);
  const Bounds bounds =
      convert_bounds(profile, header.dtype, min, max, request.min_above_max.value_or(profile.min_above_max));

  Plan plan;
  plan.header = header;
  plan.cut = cut_bounds(profile, header.dtype, min, max);
  plan.refuse_nan = request.nan == "error";
  plan.operation.dtype = header.dtype;
  plan.operation.order = header.order;
  plan.operation.lo = bounds.lo;
  plan.operation.hi = bounds.hi;
  plan.operation.nan = nan_replacement(request, header.dtype, min, max);
  plan_scale_and_bias(profile, request, plan.operation);
  return plan;
}

std::string describe(const Plan& plan) {
  const Operation& operation = plan.operation;
  const DType dtype = operation.dtype;
  std::string text = fmt::format(
      "{} {}, {}-endian, {} order", traits(dtype).name, npy::shape_text(plan.header.shape),
      plan.header.order == ByteOrder::little ? "little" : "big", plan.header.fortran_order ? "Fortran" : "C");
  switch (operation.arithmetic) {
    case Arithmetic::none: break;
    case Arithmetic::float32:
      text += fmt::format(", x * {} + {} in float32", static_cast<float>(operation.scale),
                          static_cast<float>(operation.bias));
      break;
    case Arithmetic::float64:
      text += fmt::format(", x * {} + {} in float64", operation.scale, operation.bias);
      break;
    case Arithmetic::integer:
      text += fmt::format(", x * {}{} + {}{} exactly", operation.integer_scale.negative ? "-" : "",
                          operation.integer_scale.magnitude, operation.integer_bias.negative ? "-" : "",
                          operation.integer_bias.magnitude);
      break;
  }
  text +=
      fmt::format(", min {}, max {}", element_text(dtype, operation.lo), element_text(dtype, operation.hi));
  if (operation.nan) text += fmt::format(", NaN becomes {}", element_text(dtype, *operation.nan));
  return text;
}

}  // namespace clipper
