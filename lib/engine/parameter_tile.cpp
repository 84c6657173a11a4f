#include "engine/parameter_tile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "clip/clip.hpp"
#include "clip/convert.hpp"
#include "element/element.hpp"
#include "element/element_key.hpp"
#include "element/half.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// Returns `f.template operator()<T>()`, where T is the type of scale and bias. Not for Arithmetic::none.
template <class F>
decltype(auto) with_factor_type(Arithmetic arithmetic, F&& f) {
  switch (arithmetic) {
    case Arithmetic::none: break;
    case Arithmetic::float32: return f.template operator()<float>();
    case Arithmetic::float64: return f.template operator()<double>();
    case Arithmetic::integer: return f.template operator()<Operation::Integer>();
  }
  __builtin_unreachable();
}

/// An element of an array as a scale or a bias.
template <class To, class From>
To factor_of(From x) noexcept {
  if constexpr (std::is_same_v<To, Operation::Integer>) {
    const bool negative = std::is_signed_v<From> && x < From{};
    const auto bits = static_cast<std::uint64_t>(x);
    return {negative, negative ? 0 - bits : bits};
  } else if constexpr (HalfType<From>) {
    return static_cast<To>(widen(x));
  } else {
    return static_cast<To>(x);
  }
}

/// Converts `count` elements of an array. Operation::Integer is only for arrays of integers.
template <class To>
void convert_factors(DType dtype, const std::byte* from, std::size_t count, To* to) {
  with_reader(dtype, [&](auto at) {
    if constexpr (std::is_same_v<To, Operation::Integer> && !std::is_integral_v<decltype(at(from, 0))>)
      __builtin_unreachable();
    else
      for (std::size_t i = 0; i < count; ++i) to[i] = factor_of<To>(at(from, i));
  });
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

/// Whether elements of an array become others as bounds: floats have the dtype of bounds first.
bool is_converted(const Plan& plan, DType array) {
  return array != plan.operation.dtype || (is_floating(plan.input.dtype) && array != plan.bound_dtype);
}

}  // namespace

ParameterTile::ParameterTile(const Plan& plan, std::size_t capacity, std::size_t band_size)
    : plan_(plan),
      capacity_(capacity),
      band_size_(band_size),
      bounds_vary_(plan.arrays->find(Parameter::min) != nullptr ||
                   plan.arrays->find(Parameter::max) != nullptr) {
  allocate_bounds();
  if (plan.operation.arithmetic != Arithmetic::none) allocate_factors();
  if (const auto& normalization = plan.operation.normalization) {
    if (const ArrayParameter* const factors = plan.arrays->find(Parameter::max_norm))
      allocate(factor_, factors, 1.0);
    allocate(a_, plan.arrays->find(Parameter::subtract), normalization->a);
    allocate(b_, plan.arrays->find(Parameter::divide), normalization->b);
    const ArrayParameter* const a = plan.arrays->find(Parameter::subtract);
    const DType dtype = a == nullptr ? DType::float64 : a->array->layout().dtype;
    const bool is_long = !is_floating(dtype) && traits(dtype).size == sizeof(double);
    if ((is_long && !is_floating(plan.input.dtype)) || normalization->a_rest != 0)
      allocate(a_rest_, nullptr, normalization->a_rest);
  }
  const auto needs_memory = [&](const ArrayParameter& row) {
    return (row.parameter != Parameter::min && row.parameter != Parameter::max) ||
           is_converted(plan, row.array->layout().dtype);
  };
  const auto is_other = [&](const ArrayParameter& row) {
    return (row.parameter == Parameter::min || row.parameter == Parameter::max) &&
           is_other_bound(plan, row.array->layout().dtype);
  };
  const bool is_exact = std::ranges::any_of(plan.arrays->arrays, is_other);
  if (is_exact) exact_min_.emplace(plan, Parameter::min, capacity_);
  if (is_exact) exact_max_.emplace(plan, Parameter::max, capacity_);
  if (results_of_nan() != nullptr) allocate(nan_result_, nullptr, ElementBits{});
  if (is_exact || std::ranges::any_of(plan.arrays->arrays, needs_memory))
    raw_ = std::make_unique_for_overwrite<std::byte[]>(capacity_ * sizeof(ElementBits));
}

template <class F>
decltype(auto) ParameterTile::with_type_of(const Values& factor, F&& f) const {
  if (&factor == &factor_ || &factor == &a_ || &factor == &b_) return f.template operator()<double>();
  return with_factor_type(plan_.operation.arithmetic, f);
}

