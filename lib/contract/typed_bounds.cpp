#include "contract/typed_bounds.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "contract/bounds.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse(std::string_view field, const Given& given, const std::string& why) {
  throw Error(ErrorKind::usage, label(field, given) + why);
}

Number date_number(std::string_view field, const Given& given, const TensorLayout& layout) {
  const std::optional<DateText> date = given.is_word ? parse_date(given.text) : std::nullopt;
  if (!date)
    refuse(field, given,
           fmt::format(" is not a date, but the tensor is {}; write a date, such as 2020-02-29",
                       type_name(layout)));
  const std::optional<std::int64_t> ticks = ticks_of(*date, layout.meaning.unit);
  if (!ticks) refuse(field, given, fmt::format(" is not a date of {}", type_name(layout)));
  return *ticks;
}

/// A duration in a unit of its own.
Number duration_in(std::string_view field, const Given& given, const TensorLayout& layout) {
  const auto ticks = static_cast<std::int64_t>(to_integer(given.number, Rounding::toward_zero));
  const std::optional<std::int64_t> converted = ticks_of(ticks, *given.unit, layout.meaning.unit);
  if (ticks == kNaT || !converted)
    refuse(field, given, fmt::format(" is not a duration of {}", type_name(layout)));
  return *converted;
}

Number duration_number(std::string_view field, const Given& given, const TensorLayout& layout) {
  if (given.unit) return duration_in(field, given, layout);
  const Number lowest = kNaT + 1;
  const Number highest = std::numeric_limits<std::int64_t>::max();
  if (given.is_word || !is_integer(given.number) || given.number < lowest || given.number > highest)
    refuse(
        field, given,
        fmt::format(" is not a number of units, but the tensor is {}; write an integer", type_name(layout)));
  return given.number;
}

Number flag_number(std::string_view field, const Given& given) {
  if (given.is_word && (given.text == "true" || given.text == "false")) return given.text == "true" ? 1 : 0;
  if (given.is_word || (given.number != Number(0) && given.number != Number(1)))
    refuse(field, given, " is not 0, 1, true or false, but the tensor is bool");
  return given.number;
}

/// The given number, date or flag as a number of the tensor's elements.
Number number_in(std::string_view field, const Given& given, const TensorLayout& layout) {
  if (given.dtype || given.array)
    refuse(field, given, fmt::format(" cannot be a bound of {}; write it out", type_name(layout)));
  if (given.is_word && (given.text == "NaT" || given.text == "nat"))
    refuse(field, given, ": NaT cannot be a bound");
  switch (layout.meaning.kind) {
    case Meaning::Kind::boolean: return flag_number(field, given);
    case Meaning::Kind::datetime: return date_number(field, given, layout);
    case Meaning::Kind::timedelta: return duration_number(field, given, layout);
    case Meaning::Kind::number:
    case Meaning::Kind::complex: break;
  }
  if (given.is_word)
    refuse(field, given, fmt::format(" is not a number, but the tensor is {}", type_name(layout)));
  return given.number;
}

/// Error{usage} for a parameter that only numbers have.
void expect_only_bounds(const Request& request, const TensorLayout& layout) {
  const auto expect_not = [&](bool is_given, std::string_view field) {
    if (is_given)
      throw Error(ErrorKind::usage,
                  Term{field, field} + Message(fmt::format(": not for a tensor of {}", type_name(layout))));
  };
  expect_not(request.scale.has_value(), "scale");
  expect_not(request.bias.has_value(), "bias");
  expect_not(request.to && layout.meaning.kind != Meaning::Kind::boolean, "to");
  expect_not(request.round.has_value(), "round");
  expect_not(request.zero_point.has_value(), "zero_point");
  expect_not(request.replace_below.has_value(), "replace_below");
  expect_not(request.replace_above.has_value(), "replace_above");
}

bool has_words(const Request& request) {
  const auto is_word = [](const std::optional<Given>& given) { return given && given->is_word; };
  return is_word(request.min) || is_word(request.max) || is_word(request.nan.number);
}

}  // namespace

Request in_units(const Request& request, const TensorLayout& layout) {
  const bool are_numbers = layout.meaning.kind == Meaning::Kind::number;
  if (are_numbers && !has_words(request)) return request;
  if (!are_numbers) expect_only_bounds(request, layout);
  Request result = request;
  const auto convert = [&](std::string_view field, std::optional<Given>& given) {
    if (!given || given->percentage || (are_numbers && !given->is_word)) return;
    given->number = number_in(field, *given, layout);
    given->is_word = false;
  };
  convert("min", result.min);
  convert("max", result.max);
  convert("nan", result.nan.number);
  return result;
}

}  // namespace clipper
