#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/parameter_array.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"

/// Arrays as min, max, scale and bias: which element of an array belongs to which element of the tensor.
namespace clipper {

enum class Parameter : std::uint8_t { min, max, scale, bias };

/// The names of a Request's members, in the order of the enumerators.
inline constexpr std::array<std::string_view, 4> kParameterNames{"min", "max", "scale", "bias"};

[[nodiscard]] constexpr std::string_view name_of(Parameter parameter) {
  return kParameterNames[static_cast<std::size_t>(parameter)];
}

/// An array that gives a parameter for each element of a tensor.
struct ArrayParameter {
  Parameter parameter;
  std::string text;  ///< as it was typed: "@lo.npy"
  std::shared_ptr<const ParameterArray> array;

  /// For each axis of Broadcast::axes: how many elements of the array's file one step along the axis is; 0 if
  /// the array has one element for all steps.
  std::vector<std::uint64_t> strides;
};

/// The arrays of a plan.
struct Broadcast {
  /// The shape of the tensor in its file: the last axis is contiguous. Axes that no array distinguishes are
  /// merged. Empty if the tensor has at most one element.
  std::vector<std::uint64_t> axes;
  std::vector<ArrayParameter> arrays;  ///< at most one per Parameter, in the order of the enumerators

  MinAboveMax min_above_max = MinAboveMax::error;
  bool takes_nan = false;        ///< whether bounds may be NaN: see Operation::poisons
  std::optional<Parameter> nan;  ///< the bound that replaces NaN, if a bound does: min or max

  [[nodiscard]] const ArrayParameter* find(Parameter parameter) const;

  /// The number of the tensor's elements.
  [[nodiscard]] std::uint64_t count() const { return count_from(0); }

  /// The parameters of the elements repeat after this number of elements.
  [[nodiscard]] std::uint64_t period() const;

  /// Identifies the arrays by their contents. Reads all of them.
  [[nodiscard]] std::string fingerprint() const;

 private:
  [[nodiscard]] std::uint64_t count_from(std::size_t axis) const;
};

/// Calculates the axes and strides for the elements of a tensor of this shape in C or Fortran order. All
/// arrays must broadcast to the shape.
void lay_out(Broadcast& broadcast, const std::vector<std::int64_t>& shape, bool fortran_order);

/// Error{input} if the shape of a parameter's file does not broadcast to `shape` by numpy's rule, or would
/// enlarge it.
void check_shape(std::string_view field, const Given& given, const std::vector<std::int64_t>& shape);

/// The arrays of the request, laid out for the tensor; nothing if there are none. Calls check_shape() for all
/// parameters. Error{usage} for an array that the profile does not take: see Profile::Arrays.
[[nodiscard]] std::optional<Broadcast> plan_arrays(const Request& request, const TensorLayout& layout);

}  // namespace clipper