template <class T>
void ParameterTile::allocate(Values& values, const ArrayParameter* array, T number) {
  values.size = sizeof(T);
  values.memory = std::make_unique_for_overwrite<std::byte[]>(capacity_ * sizeof(T));
  if (array != nullptr)
    values.array.emplace(*plan_.arrays, *array, band_size_);
  else
    std::fill_n(values.as<T>(), capacity_, number);
}

void ParameterTile::allocate_bounds() {
  const Operation& operation = plan_.operation;
  const Broadcast& broadcast = *plan_.arrays;
  with_type(operation.dtype, [&]<class T>() {
    allocate(min_, broadcast.find(Parameter::min), from_bits<T>(operation.lo));
    allocate(max_, broadcast.find(Parameter::max), from_bits<T>(operation.hi));
    if (operation.nan) allocate(nan_, nullptr, from_bits<T>(*operation.nan));
  });
  if (operation.nan && broadcast.nan && broadcast.find(*broadcast.nan) != nullptr)
    nan_bound_ = *broadcast.nan == Parameter::min ? &min_ : &max_;
}

void ParameterTile::allocate_factors() {
  const Operation& operation = plan_.operation;
  const ArrayParameter* const scale = plan_.arrays->find(Parameter::scale);
  const ArrayParameter* const bias = plan_.arrays->find(Parameter::bias);
  with_factor_type(operation.arithmetic, [&]<class T>() {
    if constexpr (std::is_same_v<T, Operation::Integer>) {
      allocate(scale_, scale, operation.integer_scale);
      allocate(bias_, bias, operation.integer_bias);
    } else {
      allocate(scale_, scale, static_cast<T>(operation.scale));
      allocate(bias_, bias, static_cast<T>(operation.bias));
    }
  });
}

/// Casts of integer arithmetic exchange bounds themselves. Of other elements a max below min wins by itself.
bool ParameterTile::exchanges() const noexcept {
  if (exact_min_ && exchanges_exactly(plan_)) return true;
  return bounds_vary_ && plan_.arrays->min_above_max == MinAboveMax::min &&
         !(plan_.operation.cast && plan_.operation.arithmetic == Arithmetic::integer);
}

void ParameterTile::expand(std::uint64_t position, std::size_t count) {
  read(position, count);
  if (!exchanges()) return;
  refused_bound_ = first_refused_bound(count);
  exchange_bounds(count);
}

void ParameterTile::read(std::uint64_t position, std::size_t count) {
  far_.reset();
  if (exchanges()) restore_numbers(count);
  if (exact_min_) {
    read_exact_bound(min_, *exact_min_, position, count);
    read_exact_bound(max_, *exact_max_, position, count);
  } else {
    for (Values* const bound : {&min_, &max_})
      read_bound(*bound, position, count, !exchanges() && !has_lost_bounds(*bound));
  }
  if (nan_bound_ != nullptr) {
    std::memcpy(nan_.memory.get(), nan_bound_->expanded<std::byte>(), count * nan_.size);
    if (nan_result_.memory) std::copy_n(results_of_nan(), count, nan_result_.as<ElementBits>());
    if (has_lost_bounds(*nan_bound_)) widen_lost_bounds(count);
  }
  for (Values* const factor : {&scale_, &bias_, &factor_, &a_, &b_}) read_factor(*factor, position, count);
  if (plan_.operation.uses_bounds()) widen_bounds(count);
}

/// Makes these the widest bounds; for a step that needs finite ones, the other bound.
void ParameterTile::widen_lost_bounds(std::size_t count) {
  const bool is_min = nan_bound_ == &min_;
  const DType dtype = plan_.operation.dtype;
  with_type(dtype, [&]<class T>() {
    T* const bound = nan_bound_->as<T>();
    const T* const other = (is_min ? max_ : min_).expanded<T>();
    const T widest = from_bits<T>(is_min ? lowest_element(dtype) : highest_element(dtype));
    for (std::size_t i = 0; i < count; ++i)
      if (is_nan(bound[i])) bound[i] = plan_.operation.uses_bounds() ? other[i] : widest;
  });
}

