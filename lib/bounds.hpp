#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dtype.hpp"
#include "number.hpp"
#include "profile.hpp"

/// Bounds: numbers as they were given -> elements of the tensor's dtype, by a profile's rules.
namespace clipper {

/// A number that the user gave, and how messages name it: "--min 300".
struct GivenNumber {
  Number number;
  std::string label;
};

/// The bounds as elements of the dtype. A side that clips nothing has the dtype's lowest or highest element.
struct Bounds {
  ElementBits lo = 0;
  ElementBits hi = 0;
};

/// The bound as an element of the dtype, converted once. Throws Error{usage} where the profile forbids the
/// number for this dtype, or where no element could satisfy it.
[[nodiscard]] ElementBits convert_min(const Profile& profile, DType dtype, const GivenNumber& min);
[[nodiscard]] ElementBits convert_max(const Profile& profile, DType dtype, const GivenNumber& max);

/// Both bounds, absent ones by the profile's rule. With min above max, as written or as converted,
/// `min_above_max` says what they do: the rule `y = x < lo ? lo : x; y = y > hi ? hi : y` then gives min or
/// max for every element. Throws Error{usage}.
[[nodiscard]] Bounds convert_bounds(const Profile& profile, DType dtype,
                                    const std::optional<GivenNumber>& min,
                                    const std::optional<GivenNumber>& max, MinAboveMax min_above_max);

}  // namespace clipper
