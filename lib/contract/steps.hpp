#pragma once

#include <optional>
#include <span>
#include <string>

#include "contract/plan.hpp"
#include "contract/profile.hpp"

/// The steps that an operation takes with each element. A step is a row in steps(), and a block of functions.
namespace clipper {

struct Step {
  /// Chooses the arithmetic and dtypes of the step, from those of the steps before it.
  void (*choose)(const Request& request, Plan& plan);

  /// Makes the step's numbers elements, after all steps have chosen. Error{usage} for numbers that cannot be.
  void (*convert)(const Request& request, Plan& plan);

  /// Appends what Plan::fingerprint() and describe() say of the step.
  void (*identify)(const Plan& plan, std::string& text);
  void (*describe)(const Plan& plan, std::string& text);
};

/// In the order in which they happen to an element.
[[nodiscard]] std::span<const Step* const> steps() noexcept;

/// The first step: elements that are no data, and those outside of a mask, are left out of the others.
extern const Step kNodata;

/// Replacements, and unless the elements are normalized, rounding, zero point and the output's dtype.
extern const Step kCast;

/// The last step: the normalization, and then rounding, zero point and the output's dtype.
extern const Step kNormalization;

/// Whether the request has the last step, and the member that messages name it by.
[[nodiscard]] bool normalizes(const Request& request);
[[nodiscard]] std::string_view name_of_normalization(const Request& request);

/// Whether the plan has the last step: also with a norm that is small enough beside a bound beyond the dtype
/// of floats, because the norm must not decide whether that is a bound.
[[nodiscard]] bool normalizes(const Request& request, const Plan& plan);

/// Error{usage} if the last step makes fractions of integers and the request has no rounding. `advice` is in
/// front of the options that round.
void expect_rounding(const Request& request, DType from, const Message& advice = "this requires ");

/// Whether the last step, for norms, multiplies and does nothing else.
[[nodiscard]] bool only_scales(const Plan& plan);

/// Whether the request has numbers of stretch_from that are not subtract and divide already, as found ones
/// are.
[[nodiscard]] bool has_typed_range(const Request& request);

/// Makes them subtract and divide. Error{usage} for numbers between which there is no range.
void set_range(Request& request, DType dtype);

/// "stretch: from min 0 to max inf is not a finite float64 number"
[[nodiscard]] Message no_range(const Message& from, const Message& to);

/// What people are told if min and max are one number, of which all elements become one.
[[nodiscard]] std::optional<Message> collapse_note(const Plan& plan);

/// Whether NaN becomes of infinite quotients, which are multiplied by 0.
[[nodiscard]] bool makes_nan(const Plan& plan);

/// The number as it is subtracted from elements of the dtype: a whole number of 64 bits from integers,
/// otherwise the nearest float64.
[[nodiscard]] Number subtracted(const Number& number, DType dtype);

[[nodiscard]] Number number_of(const SignedInteger& integer);
[[nodiscard]] std::string text_of(const SignedInteger& integer);

/// The first elements of an array that was calculated: "[0.5, 1, ...]", or the only one: "0.5"; empty for one
/// that was given.
[[nodiscard]] std::string found_text(const ParameterArray& array, std::size_t shown = 16);

/// A number as a plan calculates with it.
struct PlannedNumber {
  Number number;
  std::optional<DType> dtype{};  ///< whose element it is; nothing for an exact number
};

/// The number of a parameter. Nothing unless a step of the plan has the parameter; 1 or 0 for one that is not
/// given beside one that is.
[[nodiscard]] std::optional<PlannedNumber> planned_number(const Plan& plan, ParameterId parameter);

/// The same for people: "0.5"; nothing for a subtrahend and a divisor beside a norm that change nothing.
[[nodiscard]] std::optional<std::string> number_text(const Plan& plan, ParameterId parameter);

/// The same, or the text of an array: "@bias.npy (3,)", "1% (3, 1, 1) [0.5, 1, 2]".
[[nodiscard]] std::string text_of(const Plan& plan, ParameterId parameter);
[[nodiscard]] std::string text_of(const ArrayParameter& row);

/// A scale, bias, subtrahend or divisor, rounded to float32 or float64. Error{usage} unless that is finite,
/// and for a divisor of 0.
[[nodiscard]] double finite_factor(std::string_view field, const Parameter& given, DType dtype, bool divides);

/// Error{usage} if a factor from a file is neither a float32 or float64 nor of the tensor's dtype. 64-bit
/// integer tensors also take both 64-bit integer dtypes.
void check_factor_dtype(std::string_view field, const std::optional<Parameter>& given, DType dtype);

/// The number, plus `zero_point`, as an element of an integer dtype. Error{usage} if there is none.
[[nodiscard]] ElementBits integer_element(std::string_view field, const Parameter& given, DType dtype,
                                          SignedInteger zero_point = {});

/// What a cast to `to` does besides replacements, of elements that were scaled or normalized if `scales`.
void choose_rounding(const Request& request, DType to, bool scales, Cast& cast);

/// Adds what a cast to `to` does with each number to a fingerprint.
void identify_rounding(const Cast& cast, DType to, std::string& text);

/// ", rounded half_even, zero point 128, to uint8".
void describe_rounding(const Cast& cast, bool of_floats, DType from, DType to, std::string& text);

}  // namespace clipper
