#include "contract/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "contract/fields.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "error.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse_word(std::string_view field, const Parameter& given, const std::string& why) {
  refuse_request(label(field, given) + why);
}

Number date_number(std::string_view field, const Parameter& given, const TensorLayout& layout) {
  const std::optional<DateText> date = given.needs_meaning ? parse_date(given.text) : std::nullopt;
  if (!date)
    refuse_word(field, given,
                fmt::format(" is not a date, but the tensor is {}; write a date, such as 2020-02-29",
                            type_name(layout)));
  const std::optional<std::int64_t> ticks = ticks_of(*date, layout.meaning.unit);
  if (!ticks) refuse_word(field, given, fmt::format(" is not a date of {}", type_name(layout)));
  return *ticks;
}

/// A duration in a unit of its own.
Number duration_in(std::string_view field, const Parameter& given, const TensorLayout& layout) {
  const auto ticks = static_cast<std::int64_t>(to_integer(given.number, Rounding::toward_zero));
  const std::optional<std::int64_t> converted = ticks_of(ticks, *given.unit, layout.meaning.unit);
  if (ticks == kNaT || !converted)
    refuse_word(field, given, fmt::format(" is not a duration of {}", type_name(layout)));
  return *converted;
}

Number duration_number(std::string_view field, const Parameter& given, const TensorLayout& layout) {
  if (given.unit) return duration_in(field, given, layout);
  const Number lowest = kNaT + 1;
  const Number highest = std::numeric_limits<std::int64_t>::max();
  if (given.needs_meaning || !is_integer(given.number) || given.number < lowest || given.number > highest)
    refuse_word(
        field, given,
        fmt::format(" is not a number of units, but the tensor is {}; write an integer", type_name(layout)));
  return given.number;
}

Number flag_number(std::string_view field, const Parameter& given) {
  if (given.needs_meaning && (given.text == "true" || given.text == "false"))
    return given.text == "true" ? 1 : 0;
  if (given.needs_meaning || (given.number != Number(0) && given.number != Number(1)))
    refuse_word(field, given, " is not 0, 1, true or false, but the tensor is bool");
  return given.number;
}

/// The given number, date or flag as a number of the tensor's elements.
Number number_in_units(std::string_view field, const Parameter& given, const TensorLayout& layout) {
  if (given.dtype || given.array)
    refuse_word(field, given, fmt::format(" cannot be a bound of {}; write it out", type_name(layout)));
  if (given.needs_meaning && (given.text == "NaT" || given.text == "nat"))
    refuse_word(field, given, ": NaT cannot be a bound");
  switch (layout.meaning.kind) {
    case LogicalType::Kind::boolean: return flag_number(field, given);
    case LogicalType::Kind::datetime: return date_number(field, given, layout);
    case LogicalType::Kind::timedelta: return duration_number(field, given, layout);
    case LogicalType::Kind::number:
    case LogicalType::Kind::complex: break;
  }
  if (given.needs_meaning)
    refuse_word(field, given, fmt::format(" is not a number, but the tensor is {}", type_name(layout)));
  return given.number;
}

/// Error{usage} for a parameter that only numbers have.
void expect_only_bounds(const Request& request, const TensorLayout& layout) {
  const auto is_refused = [&](const Field& field) {
    if (field.name == "to") return layout.meaning.kind != LogicalType::Kind::boolean;
    return field.step != Field::Step::clip && field.name != "saturate";  // which requires `to`
  };
  if (const Field* const field = first_given(request, is_refused))
    refuse_request(Term{field->name, field->name} +
                   Message(fmt::format(": not for a tensor of {}", type_name(layout))));
}

bool needs_meaning(const Request& request) {
  const auto is_one = [](const std::optional<Parameter>& given) { return given && given->needs_meaning; };
  return is_one(request.min) || is_one(request.max) || is_one(request.nan.number);
}

enum class Side : std::uint8_t { min, max };

/// NaN as a bound that poisons: that of a file keeps its bits, unless it becomes a Python number.
ElementBits poison(const Profile& profile, DType dtype, const Parameter& bound) {
  const bool keeps_bits = bound.dtype && profile.carrier == Profile::Carrier::element;
  return keeps_bits ? bound.element : canonical_nan(dtype);
}

