#include "engine/parameter_tile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "clip/clip.hpp"
#include "contract/bounds.hpp"
#include "element/comparable.hpp"
#include "element/element.hpp"
#include "element/float8.hpp"
#include "element/half.hpp"
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
  if (is_float8(dtype)) {
    if constexpr (!std::is_same_v<To, Operation::Integer>)
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<To>(widened(dtype, std::to_integer<ElementBits>(from[i])));
    return;
  }
  with_type(dtype, [&]<class From>() {
    if constexpr (std::is_same_v<To, Operation::Integer> && !std::is_integral_v<From>) {
      __builtin_unreachable();
    } else {
      const From* const elements = reinterpret_cast<const From*>(from);
      for (std::size_t i = 0; i < count; ++i) to[i] = factor_of<To>(elements[i]);
    }
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

Message label_of(const ArrayReader& array) {
  const std::string_view field = name_of(array.parameter().parameter);
  return Term{field, field} + Message(" " + array.parameter().text);
}

/// " at [0, 3]": the place in the array of the element for the tensor's element at `position`.
std::string place_in(const ArrayReader& array, std::uint64_t position) {
  return " at " + index_text(array.parameter().array->layout(), array.offset_of(position));
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
    allocate(a_, plan.arrays->find(Parameter::subtract), normalization->a);
    allocate(b_, plan.arrays->find(Parameter::divide), normalization->b);
  }
  const auto is_converted = [&](const ArrayParameter& row) {
    return (row.parameter != Parameter::min && row.parameter != Parameter::max) ||
           row.array->layout().dtype != plan.operation.dtype;
  };
  if (std::ranges::any_of(plan.arrays->arrays, is_converted))
    raw_ = std::make_unique_for_overwrite<std::byte[]>(capacity_ * sizeof(ElementBits));
}

template <class F>
decltype(auto) ParameterTile::with_type_of(const Values& factor, F&& f) const {
  if (&factor == &a_ || &factor == &b_) return f.template operator()<double>();
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

/// Casts of integer arithmetic exchange bounds themselves.
bool ParameterTile::exchanges() const noexcept {
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
  if (exchanges()) restore_numbers(count);
  for (Values* const bound : {&min_, &max_}) read_bound(*bound, position, count, !exchanges());
  if (nan_bound_ != nullptr)
    std::memcpy(nan_.memory.get(), nan_bound_->expanded<std::byte>(), count * nan_.size);
  for (Values* const factor : {&scale_, &bias_, &a_, &b_}) read_factor(*factor, position, count);
  if (plan_.operation.normalization && plan_.operation.normalization->stretches) widen_bounds(count);
}

/// Those that are arrays, for a stretch.
void ParameterTile::widen_bounds(std::size_t count) {
  const auto widen = [&](const Values& bound, const Values& to) {
    if (bound.array)
      convert_factors<double>(plan_.operation.dtype, bound.expanded<std::byte>(), count, to.as<double>());
  };
  widen(min_, a_);
  widen(max_, b_);
}

void ParameterTile::repeat(std::size_t period, std::size_t count) noexcept {
  for (const Values* const values : {&min_, &max_, &nan_, &scale_, &bias_, &a_, &b_}) {
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
  if (plan_.operation.normalization && plan_.operation.normalization->stretches)
    note(first_infinite_range(count));
  return first;
}

/// The array's own elements are used, not copied, if `lends`: if they are not changed.
void ParameterTile::read_bound(Values& bound, std::uint64_t position, std::size_t count, bool lends) {
  if (!bound.array) return;
  const TensorLayout& layout = bound.array->parameter().array->layout();
  if (layout.dtype != plan_.operation.dtype) return read_other_bound(bound, position, count);
  bound.lent = lends ? bound.array->in_order(position) : nullptr;
  if (bound.lent != nullptr) return;
  bound.array->read(position, count, bound.memory.get());
}

/// Elements of another dtype become working elements.
void ParameterTile::read_other_bound(Values& bound, std::uint64_t position, std::size_t count) {
  bound.array->read(position, count, raw_.get());
  with_type(plan_.operation.dtype, [&]<class T>() {
    if constexpr (!HalfType<T>)
      convert_factors<T>(bound.array->parameter().array->layout().dtype, raw_.get(), count, bound.as<T>());
  });
}

void ParameterTile::read_factor(Values& factor, std::uint64_t position, std::size_t count) {
  if (!factor.array) return;
  factor.array->read(position, count, raw_.get());
  with_type_of(factor, [&]<class T>() {
    convert_factors<T>(factor.array->parameter().array->layout().dtype, raw_.get(), count, factor.as<T>());
  });
}

std::optional<std::size_t> ParameterTile::first_refused_bound(std::size_t count) const {
  return with_type(plan_.operation.dtype, [&]<class T>() {
    const T* const min = min_.expanded<T>();
    const T* const max = max_.expanded<T>();
    const std::byte* const bytes[] = {min_.expanded<std::byte>(), max_.expanded<std::byte>()};
    if (are_ordered_bounds(plan_.operation.dtype, bytes[0], bytes[1], count, simd_levels().back()))
      return first_beyond_output<T>(count);
    const bool refuses_order = plan_.arrays->min_above_max == MinAboveMax::error;
    if (plan_.arrays->takes_nan)
      return find_first(
          count, [=](std::size_t i) { return refuses_order && comparable(min[i]) > comparable(max[i]); });
    if (refuses_order)
      return find_first(count, [=](std::size_t i) { return !(comparable(min[i]) <= comparable(max[i])); });
    const auto nan = find_first(count, [=](std::size_t i) { return is_nan(min[i]) || is_nan(max[i]); });
    const auto beyond = first_beyond_output<T>(count);
    return nan && beyond ? std::min(nan, beyond) : nan ? nan : beyond;
  });
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

/// Bounds between which nothing can be stretched.
std::optional<std::size_t> ParameterTile::first_infinite_range(std::size_t count) const {
  const double* const min = a_.as<double>();
  const double* const max = b_.as<double>();
  // The difference from an infinite bound is infinite or NaN.
  return find_first(count, [=](std::size_t i) {
    return !(std::fabs(max[i] - min[i]) <= std::numeric_limits<double>::max());
  });
}

/// Where min exceeds max, every element except NaN becomes min: as by convert_bounds() for numbers.
void ParameterTile::exchange_bounds(std::size_t count) {
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
  return {from(min_), from(max_), from(nan_), from(scale_), from(bias_), from(a_), from(b_)};
}

Operation ParameterTile::operation() const noexcept {
  Operation operation = plan_.operation;
  with_type(operation.dtype, [&]<class T>() {
    operation.lo = to_bits(*min_.expanded<T>());
    operation.hi = to_bits(*max_.expanded<T>());
    if (operation.nan) operation.nan = to_bits(*nan_.as<T>());
  });
  if (operation.normalization) {
    operation.normalization->a = *a_.as<double>();
    operation.normalization->b = *b_.as<double>();
  }
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

void ParameterTile::refuse(std::uint64_t position) {
  read(position, 1);
  refuse_bounds(position);
  for (Values* const factor : {&scale_, &bias_, &a_, &b_}) refuse_factor(*factor, position);
}

void ParameterTile::refuse_bounds(std::uint64_t position) const {
  const DType dtype = plan_.operation.dtype;
  const auto text = [&](const Values& bound) {
    return with_type(dtype, [&]<class T>() { return element_text(dtype, to_bits(*bound.expanded<T>())); });
  };
  const auto quoted = [&](const Values& bound, Parameter parameter) {
    const std::string_view field = name_of(parameter);
    return bound.array ? label_of(*bound.array) + (" (" + text(bound) + ")")
                       : Term{field, field} + Message(" " + bound_text(plan_, parameter));
  };
  for (const Values* const bound : {&min_, &max_})
    if (bound->array && !plan_.arrays->takes_nan &&
        with_type(dtype, [&]<class T>() { return is_nan(*bound->expanded<T>()); }))
      throw Error(ErrorKind::usage, label_of(*bound->array) + ": NaN" + place_in(*bound->array, position) +
                                        " cannot be a bound");
  if (!bounds_vary_) return;
  const std::string at = " at " + index_text(plan_.input, position);
  if (!first_refused_bound(1)) {
    const auto& normalization = plan_.operation.normalization;
    if (normalization && normalization->stretches && first_infinite_range(1))
      throw Error(ErrorKind::usage, Term{"stretch", "stretch"} + Message(": from ") +
                                        quoted(min_, Parameter::min) + " to " + quoted(max_, Parameter::max) +
                                        at + " is not a finite float64 number");
    return;
  }
  if (with_type(dtype, [&]<class T>() { return first_beyond_output<T>(1); })) {
    const bool is_min = with_type(dtype, [&]<class T>() {
      return comparable(*min_.expanded<T>()) > comparable(from_bits<T>(plan_.operation.cast->highest));
    });
    throw Error(ErrorKind::usage, (is_min ? quoted(min_, Parameter::min) : quoted(max_, Parameter::max)) +
                                      at + " is beyond the range of " +
                                      std::string(traits(plan_.operation.to).name));
  }
  throw Error(ErrorKind::usage, quoted(min_, Parameter::min) + " exceeds " + quoted(max_, Parameter::max) +
                                    at + order_advice(plan_.operation));
}

void ParameterTile::refuse_factor(Values& factor, std::uint64_t position) {
  if (!first_refused_factor(factor, 1)) return;
  factor.array->read(position, 1, raw_.get());
  const TensorLayout& header = factor.array->parameter().array->layout();
  const auto element = with_size(traits(header.dtype).size, [&]<std::size_t kSize>() -> ElementBits {
    return *reinterpret_cast<const UnsignedOfSize<kSize>*>(raw_.get());
  });
  const bool is_nan = number_of(header.dtype, element).kind == Number::Kind::nan;
  const std::string text = is_nan ? "NaN" : element_text(header.dtype, element);
  const bool is_float32 =
      &factor != &a_ && &factor != &b_ && plan_.operation.arithmetic == Arithmetic::float32;
  const bool is_zero = text == "0" || text == "-0";
  throw Error(is_zero && &factor == &b_ ? ErrorKind::input : ErrorKind::usage,
              label_of(*factor.array) + ": " + text + place_in(*factor.array, position) +
                  (is_zero ? " is not a divisor, as a " : " is not a finite ") +
                  (is_float32 ? "float32" : "float64") + " number");
}

}  // namespace clipper