/// Those that are arrays, for a step that calculates with them.
void ParameterTile::widen_bounds(std::size_t count) {
  if (exact_min_) {
    std::copy_n(exact_min_->values(), count, a_.as<double>());
    std::copy_n(exact_max_->values(), count, b_.as<double>());
    return;
  }
  const auto widen = [&](const Values& bound, const Values& to) {
    if (bound.array)
      convert_factors<double>(plan_.operation.dtype, bound.expanded<std::byte>(), count, to.as<double>());
  };
  widen(min_, a_);
  widen(max_, b_);
}

void ParameterTile::repeat(std::size_t period, std::size_t count) noexcept {
  if (exact_min_) exact_min_->repeat(period, count);
  if (exact_max_) exact_max_->repeat(period, count);
  for (const Values* const values :
       {&min_, &max_, &nan_, &nan_result_, &scale_, &bias_, &factor_, &a_, &b_, &a_rest_}) {
    if (!values->memory || values->lent != nullptr) continue;
    std::byte* const begin = values->memory.get();
    for (std::size_t done = period; done < count;) {  // twice as many each time
      const std::size_t length = std::min(done, count - done);
      std::memcpy(begin + done * values->size, begin, length * values->size);
      done += length;
    }
  }
}

std::optional<std::size_t> ParameterTile::first_refused(std::size_t count) const {
  std::optional<std::size_t> first;
  const auto note = [&](std::optional<std::size_t> index) {
    if (index && (!first || *index < *first)) first = index;
  };
  if (bounds_vary_) note(exchanges() ? refused_bound_ : first_refused_bound(count));
  for (const Values* const factor : {&scale_, &bias_, &a_, &b_}) note(first_refused_factor(*factor, count));
  if (plan_.operation.uses_bounds()) note(first_infinite_range(count));
  return first;
}

/// The array's own elements are used, not copied, if `lends`: if they are not changed.
void ParameterTile::read_bound(Values& bound, std::uint64_t position, std::size_t count, bool lends) {
  if (!bound.array) return;
  const TensorLayout& layout = bound.array->parameter().array->layout();
  if (is_converted(plan_, layout.dtype)) return read_other_bound(bound, position, count);
  bound.lent = lends ? bound.array->in_order(position) : nullptr;
  if (bound.lent != nullptr) return;
  bound.array->read(position, count, bound.memory.get());
}

/// Elements of another dtype are rounded to that of bounds, and become working elements.
void ParameterTile::read_other_bound(Values& bound, std::uint64_t position, std::size_t count) {
  bound.array->read(position, count, raw_.get());
  DType dtype = bound.array->parameter().array->layout().dtype;
  const std::byte* elements = raw_.get();
  std::vector<std::byte> rounded;
  if (is_floating(plan_.input.dtype) && dtype != plan_.bound_dtype) {
    rounded.resize(count * sizeof(ElementBits));
    static_cast<void>(convert(conversion(dtype, plan_.bound_dtype), nullptr, elements, rounded.data(), count,
                              Counting::off, simd_levels().back()));
    note_far(bound, dtype, rounded.data(), count);
    dtype = plan_.bound_dtype;
    elements = rounded.data();
  }
  if (dtype == plan_.operation.dtype) {
    std::memcpy(bound.memory.get(), elements, count * bound.size);
    return;
  }
  with_type(plan_.operation.dtype, [&]<class T>() {
    if constexpr (!HalfType<T>) convert_factors<T>(dtype, elements, count, bound.as<T>());
  });
}

void ParameterTile::read_exact_bound(Values& bound, BoundArray& exact, std::uint64_t position,
                                     std::size_t count) {
  if (!bound.array) return exact.restore(count);
  const DType dtype = bound.array->parameter().array->layout().dtype;
  if (!is_other_bound(plan_, dtype)) read_bound(bound, position, count, false);
  bound.array->read(position, count, raw_.get());
  exact.take(dtype, raw_.get(), count, bound.memory.get());
}

void ParameterTile::read_factor(Values& factor, std::uint64_t position, std::size_t count) {
  if (!factor.array) return;
  factor.array->read(position, count, raw_.get());
  with_type_of(factor, [&]<class T>() {
    convert_factors<T>(factor.array->parameter().array->layout().dtype, raw_.get(), count, factor.as<T>());
  });
  if (const auto& divisor = plan_.arrays->zero_divisor; divisor && &factor == &b_)
    std::replace(b_.as<double>(), b_.as<double>() + count, 0.0, *divisor);
  const DType dtype = factor.array->parameter().array->layout().dtype;
  if (&factor != &a_ || !a_rest_.memory || is_floating(dtype)) return;
  with_type(dtype, [&]<class From>() {
    if constexpr (std::is_integral_v<From>)
      for (std::size_t i = 0; i < count; ++i)
        a_rest_.as<double>()[i] =
            rest_of(Int128{reinterpret_cast<const From*>(raw_.get())[i]}, a_.as<double>()[i]);
  });
}

