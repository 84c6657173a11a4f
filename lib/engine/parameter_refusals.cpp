#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "clip/clip.hpp"
#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "engine/parameter_tile.hpp"
#include "error.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

Message label_of(const ArrayReader& array) {
  const std::string_view field = name_of(array.parameter().parameter);
  return Term{field, field} + Message(" " + array.parameter().text);
}

/// " at [0, 3]": the place in the array of the element for the tensor's element at `position`.
std::string place_in(const ArrayReader& array, std::uint64_t position) {
  return " at " + index_text(array.parameter().array->layout(), array.offset_of(position));
}

/// The index of the first element for which `is_refused` is true; blocks are tested by loops that vectorize.
template <class IsRefused>
std::optional<std::size_t> find_first(std::size_t count, const IsRefused& is_refused) {
  constexpr std::size_t kBlock = 1024;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, count);
    bool any = false;
    for (std::size_t i = begin; i < end; ++i) any |= is_refused(i);
    for (std::size_t i = begin; any && i < end; ++i)
      if (is_refused(i)) return i;
  }
  return std::nullopt;
}

}  // namespace

/// find_first() among the elements that the plan is for.
template <class IsRefused>
std::optional<std::size_t> ParameterTile::find_own(std::size_t count, const IsRefused& is_refused) const {
  if (!missing_) return find_first(count, is_refused);
  return find_first(count,
                    [&](std::size_t i) { return sets_[i] == std::byte{plan_.missing} && is_refused(i); });
}

std::optional<std::size_t> ParameterTile::first_refused(std::size_t count) const {
  std::optional<std::size_t> first;
  const auto note = [&](std::optional<std::size_t> index) {
    if (index && (!first || *index < *first)) first = index;
  };
  if (bounds_vary_) note(exchanges() ? refused_bound_ : first_refused_bound(count));
  for (const Slot factor : kRefusedFactors) note(first_refused_factor(factor, count));
  if (plan_.operation.uses_bounds()) note(first_infinite_range(count));
  return first;
}

std::optional<std::size_t> ParameterTile::first_refused_exact_bound(std::size_t count) const {
  const bool refuses_order = plan_.arrays->min_above_max == MinAboveMax::error;
  return find_own(count, [&](std::size_t i) {
    return exact_min_->is_nan(i) || exact_max_->is_nan(i) || exact_min_->beyond(i) || exact_max_->beyond(i) ||
           (refuses_order && exact_min_->exceeds(*exact_max_, i));
  });
}

std::optional<std::size_t> ParameterTile::first_refused_bound(std::size_t count) const {
  if (exact_min_) return first_refused_exact_bound(count);
  const auto refused = with_type(plan_.operation.dtype, [&]<class T>() {
    const T* const min = of(Slot::lo).expanded<T>();
    const T* const max = of(Slot::hi).expanded<T>();
    if (are_ordered_bounds(plan_.operation.dtype, of(Slot::lo).expanded<std::byte>(),
                           of(Slot::hi).expanded<std::byte>(), count, simd_levels().back()))
      return first_beyond_output<T>(count);
    const bool refuses_order = plan_.arrays->min_above_max == MinAboveMax::error && are_both_given();
    if (plan_.arrays->takes_nan)
      return find_own(
          count, [=](std::size_t i) { return refuses_order && comparable(min[i]) > comparable(max[i]); });
    if (refuses_order)
      return find_own(count, [=](std::size_t i) { return !(comparable(min[i]) <= comparable(max[i])); });
    const auto nan = find_own(count, [=](std::size_t i) { return is_nan(min[i]) || is_nan(max[i]); });
    const auto beyond = first_beyond_output<T>(count);
    return nan && beyond ? std::min(nan, beyond) : nan ? nan : beyond;
  });
  return far_ && (!refused || *far_ < *refused) ? far_ : refused;
}