/// Rounds to the nearest integer within the bound.
constexpr Rounding inward(Side side) {
  return side == Side::min ? Rounding::up : Rounding::down;
}

/// Whether a dtype without infinity has no element to which the number rounds.
bool is_beyond(DType dtype, const Number& number) {
  return is_floating(dtype) && !traits(dtype).has_infinity &&
         number_of(dtype, nearest_element(dtype, number)).kind == Number::Kind::nan;
}

constexpr std::string_view field_of(Side side) {
  return side == Side::min ? "min" : "max";
}

/// The default bound of a profile has no text.
Message label(Side side, const Parameter& bound) {
  if (bound.text.empty()) return fmt::format("the default {}", field_of(side));
  return label(field_of(side), bound);
}

[[noreturn]] void refuse(Side side, const Parameter& bound, const Message& why) {
  refuse_request(label(side, bound) + why);
}

/// For a bound above or below all finite elements of `dtype`.
[[noreturn]] void refuse_out_of_range(Side side, const Parameter& bound, DType dtype,
                                      const std::string& advice = {}) {
  refuse(side, bound, beyond_text(dtype, bound.number > Number()) + advice);
}

/// The number as a T, rounded to the profile's carrier type first, which is not the element's.
template <class T>
T carried(Profile::Carrier carrier, const Number& number) {
  switch (carrier) {
    case Profile::Carrier::element: break;
    case Profile::Carrier::float32:
      if constexpr (sizeof(T) > sizeof(float))
        return round_to<float>(number);
      else
        return narrow<T>(round_to<float>(number));
    case Profile::Carrier::float64:
    case Profile::Carrier::python:
      if constexpr (HalfType<T>)
        return narrow<T>(narrow<float>(round_to<double>(number)));
      else
        return static_cast<T>(round_to<double>(number));
  }
  __builtin_unreachable();
}

/// The number as a bound of integers, rounded to the profile's carrier type.
Number carried_number(Profile::Carrier carrier, const Number& number) {
  switch (carrier) {
    case Profile::Carrier::element:
    case Profile::Carrier::python: return number;
    case Profile::Carrier::float32: return round_to<float>(number);
    case Profile::Carrier::float64: return round_to<double>(number);
  }
  __builtin_unreachable();
}

/// Whether the number is finite as a Python float, but beyond the finite elements.
bool overflows(DType dtype, const Number& number) {
  const Number python = round_to<double>(number);
  return python.kind == Number::Kind::finite && (python < number_of(dtype, lowest_finite(dtype)) ||
                                                 python > number_of(dtype, highest_finite(dtype)));
}

/// The number as an element of a float dtype. Beyond the finite elements of a dtype without infinity, the
/// limit.
ElementBits nearest_float(const Profile& profile, DType dtype, const Number& number) {
  if (profile.carrier != Profile::Carrier::element)
    return with_type(dtype, [&]<class T>() -> ElementBits {
      if constexpr (std::is_integral_v<T>)
        __builtin_unreachable();
      else
        return to_bits(carried<T>(profile.carrier, number));
    });
  const ElementBits element = nearest_element(dtype, number);
  if (!is_beyond(dtype, number)) return element;
  return number > Number() ? highest_element(dtype) : lowest_element(dtype);
}

/// Refuses a finite min that rounds to inf, and a finite max that rounds to -inf; without infinity, a min
/// above and a max below all elements.
ElementBits convert_float(const Profile& profile, DType dtype, const Parameter& bound, Side side) {
  const ElementBits element = nearest_float(profile, dtype, bound.number);
  if (is_beyond(dtype, bound.number) && (side == Side::min) == (bound.number > Number()))
    refuse_out_of_range(side, bound, dtype);
  if (!traits(dtype).has_infinity) return element;
  const ElementBits unsatisfiable = side == Side::min ? highest_element(dtype) : lowest_element(dtype);
  if (profile.carrier == Profile::Carrier::python && overflows(dtype, bound.number))
    refuse_out_of_range(side, bound, dtype);
  if (element == unsatisfiable && bound.number.kind == Number::Kind::finite) {
    const bool in_float32 = profile.carrier == Profile::Carrier::float32 && dtype == DType::float64;
    refuse_out_of_range(side, bound, in_float32 ? DType::float32 : dtype,
                        fmt::format("; for infinity, write {}", element_text(dtype, element)));
  }
  return element;
}