std::optional<std::size_t> ParameterTile::first_refused_exact_bound(std::size_t count) const {
  const bool refuses_order = plan_.arrays->min_above_max == MinAboveMax::error;
  return find_first(count, [&](std::size_t i) {
    return exact_min_->is_nan(i) || exact_max_->is_nan(i) || exact_min_->beyond(i) || exact_max_->beyond(i) ||
           (refuses_order && exact_min_->exceeds(*exact_max_, i));
  });
}

std::optional<std::size_t> ParameterTile::first_refused_bound(std::size_t count) const {
  if (exact_min_) return first_refused_exact_bound(count);
  const auto refused = with_type(plan_.operation.dtype, [&]<class T>() {
    const T* const min = min_.expanded<T>();
    const T* const max = max_.expanded<T>();
    const std::byte* const bytes[] = {min_.expanded<std::byte>(), max_.expanded<std::byte>()};
    if (are_ordered_bounds(plan_.operation.dtype, bytes[0], bytes[1], count, simd_levels().back()))
      return first_beyond_output<T>(count);
    const bool refuses_order = plan_.arrays->min_above_max == MinAboveMax::error && are_both_given();
    if (plan_.arrays->takes_nan)
      return find_first(
          count, [=](std::size_t i) { return refuses_order && comparable(min[i]) > comparable(max[i]); });
    if (refuses_order)
      return find_first(count, [=](std::size_t i) { return !(comparable(min[i]) <= comparable(max[i])); });
    const auto nan = find_first(count, [=](std::size_t i) { return is_nan(min[i]) || is_nan(max[i]); });
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
    const T* const min = min_.expanded<T>();
    const T* const max = max_.expanded<T>();
    const auto is_exempt = [=](T bound) {
      return takes_infinity &&
             (bound == from_bits<T>(lowest_element(dtype)) || bound == from_bits<T>(highest_element(dtype)));
    };
    return find_first(count, [=](std::size_t i) {
      return (min[i] > highest && !is_exempt(min[i])) || (max[i] < lowest && !is_exempt(max[i]));
    });
  }
}

/// The same for the first element.
bool ParameterTile::is_beyond_output() const {
  return with_type(plan_.operation.dtype, [&]<class T>() { return first_beyond_output<T>(1).has_value(); });
}

std::optional<std::size_t> ParameterTile::first_refused_factor(const Values& factor,
                                                               std::size_t count) const {
  if (!factor.array) return std::nullopt;
  return with_type_of(factor, [&]<class T>() -> std::optional<std::size_t> {
    if constexpr (std::is_same_v<T, Operation::Integer>)
      return std::nullopt;
    else {
      const T* const values = factor.as<T>();
      const bool divides = (&factor == &scale_ && plan_.operation.divides) || &factor == &b_;
      return find_first(count, [=](std::size_t i) {
        return !(std::fabs(values[i]) <= std::numeric_limits<T>::max()) || (divides && values[i] == 0);
      });
    }
  });
}

/// Bounds whose distance is no number.
std::optional<std::size_t> ParameterTile::first_infinite_range(std::size_t count) const {
  const double* const min = a_.as<double>();
  const double* const max = b_.as<double>();
  // The difference from an infinite bound is infinite or NaN.
  return find_first(count, [=](std::size_t i) {
    return !(std::fabs(max[i] - min[i]) <= std::numeric_limits<double>::max());
  });
}

/// Where min exceeds max, every element except NaN becomes one of them: as by convert_bounds() for numbers.
void ParameterTile::exchange_bounds(std::size_t count) {
  if (exact_min_ && exchanges_exactly(plan_)) {
    const bool min_wins = plan_.arrays->min_above_max == MinAboveMax::min;
    for (std::size_t i = 0; i < count; ++i) {
      if (!exact_min_->exceeds(*exact_max_, i)) continue;
      if (min_wins)
        exact_max_->become(*exact_min_, i, max_.memory.get());
      else
        exact_min_->become(*exact_max_, i, min_.memory.get());
    }
    return;
  }
  with_type(plan_.operation.dtype, [&]<class T>() {
    T* const min = min_.as<T>();
    T* const max = max_.as<T>();
    const T highest = from_bits<T>(highest_element(plan_.operation.dtype));
    for (std::size_t i = 0; i < count; ++i) {
      if (!(comparable(min[i]) > comparable(max[i]))) continue;
      max[i] = min[i];
      min[i] = highest;
    }
  });
}

/// Writes a bound that is a number again, because exchange_bounds() may have overwritten it.
void ParameterTile::restore_numbers(std::size_t count) {
  with_type(plan_.operation.dtype, [&]<class T>() {
    if (!min_.array) std::fill_n(min_.as<T>(), count, from_bits<T>(plan_.operation.lo));
    if (!max_.array) std::fill_n(max_.as<T>(), count, from_bits<T>(plan_.operation.hi));
  });
}

bool ParameterTile::has_in_band(std::uint64_t position) const noexcept {
  const std::array all{&min_, &max_, &scale_, &bias_, &a_, &b_};
  return std::ranges::any_of(
      all, [=](const Values* values) { return values->array && values->array->has_in_band(position); });
}

ParameterVectors ParameterTile::vectors(std::size_t first) const noexcept {
  const auto from = [=](const Values& values) -> const std::byte* {
    return values.memory ? values.expanded<std::byte>() + first * values.size : nullptr;
  };
  ParameterVectors vectors{
      .lo = from(min_),
      .hi = from(max_),
      .nan = from(nan_),
      .scale = from(scale_),
      .bias = from(bias_),
      .factor = from(factor_),
      .a = from(a_),
      .b = from(b_),
      .a_rest = from(a_rest_),
      .nan_result = nan_result_.memory ? nan_result_.as<ElementBits>() + first : nullptr};
  if (!exact_min_) return vectors;
  const auto moved = [=](const auto* values) { return values == nullptr ? nullptr : values + first; };
  vectors.min = moved(exact_min_->results());
  vectors.max = moved(exact_max_->results());
  vectors.wide_lo = moved(exact_min_->wide());
  vectors.wide_hi = moved(exact_max_->wide());
  if (!plan_.operation.uses_bounds()) return vectors;
  vectors.a_rest = reinterpret_cast<const std::byte*>(exact_min_->rests() + first);
  vectors.b_rest = reinterpret_cast<const std::byte*>(exact_max_->rests() + first);
  return vectors;
}

Operation ParameterTile::operation() const noexcept {
  Operation operation = plan_.operation;
  with_type(operation.dtype, [&]<class T>() {
    operation.lo = to_bits(*min_.expanded<T>());
    operation.hi = to_bits(*max_.expanded<T>());
    if (operation.nan) operation.nan = to_bits(*nan_.as<T>());
  });
  if (operation.normalization) {
    if (factor_.memory) operation.normalization->factor = *factor_.as<double>();
    operation.normalization->a = *a_.as<double>();
    operation.normalization->b = *b_.as<double>();
    if (a_rest_.memory) operation.normalization->a_rest = *a_rest_.as<double>();
  }
  if (exact_min_) set_exact_bounds(operation);
  if (operation.arithmetic == Arithmetic::none) return operation;
  with_factor_type(operation.arithmetic, [&]<class T>() {
    if constexpr (std::is_same_v<T, Operation::Integer>) {
      operation.integer_scale = *scale_.as<T>();
      operation.integer_bias = *bias_.as<T>();
    } else {
      operation.scale = *scale_.as<T>();
      operation.bias = *bias_.as<T>();
    }
  });
  return operation;
}

/// The exact bounds of the first element.
void ParameterTile::set_exact_bounds(Operation& operation) const {
  if (!operation.cast) return;
  Cast& cast = *operation.cast;
  if (const ElementBits* const result = exact_min_->results()) cast.min = *result;
  if (const ElementBits* const result = exact_max_->results()) cast.max = *result;
  if (nan_result_.memory) cast.nan = *nan_result_.as<ElementBits>();
  if (const WideBound* const wide = exact_min_->wide()) cast.wide.lo = *wide;
  if (const WideBound* const wide = exact_max_->wide()) cast.wide.hi = *wide;
  if (exact_min_->wide() != nullptr) cast.wide.lo_varies = false;
  if (exact_max_->wide() != nullptr) cast.wide.hi_varies = false;
  if (!operation.uses_bounds()) return;
  operation.normalization->a_rest = *exact_min_->rests();
  operation.normalization->b_rest = *exact_max_->rests();
}

}  // namespace clipper