/// A min above, or a max below, all elements of the output's dtype.
template <class T>
std::optional<std::size_t> ParameterTile::first_beyond_output(std::size_t count) const {
  if constexpr (HalfType<T>)
    return std::nullopt;
  else {
    const Operation& operation = plan_.operation;
    if (!operation.cast) return std::nullopt;
    const DType dtype = operation.dtype;
    const bool takes_infinity = std::is_floating_point_v<T> && traits(operation.to).has_infinity;
    const T lowest = from_bits<T>(operation.cast->lowest);
    const T highest = from_bits<T>(operation.cast->highest);
    const T* const min = of(Slot::lo).expanded<T>();
    const T* const max = of(Slot::hi).expanded<T>();
    const auto is_exempt = [=](T bound) {
      return takes_infinity &&
             (bound == from_bits<T>(lowest_element(dtype)) || bound == from_bits<T>(highest_element(dtype)));
    };
    return find_own(count, [=](std::size_t i) {
      return (min[i] > highest && !is_exempt(min[i])) || (max[i] < lowest && !is_exempt(max[i]));
    });
  }
}

/// The same for the first element.
bool ParameterTile::is_beyond_output() const {
  return with_type(plan_.operation.dtype, [&]<class T>() { return first_beyond_output<T>(1).has_value(); });
}

std::optional<std::size_t> ParameterTile::first_refused_factor(Slot factor, std::size_t count) const {
  if (!of(factor).array) return std::nullopt;
  return with_factor_type(factor, [&]<class T>() -> std::optional<std::size_t> {
    if constexpr (!std::is_floating_point_v<T>)
      return std::nullopt;
    else {
      const T* const values = of(factor).as<T>();
      const bool divides = (factor == Slot::scale && plan_.operation.divides) || factor == Slot::b;
      return find_own(count, [=](std::size_t i) {
        return !(std::fabs(values[i]) <= std::numeric_limits<T>::max()) || (divides && values[i] == 0);
      });
    }
  });
}

/// Bounds whose distance is no number.
std::optional<std::size_t> ParameterTile::first_infinite_range(std::size_t count) const {
  const Values& min = of(Slot::a);
  const Values& max = of(Slot::b);
  const auto head = [](const Values& values, std::size_t i) {
    return *reinterpret_cast<const double*>(values.own + i * values.size);
  };
  // The difference from an infinite bound is infinite or NaN.
  return find_own(count, [&](std::size_t i) {
    return !(std::fabs(head(max, i) - head(min, i)) <= std::numeric_limits<double>::max());
  });
}

/// Notes the first finite min that is rounded to infinity, or max to -infinity, between which and the other
/// infinity lies no finite element. `rounded`: the elements of `raw_` as those of bounds.
void ParameterTile::note_far(Slot bound, DType dtype, const std::byte* rounded, std::size_t count) {
  const DType to = plan_.bound_dtype;
  if (!traits(to).has_infinity) return;
  const ElementBits refused = bound == Slot::lo ? highest_element(to) : lowest_element(to);
  const auto is_finite = [&](std::size_t i) {
    const ElementBits element = with_size(traits(dtype).size, [&]<std::size_t kSize>() -> ElementBits {
      return reinterpret_cast<const UnsignedOfSize<kSize>*>(raw_.get())[i];
    });
    return number_of(dtype, element).kind == Number::Kind::finite;
  };
  with_size(traits(to).size, [&]<std::size_t kSize>() {
    const auto* const elements = reinterpret_cast<const UnsignedOfSize<kSize>*>(rounded);
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) any |= elements[i] == refused;
    for (std::size_t i = 0; any && i < count && (!far_ || i < *far_); ++i)
      if (elements[i] == refused && is_finite(i)) far_ = i;
  });
}

/// False if one is a limit of the integers of the input, which no bound exceeds.
bool ParameterTile::are_both_given() const {
  if (!has_exact_bounds(plan_)) return true;
  return (of(Slot::lo).array || plan_.exact_min) && (of(Slot::hi).array || plan_.exact_max);
}

void ParameterTile::refuse(std::uint64_t position) {
  read(position, 1);
  if (far_) {  // with its number
    exact_min_.emplace(plan_, ParameterId::min, 1);
    exact_max_.emplace(plan_, ParameterId::max, 1);
    read(position, 1);
  }
  refuse_bounds(position);
  for (const Slot factor : kRefusedFactors) refuse_factor(factor, position);
}

