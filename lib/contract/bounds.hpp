#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clip/operation.hpp"
#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "element/tensor_layout.hpp"
#include "error.hpp"

/// Converts bounds from numbers, as given, to elements of the tensor's dtype by a profile's rules.
namespace clipper {

/// A parameter of the request in a message: "min"; with its number: "min 300".
[[nodiscard]] Message parameter(std::string_view field);
[[nodiscard]] Message label(std::string_view field, const Parameter& given);

/// Throws Error{usage}.
[[noreturn]] void refuse_request(const Message& why);

/// " exceeds the uint8 maximum (255)", or " is below the uint8 minimum (0)".
[[nodiscard]] std::string beyond_text(DType dtype, bool is_above);

/// Whether the parameter is a number that is found in the elements.
[[nodiscard]] inline bool is_figure(const Parameter& given) {
  return !given.expression.terms.empty();
}
[[nodiscard]] inline bool is_figure(const std::optional<Parameter>& given) {
  return given && is_figure(*given);
}

/// Makes words numbers of the tensor's elements: dates units since 1970, true 1. Error{usage} for bounds that
/// the type does not have, and for what it does not take: scale, bias, conversions except another dtype for
/// bool, and bounds from files. NaT cannot be a bound.
void set_units(Request& request, const TensorLayout& layout);

/// Whether set_units() would leave the request as it is.
[[nodiscard]] bool is_in_units(const Request& request, const TensorLayout& layout);

/// The bounds as elements of the dtype; lowest_element() or highest_element() where there is no bound.
struct Bounds {
  ElementBits lo = 0;  ///< with lo and hi, `y = x < lo ? lo : x; y = y > hi ? hi : y` applies the bounds
  ElementBits hi = 0;
  ElementBits min = 0;  ///< min and max as converted: lo and hi, unless min exceeds max
  ElementBits max = 0;
};

/// The bound as an element of the dtype. Error{usage} if the profile forbids the number for this dtype, or if
/// no element can be within the bound.
[[nodiscard]] ElementBits convert_min(const Profile& profile, DType dtype, const Parameter& min);
[[nodiscard]] ElementBits convert_max(const Profile& profile, DType dtype, const Parameter& max);

/// What a refusal of a min above max advises: nothing with a step that refuses `min_above_max`.
[[nodiscard]] Message order_advice(const Operation& operation);

/// Both bounds, with the profile's defaults for those not given. If min exceeds max, as given or as
/// converted, `min_above_max` decides: Error{usage} with `advice`, or a lo and hi with which every element
/// becomes min or max. Also throws what convert_min() and convert_max() throw.
[[nodiscard]] Bounds convert_bounds(const Profile& profile, DType dtype, const std::optional<Parameter>& min,
                                    const std::optional<Parameter>& max, MinAboveMax min_above_max,
                                    const Message& advice = "");

/// A bound of integers whose fraction the profile cuts off, so that `element`, which is outside of the bound
/// as given, is not clipped. Or a bound of floats that becomes an integer and is another number: 1e-8 is 0 as
/// float16, 2049 is 2048.
struct CutBound {
  std::string_view field;  ///< "min" or "max"
  std::string text;        ///< the number as given
  ElementBits element = 0;
};

[[nodiscard]] std::vector<CutBound> cut_bounds(const Profile& profile, DType dtype,
                                               const std::optional<Parameter>& min,
                                               const std::optional<Parameter>& max);

/// The least element >= the number, and the greatest element <= the number; nothing if there is none. The
/// number must not be NaN.
[[nodiscard]] std::optional<ElementBits> least_from(DType dtype, const Number& number);
[[nodiscard]] std::optional<ElementBits> greatest_to(DType dtype, const Number& number);

}  // namespace clipper
