#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "console/error_line.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"

namespace clipper {

/// What a profile makes of bounds for one tensor.
struct ProfileCheck {
  const Profile* profile;
  std::optional<Failure> refusal;  ///< without it the members below hold
  std::string min;                 ///< as converted: the dtype's limit if there is no bound
  std::string max;

  /// Where the result differs from that of profile native: kinds of elements ("NaN", "-0", "0", "inf",
  /// "-inf", "numbers"), or why native refuses the bounds ("min > max", "NaN as a bound", "bounds").
  std::vector<std::string_view> differs;

  /// For which of these elements and bounds the system contradicts itself or specifies nothing: "NaN", "NaN
  /// as a bound", "zeros", "subnormals".
  std::vector<std::string_view> unspecified;
};

/// For each profile. Clips some elements of each kind with it and with native; reads nothing. The bounds are
/// numbers, not arrays.
[[nodiscard]] std::vector<ProfileCheck> check_profiles(const Request& bounds, const TensorLayout& tensor);

}  // namespace clipper
