#include <cfenv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "clip/reference_clip.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/plan.hpp"
#include "element/element.hpp"
#include "error.hpp"
#include "fuzz/require.hpp"
#include "request_text.hpp"

/// The input is text: a letter for the dtype, a letter for the profile, then six words separated by `|`: MIN,
/// MAX, SCALE, BIAS, NAN, MIN-ABOVE-MAX. `_` or nothing stands for an option that is not given. libc's
/// strtof, strtod and strtold check the numbers of profile clipper.
///
/// Numbers as text, every dtype and profile -> make_plan. If accepted: bounds are numbers of the dtype,
/// and element_text prints them so that they are read back unchanged. For profile clipper, libc's strtof,
/// strtod and strtold give the same bits; for halves, rounding to odd avoids double rounding
/// libFuzzer tries texts of bounds: -max_len=128 -dict=bounds.dict
/// torture: 100000 | 10000000 | 100000000
namespace clipper::fuzz {
namespace {

struct Input {
  Request request;
  TensorLayout layout;
};

std::size_t take_index(std::string_view& text, std::size_t size) {
  if (text.empty()) return 0;
  const auto letter = static_cast<unsigned char>(text.front() - 'a');
  text.remove_prefix(1);
  return letter % size;
}

/// The next word, or nothing if it is `_` or @FILE.
std::optional<std::string> take_word(std::string_view& text) {
  const std::string word(text.substr(0, text.find('|')));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  if (word == "_" || word.starts_with('@')) return std::nullopt;
  return word;
}

std::optional<Parameter> take_number(std::string_view& text) {
  const std::optional<std::string> word = take_word(text);
  return word ? std::optional(number_of_text("number", *word)) : std::nullopt;
}

Input understood(std::string_view text) {
  Input input;
  input.layout.dtype = kKernelDTypes[take_index(text, kKernelDTypes.size())].dtype;
  input.request.profile = &profiles()[take_index(text, profiles().size())];
  input.layout.shape.assign(std::max<std::size_t>(input.request.profile->min_rank, 1), 1);
  input.request.min = take_number(text);
  input.request.max = take_number(text);
  input.request.scale = take_number(text);
  input.request.bias = take_number(text);
  if (const std::optional<std::string> nan = take_word(text)) input.request.nan = nan_of_text(*nan);
  const std::string above = take_word(text).value_or("");
  if (above == "error") input.request.min_above_max = MinAboveMax::error;
  if (above == "min") input.request.min_above_max = MinAboveMax::min;
  if (above == "max") input.request.min_above_max = MinAboveMax::max;
  return input;
}

template <class Float>
Float read(Float (*strto)(const char*, char**), const std::string& text, int rounding = FE_TONEAREST) {
  std::fesetround(rounding);
  const Float number = strto(text.c_str(), nullptr);
  std::fesetround(FE_TONEAREST);
  return number;
}

/// The number rounded to odd, so that rounding the result again gives the same as rounding once.
float odd_float(const std::string& text) {
  const float below = read(std::strtof, text, FE_DOWNWARD);
  return (to_bits(below) & 1) != 0 ? below : read(std::strtof, text, FE_UPWARD);
}

/// The number as an element, read by libc. Floats: nearest, ties to even. Integers: toward zero, saturated.
ElementBits element(DType dtype, const std::string& text) {
  if (dtype == DType::float32) return to_bits(read(std::strtof, text));
  if (dtype == DType::float64) return to_bits(read(std::strtod, text));
  if (is_floating(dtype)) return reference::nearest_half(dtype, odd_float(text));
  const long double number = std::trunc(read(std::strtold, text, FE_TOWARDZERO));
  const auto lowest = static_cast<long double>(reference::integer(dtype, lowest_element(dtype)));
  const auto highest = static_cast<long double>(reference::integer(dtype, highest_element(dtype)));
  const auto whole = static_cast<reference::Int128>(std::clamp(number, lowest, highest));
  return static_cast<ElementBits>(whole) & reference::all_ones(dtype);
}

/// Whether the operation's bounds are just the converted --min and --max, by the rules of profile clipper.
bool is_plain(const Request& request, const Operation& op) {
  const bool swapped = request.min_above_max == MinAboveMax::min && op.lo == highest_element(op.dtype);
  return request.profile == profile_named("clipper") && !swapped;
}

void check_native(const Request& request, const Plan& plan) {
  const Operation& op = plan.operation;
  const bool is_exact = has_exact_bounds(plan);  // then lo and hi are the integers within the bounds
  if (request.min && !is_exact)
    require(op.lo == element(op.dtype, request.min->text), "min is what libc reads", request.min->text);
  if (request.max && !is_exact)
    require(op.hi == element(op.dtype, request.max->text), "max is what libc reads", request.max->text);
  const auto check_factor = [&](const std::optional<Parameter>& given, double factor) {
    if (!given) return;
    const std::string& text = given->text;
    const double expected =
        op.arithmetic == Arithmetic::float32 ? double{read(std::strtof, text)} : read(std::strtod, text);
    const bool is_integer = op.arithmetic == Arithmetic::integer;  // which has no -0
    require(is_integer ? factor == expected : to_bits(factor) == to_bits(expected),
            "scale and bias are what libc reads", text);
  };
  check_factor(request.scale, op.scale.head);
  check_factor(request.bias, op.bias.head);
}

void check_accepted(const Request& request, const Plan& plan) {
  const Operation& op = plan.operation;
  const std::string text = describe(plan);
  for (const ElementBits bound : {op.lo, op.hi}) {
    require(bound <= reference::all_ones(op.dtype), "a bound fits its dtype", text);
    require(op.poisons || !reference::is_nan(op.dtype, bound), "a bound is not NaN", text);
  }
  const bool is_canonical = request.action_on_nan() == OnNan::canonical;
  if (op.nan && !op.poisons)  // with `--min nan`, `--nan min` is NaN, too
    require(is_canonical == reference::is_nan(op.dtype, *op.nan), "--nan is not NaN", text);
  require(std::isfinite(op.scale.head) && std::isfinite(op.bias.head), "scale and bias are finite", text);
  const MinAboveMax above = request.min_above_max.value_or(request.profile->min_above_max);
  if (!has_exact_bounds(plan) && number_of(op.dtype, op.lo) > number_of(op.dtype, op.hi))
    require(above != MinAboveMax::error, "min above max is accepted only if the rules allow it", text);
  if (is_plain(request, op)) check_native(request, plan);
  if (op.poisons) return;
  if (has_exact_bounds(plan)) return;  // op.lo and hi do not say them

  Request again;
  again.min = number_of_text("min", element_text(op.dtype, op.lo));
  again.max = number_of_text("max", element_text(op.dtype, op.hi));
  again.min_above_max = MinAboveMax::max;
  const Operation same = make_plan(again, plan.input).operation;
  require(same.lo == op.lo && same.hi == op.hi, "printed bounds are read back as the same bounds", text);
}

/// Whether `work` throws no Error. The kind of an Error must be `kind` or `other`.
template <class Work>
bool succeeds(Work work, ErrorKind kind, ErrorKind other) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    require(error.kind() == kind || error.kind() == other, "an error has the right kind", error.what());
    return false;
  }
}

}  // namespace
}  // namespace clipper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clipper;
  fuzz::Input input;
  std::optional<Plan> plan;
  const bool numbers = fuzz::succeeds(
      [&] {
        input = fuzz::understood({reinterpret_cast<const char*>(data), size});
      },
      ErrorKind::usage, ErrorKind::usage);
  if (!numbers) return 0;
  const bool planned = fuzz::succeeds([&] { plan = make_plan(input.request, input.layout); },
                                      ErrorKind::usage, ErrorKind::input);
  if (planned) fuzz::check_accepted(input.request, *plan);
  return 0;
}