Rounding rounding_of(Profile::Inexact inexact, Side side) {
  switch (inexact) {
    case Profile::Inexact::truncate:
    case Profile::Inexact::error:
    case Profile::Inexact::no_bound: return Rounding::toward_zero;
    case Profile::Inexact::inward: return inward(side);
    case Profile::Inexact::half_even: return Rounding::half_even;
  }
  __builtin_unreachable();
}

/// Whether the profile requires elements of the dtype as bounds of integers, also for this one.
bool requires_element(const Profile& profile, DType dtype, const Parameter& bound, Side side) {
  if (profile.inexact != Profile::Inexact::no_bound) return profile.inexact == Profile::Inexact::error;
  return bound.is_float || (side == Side::min ? bound.number > number_of(dtype, lowest_element(dtype))
                                              : bound.number < number_of(dtype, highest_element(dtype)));
}

template <class T>
ElementBits convert_integer(const Profile& profile, DType dtype, const Parameter& bound, Side side) {
  constexpr Int128 kLowest = std::numeric_limits<T>::lowest();
  constexpr Int128 kHighest = std::numeric_limits<T>::max();
  const Int128 value =
      to_integer(carried_number(profile.carrier, bound.number), rounding_of(profile.inexact, side));
  const Int128 saturated = std::clamp(value, kLowest, kHighest);
  const ElementBits element = to_bits(static_cast<T>(saturated));

  if (requires_element(profile, dtype, bound, side) && (saturated != value || !is_integer(bound.number)))
    refuse(side, bound, fmt::format(": {} requires a value of dtype {}", profile.system, traits(dtype).name));
  if (profile.inexact == Profile::Inexact::truncate) {
    const Int128 written = to_integer(bound.number, Rounding::toward_zero);
    if (side == Side::min ? written > kHighest : written < kLowest) refuse_out_of_range(side, bound, dtype);
  }
  return element;
}

ElementBits convert(const Profile& profile, DType dtype, const Parameter& bound, Side side) {
  if (bound.number.kind == Number::Kind::nan) {
    if (profile.nan_bound == Profile::NanBound::error || !is_floating(dtype))
      refuse(side, bound, ": NaN cannot be a bound");
    if (profile.nan_bound == Profile::NanBound::poisons) return poison(profile, dtype, bound);
    return side == Side::min ? lowest_element(dtype) : highest_element(dtype);
  }
  if (is_floating(dtype)) return convert_float(profile, dtype, bound, side);
  return with_type(dtype, [&]<class T>() -> ElementBits {
    if constexpr (std::is_integral_v<T>)
      return convert_integer<T>(profile, dtype, bound, side);
    else
      __builtin_unreachable();
  });
}

/// The given bound, or the profile's default.
std::optional<Parameter> or_default(const Profile& profile, DType dtype,
                                    const std::optional<Parameter>& bound, Side side) {
  if (bound || profile.absent_bound == Profile::AbsentBound::none) return bound;
  const DType limits = profile.absent_bound == Profile::AbsentBound::float32_limits ? DType::float32 : dtype;
  if (side == Side::min) return Parameter(number_of(limits, lowest_finite(limits)), "", dtype);
  return Parameter(number_of(limits, highest_finite(limits)), "", dtype);
}

/// Whether a number becomes an integer that is another number. Numbers of more than 20 digits, such as 1e30,
/// stand for any number of their size.
bool is_other_integer(const Number& number, const Number& element) {
  constexpr std::int64_t kDigits = 20;  // an integer of 64 bits has no more
  return number.kind == Number::Kind::finite && number.exponent <= kDigits && element != number &&
         element.kind == Number::Kind::finite && is_integer(element);
}

