#include "engine/bound_array.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "clip/convert.hpp"
#include "clip/exact_difference.hpp"
#include "contract/exact_bounds.hpp"
#include "element/element.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

/// Whether every number of `from`, an integer dtype, is an element of an integer dtype.
bool has_all(DType dtype, DType from) {
  return number_of(from, lowest_element(from)) >= number_of(dtype, lowest_element(dtype)) &&
         number_of(from, highest_element(from)) <= number_of(dtype, highest_element(dtype));
}

/// Elements of a dtype as those of another one, without counts.
void convert_elements(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count) {
  static_cast<void>(convert(operation, nullptr, in, out, count, Counting::off, simd_levels().back()));
}

Wide wide_of(double integer, double rest) {
  if (!(std::fabs(integer) < 0x1p126)) return integer < 0 ? Wide::lowest() : Wide::highest();
  return Wide::of(static_cast<Int128>(integer) + static_cast<Int128>(rest));
}

/// The greatest double up to the number, or the least from it on.
double within(double value, double rest, bool is_min) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_min) return rest > 0 ? std::nextafter(value, kInfinity) : value;
  return rest < 0 ? std::nextafter(value, -kInfinity) : value;
}

/// The numbers of a bound that is no array.
double number_at(const std::optional<Number>& exact, DType dtype, ElementBits element, double& rest) {
  const Number number = exact ? *exact : number_of(dtype, element);
  rest = rest_of(number);
  return round_to<double>(number);
}

}  // namespace

bool is_other_bound(const Plan& plan, DType array) {
  const Operation& operation = plan.operation;
  const DType from = plan.input.dtype;
  if (is_floating(from)) return false;
  if (!operation.cast || operation.arithmetic == Arithmetic::integer) return array != from;
  const bool is_long = !is_floating(array) && traits(array).size == sizeof(double);
  if (is_long && operation.normalization && operation.normalization->stretches) return true;
  if (operation.arithmetic == Arithmetic::float64) return is_long;
  return is_floating(array) || !has_all(operation.dtype, array);
}

BoundArray::BoundArray(const Plan& plan, Parameter bound, std::size_t capacity)
    : plan_(plan), is_min_(bound == Parameter::min), values_(capacity), rests_(capacity) {
  const Operation& operation = plan.operation;
  const ArrayParameter* const array = plan.array(bound);
  const bool is_other = array != nullptr && is_other_bound(plan, array->array->layout().dtype);
  if (is_other && operation.cast) results_.resize(capacity);
  if (is_other && operation.cast && operation.arithmetic == Arithmetic::integer) wide_.resize(capacity);
  double rest = 0;
  const bool is_wide_open = operation.cast && operation.arithmetic == Arithmetic::integer;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::optional<Number>& exact = is_min_ ? plan.exact_min : plan.exact_max;
  const double value = is_wide_open && !exact
                           ? (is_min_ ? -kInfinity : kInfinity)
                           : number_at(exact, operation.dtype, is_min_ ? operation.lo : operation.hi, rest);
  std::ranges::fill(values_, value);
  std::ranges::fill(rests_, array == nullptr ? rest : 0);  // floats of an array have none

  input_end_ = output_end_ = is_min_ ? kInfinity : -kInfinity;
  const bool stretches = operation.normalization && operation.normalization->stretches;
  const auto end_of = [&](DType dtype, double& end_rest) {
    return number_at({}, dtype, is_min_ ? highest_element(dtype) : lowest_element(dtype), end_rest);
  };
  if (operation.arithmetic == Arithmetic::none && !stretches)
    input_end_ = end_of(plan.input.dtype, input_end_rest_);
  if (!operation.cast || is_floating(operation.to)) return;
  output_end_ = end_of(operation.to, rest) - static_cast<double>(operation.cast->zero_point.value());
}