void ParameterTile::refuse_nan(Slot slot, std::uint64_t position) const {
  const Values& bound = of(slot);
  if (!bound.array || plan_.arrays->takes_nan) return;
  const bool has_nan =
      exact_min_ ? exact(slot).is_nan(0)
                 : with_type(plan_.operation.dtype, [&]<class T>() { return is_nan(*bound.expanded<T>()); });
  if (has_nan)
    throw Error(ErrorKind::usage,
                label_of(*bound.array) + ": NaN" + place_in(*bound.array, position) + " cannot be a bound");
}

void ParameterTile::refuse_bounds(std::uint64_t position) const {
  const DType dtype = plan_.operation.dtype;
  const auto text = [&](Slot bound) {
    if (exact_min_) return exact(bound).text(0);
    return with_type(dtype,
                     [&]<class T>() { return element_text(dtype, to_bits(*of(bound).expanded<T>())); });
  };
  const auto quoted = [&](Slot bound) {
    const ParameterId parameter = bound == Slot::lo ? ParameterId::min : ParameterId::max;
    const std::string_view field = name_of(parameter);
    const std::optional<Number>& number = bound == Slot::lo ? plan_.exact_min : plan_.exact_max;
    return of(bound).array
               ? label_of(*of(bound).array) + (" (" + text(bound) + ")")
               : Term{field, field} +
                     Message(" " + (number ? decimal_text(*number) : bound_text(plan_, parameter)));
  };
  for (const Slot bound : kBounds) refuse_nan(bound, position);
  if (!bounds_vary_) return;
  const std::string at = " at " + index_text(plan_.input, position);
  if (!first_refused_bound(1)) {
    if (plan_.operation.uses_bounds() && first_infinite_range(1))
      throw Error(ErrorKind::usage, no_range(quoted(Slot::lo), quoted(Slot::hi) + at));
    return;
  }
  if (exact_min_)
    for (const Slot bound : kBounds)
      if (const std::optional<DType> beyond = exact(bound).beyond(0))
        throw Error(ErrorKind::usage,
                    quoted(bound) + at + " is beyond the range of " + std::string(traits(*beyond).name));
  if (!exact_min_ && is_beyond_output()) {
    const bool is_min = with_type(dtype, [&]<class T>() {
      return comparable(*of(Slot::lo).expanded<T>()) >
             comparable(from_bits<T>(plan_.operation.cast->highest));
    });
    throw Error(ErrorKind::usage, quoted(is_min ? Slot::lo : Slot::hi) + at + " is beyond the range of " +
                                      std::string(traits(plan_.operation.to).name));
  }
  throw Error(ErrorKind::usage,
              quoted(Slot::lo) + " exceeds " + quoted(Slot::hi) + at + order_advice(plan_.operation));
}

void ParameterTile::refuse_factor(Slot slot, std::uint64_t position) {
  if (!first_refused_factor(slot, 1)) return;
  Values& factor = of(slot);
  factor.array->read(position, 1, raw_.get());
  const TensorLayout& header = factor.array->parameter().array->layout();
  const auto element = with_size(traits(header.dtype).size, [&]<std::size_t kSize>() -> ElementBits {
    return *reinterpret_cast<const UnsignedOfSize<kSize>*>(raw_.get());
  });
  const bool is_nan = number_of(header.dtype, element).kind == Number::Kind::nan;
  const std::string text = is_nan ? "NaN" : element_text(header.dtype, element);
  const bool is_float32 =
      slot != Slot::a && slot != Slot::b && plan_.operation.arithmetic == Arithmetic::float32;
  const bool is_zero = text == "0" || text == "-0";
  throw Error(is_zero && slot == Slot::b ? ErrorKind::input : ErrorKind::usage,
              label_of(*factor.array) + ": " + text + place_in(*factor.array, position) +
                  (is_zero ? " is not a divisor, as a " : " is not a finite ") +
                  (is_float32 ? "float32" : "float64") + " number");
}

}  // namespace clipper