bool is_cut(const Profile& profile, DType dtype, const std::optional<Parameter>& bound, Side side) {
  if (!bound || !bound->found.empty()) return false;  // what is cut off is not the user's mistake
  if (is_floating(dtype))
    return !is_beyond(dtype, bound->number) &&
           is_other_integer(bound->number, number_of(dtype, convert(profile, dtype, *bound, side)));
  if (profile.inexact != Profile::Inexact::truncate) return false;
  const Number number = carried_number(profile.carrier, bound->number);
  return to_integer(number, Rounding::toward_zero) != to_integer(number, inward(side));
}

/// Both bounds, already converted. If min exceeds max, `min_above_max` is not `error`.
Bounds converted_bounds(DType dtype, ElementBits min, ElementBits max, MinAboveMax min_above_max) {
  const bool is_above = number_of(dtype, min) > number_of(dtype, max);
  if (is_above && min_above_max == MinAboveMax::min) return {highest_element(dtype), min, min, max};
  return {min, max, min, max};
}

/// The float nearest to the number among those within the bound.
std::optional<ElementBits> float_inside(DType dtype, const Number& number, Side side) {
  const bool is_min = side == Side::min;
  if (is_beyond(dtype, number)) {
    if (is_min == (number > Number())) return std::nullopt;
    return is_min ? lowest_element(dtype) : highest_element(dtype);
  }
  const ElementBits nearest = nearest_element(dtype, number);
  const Number found = number_of(dtype, nearest);
  if (is_min ? found >= number : found <= number) return nearest;
  const std::int64_t key = element_key(dtype, nearest) + (is_min ? 1 : -1);
  // A number may round to the highest element, or the lowest, and yet be beyond it.
  const bool exists = is_min ? key <= element_key(dtype, highest_element(dtype))
                             : key >= element_key(dtype, lowest_element(dtype));
  return exists ? std::optional(element_with_key(dtype, key)) : std::nullopt;
}

std::optional<ElementBits> nearest_inside(DType dtype, const Number& number, Side side) {
  if (is_floating(dtype)) return float_inside(dtype, number, side);
  return with_type(dtype, [&]<class T>() -> std::optional<ElementBits> {
    if constexpr (std::is_integral_v<T>) {
      const Int128 value = to_integer(number, inward(side));
      constexpr Int128 kLowest = std::numeric_limits<T>::lowest();
      constexpr Int128 kHighest = std::numeric_limits<T>::max();
      if (side == Side::min ? value > kHighest : value < kLowest) return std::nullopt;
      return to_bits(static_cast<T>(std::clamp(value, kLowest, kHighest)));
    } else {
      __builtin_unreachable();
    }
  });
}

}  // namespace

Message parameter(std::string_view field) {
  return Term{field, field};
}

void refuse_request(const Message& why) {
  throw Error(ErrorKind::usage, why);
}

std::string beyond_text(DType dtype, bool is_above) {
  const ElementBits limit = is_above ? highest_finite(dtype) : lowest_finite(dtype);
  const std::string text = is_floating(dtype) ? fmt::format("{}", round_to<double>(number_of(dtype, limit)))
                                              : element_text(dtype, limit);
  return fmt::format(" {} the {} {} ({})", is_above ? "exceeds" : "is below", traits(dtype).name,
                     is_above ? "maximum" : "minimum", text);
}

Message label(std::string_view field, const Parameter& given) {
  return parameter(field) + Message(" " + given.text);
}

bool is_in_units(const Request& request, const TensorLayout& layout) {
  return layout.meaning.kind == LogicalType::Kind::number && !needs_meaning(request);
}

void set_units(Request& request, const TensorLayout& layout) {
  const bool are_numbers = layout.meaning.kind == LogicalType::Kind::number;
  if (!are_numbers) expect_only_bounds(request, layout);
  const auto convert = [&](std::string_view field, std::optional<Parameter>& given) {
    if (!given || (are_numbers && !given->needs_meaning)) return;
    if (given->expression.is_percentile() && field != "nan") return;
    if (is_figure(*given))
      refuse_request(label(field, *given) + fmt::format(": not for a tensor of {}", type_name(layout)));
    given->number = number_in_units(field, *given, layout);
    given->needs_meaning = false;
  };
  convert("min", request.min);
  convert("max", request.max);
  convert("nan", request.nan.number);
}