void BoundArray::take_values(DType dtype, const std::byte* elements, std::size_t count) {
  if (is_float8(dtype)) {
    for (std::size_t i = 0; i < count; ++i)
      values_[i] = static_cast<double>(widened(dtype, std::to_integer<ElementBits>(elements[i])));
    return;
  }
  with_type(dtype, [&]<class T>() {
    const T* const from = reinterpret_cast<const T*>(elements);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (HalfType<T>)
        values_[i] = static_cast<double>(widen(from[i]));
      else
        values_[i] = static_cast<double>(from[i]);
      if constexpr (std::is_integral_v<T>) rests_[i] = rest_of(Int128{from[i]}, values_[i]);
    }
  });
}

void BoundArray::take(DType dtype, const std::byte* elements, std::size_t count, std::byte* compared) {
  const Operation& operation = plan_.operation;
  take_values(dtype, elements, count);
  if (!is_other_bound(plan_, dtype)) return;
  if (!operation.cast)
    return convert_elements(conversion(dtype, operation.dtype, Round::trunc), elements, compared, count);
  compare_exactly(dtype, elements, count, compared);
  Operation to = conversion(dtype, operation.to);
  const Cast& cast = *operation.cast;
  to.cast->round = cast.round;
  to.cast->zero_point = cast.zero_point;
  to.cast->saturates = cast.saturates;
  set_limits(to);
  const std::size_t size = traits(to.to).size;
  std::vector<std::byte> results(count * sizeof(ElementBits));
  convert_elements(to, elements, results.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    ElementBits bits = 0;
    with_size(size, [&]<std::size_t kSize>() {
      bits = reinterpret_cast<const UnsignedOfSize<kSize>*>(results.data())[i];
    });
    results_[i] = bits;
    if (!wide_.empty()) wide_[i].result = bits;
  }
}

/// Writes the nearest working elements within the exact bounds, or makes them integers of any size.
void BoundArray::compare_exactly(DType dtype, const std::byte* elements, std::size_t count,
                                 std::byte* compared) {
  switch (plan_.operation.arithmetic) {
    case Arithmetic::none:
      return convert_elements(conversion(dtype, plan_.operation.dtype, is_min_ ? Round::ceil : Round::floor),
                              elements, compared, count);
    case Arithmetic::float32:
    case Arithmetic::float64:
      for (std::size_t i = 0; i < count; ++i)
        reinterpret_cast<double*>(compared)[i] = within(values_[i], rests_[i], is_min_);
      return;
    case Arithmetic::integer:
      for (std::size_t i = 0; i < count; ++i)
        wide_[i] = {wide_of(std::ceil(values_[i]), rests_[i]), wide_of(std::floor(values_[i]), rests_[i])};
  }
}

void BoundArray::repeat(std::size_t period, std::size_t count) {
  const auto copy = [=](auto& values) {
    for (std::size_t i = period; i < count && !values.empty(); ++i) values[i] = values[i - period];
  };
  copy(values_);
  copy(rests_);
  copy(results_);
  copy(wide_);
}

bool BoundArray::is_beyond(std::size_t i) const {
  const double value = is_min_ ? std::floor(values_[i]) : std::ceil(values_[i]);
  if (is_min_)
    return value > output_end_ || value > input_end_ || (value == input_end_ && rests_[i] > input_end_rest_);
  return value < output_end_ || value < input_end_ || (value == input_end_ && rests_[i] < input_end_rest_);
}

std::string BoundArray::text(std::size_t i) const {
  if (std::isnan(values_[i])) return "nan";
  if (std::fabs(values_[i]) < kIntegersEnd || std::fabs(values_[i]) > 0x1p64)
    return element_text(DType::float64, to_bits(values_[i]));
  const auto integer =
      Operation::Integer::of(static_cast<Int128>(values_[i]) + static_cast<Int128>(rests_[i]));
  return (integer.negative ? "-" : "") + std::to_string(integer.magnitude);
}

}  // namespace clipper
