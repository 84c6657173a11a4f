#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clip/clip.hpp"
#include "contract/bounds.hpp"
#include "contract/profile.hpp"
#include "npy/header.hpp"

/// Request + Header -> Plan: every rule is checked here, before anything has been created.
namespace clipper {

/// What Request::nan may be besides a number.
inline constexpr std::array<std::string_view, 4> kNanWords{"keep", "error", "min", "max"};

/// The four numbers of the operation and the words around them, as they were given.
struct Request {
  const Profile* profile = profile_named("native");  ///< never null
  std::optional<std::string> min;                    ///< each number as text, or @file.npy
  std::optional<std::string> max;
  std::optional<std::string> scale;
  std::optional<std::string> bias;
  std::optional<MinAboveMax> min_above_max;  ///< instead of the profile's rule
  std::string nan = "keep";                  ///< one of kNanWords, or a number
};

/// What will be done to a tensor, fully decided.
struct Plan {
  npy::Header header;  ///< the input's; the output's but for `data_offset`
  Operation operation;
  std::vector<CutBound> cut;  ///< what the user should know of the bounds
  bool refuse_nan = false;    ///< a NaN among the results is an error that names the first one
  std::uint64_t first = 0;    ///< of a part of a tensor: how many elements come before it
};

/// Error{usage} for anything among the request's numbers that is not one. Needs no tensor.
void check_numbers(const Request& request);

/// A bound that elements are compared with, exactly as it was given: nothing is converted.
struct Limit {
  Number number;                       ///< never NaN
  std::string text;                    ///< as typed, or the element in an @file.npy
  std::optional<ElementBits> element;  ///< the nearest one within; none: all elements are beyond
};

/// What Request::min and Request::max say as limits: elements less than min, and greater than max, are
/// beyond. Error{usage} for a NaN, and what reading an @file.npy throws.
[[nodiscard]] std::optional<Limit> min_limit(const Request& request, DType dtype);
[[nodiscard]] std::optional<Limit> max_limit(const Request& request, DType dtype);

/// Throws Error{usage} for numbers and combinations that the profile forbids, Error{input} for tensors that
/// it does not take, and what reading an @file.npy throws.
[[nodiscard]] Plan make_plan(const Request& request, const npy::Header& header);

/// "float32 (3, 4), min 0, max 6": the plan with its numbers as converted.
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace clipper
