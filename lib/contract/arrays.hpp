#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/fields.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "os/os.hpp"

/// Arrays as parameters: which element of an array belongs to which element of the tensor, and
/// what dtype it has.
namespace clipper {

/// An array that gives a parameter for each element of the tensors to whose shapes it broadcasts.
/// All functions may be called from many threads. Errors name the file.
class ParameterArray {
 public:
  ParameterArray() = default;
  ParameterArray(const ParameterArray&) = delete;
  ParameterArray& operator=(const ParameterArray&) = delete;
  virtual ~ParameterArray() = default;

  [[nodiscard]] virtual const TensorLayout& layout() const = 0;

  /// All elements as in the file, if they are held in memory; empty if they must be read().
  [[nodiscard]] virtual std::span<const std::byte> held() const = 0;

  /// Reads the elements from `position` on, in the order of the file, with the file's byte order. Error{io}
  /// if the file is shorter now.
  virtual void read(std::uint64_t position, std::span<std::byte> elements) const = 0;

  /// Identifies dtype, shape and elements of the array, whatever its name. Reads the whole array.
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;

  /// Error{io} if the file was written to since it was opened.
  virtual void expect_unwritten() const = 0;

  /// Whether the array was calculated from the tensor's elements.
  [[nodiscard]] virtual bool is_found() const { return false; }

  /// Of an array of figures: for each element whether its group has no such figure; empty if none lacks it.
  [[nodiscard]] virtual std::span<const std::uint8_t> lost() const { return {}; }
  [[nodiscard]] bool is_lost(std::size_t i) const { return !lost().empty() && lost()[i] != 0; }

  /// Whether the array's file is the file with this status.
  [[nodiscard]] virtual bool is(const os::Status& file) const = 0;
};

/// Some parameters, each a bit.
using ParameterSet = std::uint16_t;

[[nodiscard]] constexpr ParameterSet bit_of(ParameterId parameter) {
  return static_cast<ParameterSet>(1U << static_cast<unsigned>(parameter));
}

/// An array that gives a parameter for each element of a tensor.
struct ArrayParameter {
  ParameterId parameter;
  std::string text;  ///< as it was typed: "@lo.npy", or "1%" for a figure
  std::shared_ptr<const ParameterArray> array;

  /// For each axis of Broadcast::axes: how many elements of the array's file one step along the axis is; 0 if
  /// the array has one element for all steps.
  std::vector<std::uint64_t> strides;

  /// The numbers as found, if `array` has what is made of them: see convert_numbers().
  std::shared_ptr<const ParameterArray> given{};
};

/// The bits of an element in a byte order.
[[nodiscard]] ElementBits bits_in(std::span<const std::byte> bytes, ByteOrder order) noexcept;

/// Element `i` of an array that was calculated from the tensor's elements.
[[nodiscard]] ElementBits found_element(const ParameterArray& array, std::size_t i) noexcept;

/// The arrays of a plan.
struct Broadcast {
  /// The shape of the tensor in its file: the last axis is contiguous. Axes that no array distinguishes are
  /// merged. Empty if the tensor has at most one element.
  std::vector<std::uint64_t> axes;
  std::vector<ArrayParameter> arrays;  ///< at most one per ParameterId, in the order of ParameterId

  MinAboveMax min_above_max = MinAboveMax::error;
  bool takes_nan = false;              ///< whether bounds may be NaN: see Operation::poisons
  std::optional<ParameterId> nan;      ///< the bound that replaces NaN, if a bound does: min or max
  std::optional<double> zero_divisor;  ///< in place of a 0 of divisors

  [[nodiscard]] const ArrayParameter* find(ParameterId parameter) const;

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
void check_shape(std::string_view field, const Parameter& given, const std::vector<std::int64_t>& shape);

/// Error{usage} if a number or an array from a file has neither the tensor's dtype nor `other`, unless a
/// bound may have any dtype: see exact_bounds.hpp.
void check_dtype(std::string_view field, const std::optional<Parameter>& given, DType dtype, DType other);

/// What elements are multiplied by because of Request::max_norm, whose array has the norms that were found: a
/// float64 for each of them.
[[nodiscard]] std::shared_ptr<const ParameterArray> norm_factors(const Parameter& max_norm);

/// The array with what `element` makes of each of its numbers, which it is given with their places: elements
/// of this dtype, 0 in place of those that are lost.
using MakeElement = std::function<ElementBits(const Parameter&)>;
[[nodiscard]] std::shared_ptr<const ParameterArray> with_elements(const Parameter& given, DType dtype,
                                                                  const MakeElement& element);

/// What `element` makes of a parameter, one of fields::kResults. Those of an array take its place as
/// ElementBits, and the first is returned.
[[nodiscard]] ElementBits convert_numbers(std::optional<Broadcast>& arrays, ParameterId parameter,
                                          const Parameter& given, const MakeElement& element);

/// The parameter without the numbers that are not of a group of which `is_own` is true.
void lose_others(Parameter& given, const std::function<bool(std::size_t)>& is_own);

/// The arrays of the request, laid out for the tensor; nothing if there are none. Calls check_shape() for all
/// parameters. Error{usage} for an array that the profile does not take: see Profile::Arrays.
[[nodiscard]] std::optional<Broadcast> plan_arrays(const Request& request, const TensorLayout& layout);

/// Whether elements of a dtype are scaled, normalized, ... with numbers of this dtype as they are.
[[nodiscard]] bool takes_factor(DType dtype, DType factor);

/// The array with these elements, of the layout's dtype, in place of its own.
[[nodiscard]] std::shared_ptr<const ParameterArray> with_elements(std::shared_ptr<const ParameterArray> array,
                                                                  TensorLayout layout,
                                                                  std::vector<std::byte> elements);

/// The array with another shape of as many elements.
[[nodiscard]] std::shared_ptr<const ParameterArray> with_shape(std::shared_ptr<const ParameterArray> array,
                                                               std::vector<std::int64_t> shape);

/// Gives the tensor's dtype to parameters from files that leave it open, and to bounds from files of another
/// dtype, unless there is a scale or a bias, if the tensor's is a float dtype that has each of the numbers
/// exactly. Scale, bias, subtract and divide of a dtype for which takes_factor() is false become int64,
/// uint64 or float64 if that has each of the numbers. An array that is not held in memory keeps its dtype.
void set_dtype(Request& request, DType dtype);

/// Whether set_dtype() leaves the request as it is.
[[nodiscard]] bool has_dtype(const Request& request, DType dtype);

/// set_dtype() for a parameter that may have any dtype.
void give_dtype(std::optional<Parameter>& given, DType dtype);

}  // namespace clipper
