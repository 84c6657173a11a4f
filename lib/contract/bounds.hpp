#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "error.hpp"

/// Bounds: numbers as they were given -> elements of the tensor's dtype, by a profile's rules.
namespace clipper {

/// How messages name a number: "min 300".
[[nodiscard]] Message label(std::string_view field, const Given& given);

/// The bounds as elements of the dtype. A side that clips nothing has the dtype's lowest or highest element.
struct Bounds {
  ElementBits lo = 0;
  ElementBits hi = 0;
};

/// The bound as an element of the dtype, converted once. Throws Error{usage} where the profile forbids the
/// number for this dtype, or where no element could satisfy it.
[[nodiscard]] ElementBits convert_min(const Profile& profile, DType dtype, const Given& min);
[[nodiscard]] ElementBits convert_max(const Profile& profile, DType dtype, const Given& max);

/// Both bounds, absent ones by the profile's rule. With min above max, as typed or as converted,
/// `min_above_max` says what they do: the rule `y = x < lo ? lo : x; y = y > hi ? hi : y` then gives min or
/// max for every element. Throws Error{usage}.
[[nodiscard]] Bounds convert_bounds(const Profile& profile, DType dtype, const std::optional<Given>& min,
                                    const std::optional<Given>& max, MinAboveMax min_above_max);

/// A bound of which the profile cuts a fraction off, so that `element` passes, which lies beyond what was
/// given.
struct CutBound {
  std::string_view field;  ///< "min" or "max"
  std::string text;        ///< of the number
  ElementBits element = 0;
};

[[nodiscard]] std::vector<CutBound> cut_bounds(const Profile& profile, DType dtype,
                                               const std::optional<Given>& min,
                                               const std::optional<Given>& max);

/// The least element that is not less than the number, and the greatest that is not greater; nothing if all
/// elements are. The number is not NaN.
[[nodiscard]] std::optional<ElementBits> least_from(DType dtype, const Number& number);
[[nodiscard]] std::optional<ElementBits> greatest_to(DType dtype, const Number& number);

}  // namespace clipper