ElementBits convert_min(const Profile& profile, DType dtype, const Parameter& min) {
  return convert(profile, dtype, min, Side::min);
}

ElementBits convert_max(const Profile& profile, DType dtype, const Parameter& max) {
  return convert(profile, dtype, max, Side::max);
}

Message order_advice(const Operation& operation) {
  const bool replaces = operation.cast && (operation.cast->below || operation.cast->above);
  return operation.normalization || replaces ? Message("") : Term{"min_above_max", "", Says::advice};
}

Bounds convert_bounds(const Profile& profile, DType dtype, const std::optional<Parameter>& given_min,
                      const std::optional<Parameter>& given_max, MinAboveMax min_above_max,
                      const Message& advice) {
  const std::optional<Parameter> min = or_default(profile, dtype, given_min, Side::min);
  const std::optional<Parameter> max = or_default(profile, dtype, given_max, Side::max);
  const ElementBits lo = min ? convert_min(profile, dtype, *min) : lowest_element(dtype);
  const ElementBits hi = max ? convert_max(profile, dtype, *max) : highest_element(dtype);
  const Bounds bounds = converted_bounds(dtype, lo, hi, min_above_max);
  if (!min || !max) return bounds;

  const bool typed = !min->dtype && !max->dtype;
  // Bounds of integers that files have are in order as numbers, too, before they are cut.
  const bool are_cut = profile.family == "clipper" && !is_floating(dtype);
  // Beside a figure of floats, a number is the element that it becomes, as the figure is, unless that is
  // infinite.
  const auto becomes_infinite = [&](const Parameter& bound, ElementBits element) {
    return bound.number.kind != number_of(dtype, element).kind;
  };
  const bool is_beside_figure = is_floating(dtype) && min->found.empty() != max->found.empty() &&
                                !becomes_infinite(*min, lo) && !becomes_infinite(*max, hi);
  const bool as_typed = ((typed && !is_beside_figure) || are_cut) && min->number > max->number;
  const bool as_converted = number_of(dtype, lo) > number_of(dtype, hi);
  if (!as_typed && !as_converted) return bounds;
  if (!as_typed && typed && !is_beside_figure)
    refuse_request(fmt::format("no {} value lies between ", traits(dtype).name) + label(Side::min, *min) +
                   " and " + label(Side::max, *max));
  if (min_above_max == MinAboveMax::error)
    refuse(Side::min, *min, " exceeds " + label(Side::max, *max) + advice);
  return bounds;
}

std::vector<CutBound> cut_bounds(const Profile& profile, DType dtype, const std::optional<Parameter>& min,
                                 const std::optional<Parameter>& max) {
  std::vector<CutBound> cut;
  const auto number = [&](const std::optional<Parameter>& bound) {
    return carried_number(profile.carrier, bound->number);
  };
  // Where the cuts leave one number of a range, both are said.
  const bool collapses = min && max && !is_floating(dtype) && profile.inexact == Profile::Inexact::truncate &&
                         min->found.empty() && max->found.empty() && number(min) != number(max) &&
                         convert_min(profile, dtype, *min) == convert_max(profile, dtype, *max);
  const auto is_said = [&](const std::optional<Parameter>& bound, Side side) {
    return is_cut(profile, dtype, bound, side) || (collapses && !is_integer(number(bound)));
  };
  if (is_said(min, Side::min)) cut.push_back({"min", min->text, convert_min(profile, dtype, *min)});
  if (is_said(max, Side::max)) cut.push_back({"max", max->text, convert_max(profile, dtype, *max)});
  return cut;
}

std::optional<ElementBits> least_from(DType dtype, const Number& number) {
  return nearest_inside(dtype, number, Side::min);
}

std::optional<ElementBits> greatest_to(DType dtype, const Number& number) {
  return nearest_inside(dtype, number, Side::max);
}

}  // namespace clipper
