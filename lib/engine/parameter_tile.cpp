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
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr Slot slot_of(ParameterId parameter) {
  return static_cast<Slot>(parameter);
}
static_assert(slot_of(ParameterId::max) == Slot::hi && slot_of(ParameterId::bias) == Slot::bias &&
              slot_of(ParameterId::divide) == Slot::b && slot_of(ParameterId::max_norm) == Slot::factor &&
              slot_of(ParameterId::nan) == Slot::nan_result &&
              slot_of(ParameterId::nodata_to) == Slot::nodata);

/// Calls f(number) with what the operation has for a slot: ElementBits for an element, a DoubleDouble
/// also where kernels take a float, a double or an integer.
template <class Any, class F>
void with_number(Any& operation, Slot slot, const F& f) {
  switch (slot) {
    case Slot::lo: return f(operation.lo);
    case Slot::hi: return f(operation.hi);
    case Slot::nan: return f(*operation.nan);
    case Slot::scale: return f(operation.scale);
    case Slot::bias: return f(operation.bias);
    case Slot::a: return f(operation.normalization->a);
    case Slot::b: return f(operation.normalization->b);
    case Slot::factor: return f(operation.normalization->factor);
    case Slot::below: return f(operation.cast->below);
    case Slot::above: return f(operation.cast->above);
    case Slot::nodata: return;
    case Slot::min: return f(operation.cast->min);
    case Slot::max: return f(operation.cast->max);
    case Slot::nan_result: return f(operation.cast->nan);
    case Slot::wide_lo: return f(operation.cast->wide.lo);
    case Slot::wide_hi: return f(operation.cast->wide.hi);
  }
}

/// An element of an array, or a number of the operation, as a kernel takes it.
template <class To, class From>
To factor_of(From x) noexcept {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (std::is_same_v<From, DoubleDouble>) {
    if constexpr (std::is_same_v<To, SignedInteger>)
      return SignedInteger::of(x);
    else
      return static_cast<To>(x.head);
  } else if constexpr (std::is_same_v<To, DoubleDouble> && std::is_integral_v<From>) {
    return DoubleDouble::of(x);
  } else if constexpr (std::is_same_v<To, SignedInteger>) {
    const bool negative = std::is_signed_v<From> && x < From{};
    const auto bits = static_cast<std::uint64_t>(x);
    return {negative, negative ? 0 - bits : bits};
  } else if constexpr (HalfType<From>) {
    return static_cast<To>(widen(x));
  } else {
    return static_cast<To>(x);
  }
}

/// Converts `count` elements of an array. SignedInteger is only for arrays of integers.
template <class To>
void convert_factors(DType dtype, const std::byte* from, std::size_t count, To* to) {
  with_reader(dtype, [&](auto at) {
    if constexpr (std::is_same_v<To, SignedInteger> && !std::is_integral_v<decltype(at(from, 0))>)
      __builtin_unreachable();
    else
      for (std::size_t i = 0; i < count; ++i) to[i] = factor_of<To>(at(from, i));
  });
}

/// Whether elements of an array become others as bounds: floats have the dtype of bounds first.
bool is_converted(const Plan& plan, DType array) {
  return array != plan.operation.dtype || (is_floating(plan.input.dtype) && array != plan.bound_dtype);
}

}  // namespace

ParameterTile::ParameterTile(const Plan& plan, std::size_t capacity, std::size_t band_size)
    : plan_(plan),
      capacity_(capacity),
      bounds_vary_(plan.arrays->find(ParameterId::min) != nullptr ||
                   plan.arrays->find(ParameterId::max) != nullptr) {
  const Broadcast& arrays = *plan.arrays;
  if (plan.operation.nan && arrays.nan && arrays.find(*arrays.nan) != nullptr)
    nan_bound_ = slot_of(*arrays.nan);
  for (const ArrayParameter& row : arrays.arrays) {
    const bool is_element = row.parameter == ParameterId::nan && !plan.operation.cast;  // NaT
    of(is_element ? Slot::nan : slot_of(row.parameter)).array.emplace(arrays, row, band_size);
  }
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    if (is_needed(static_cast<Slot>(slot))) allocate(static_cast<Slot>(slot));
  const auto is_bound = [](const ArrayParameter& row) {
    return row.parameter == ParameterId::min || row.parameter == ParameterId::max;
  };
  const bool is_exact = std::ranges::any_of(arrays.arrays, [&](const ArrayParameter& row) {
    return is_bound(row) && is_other_bound(plan, row.array->layout().dtype);
  });
  if (is_exact) allocate_exact();
  if (plan.missing_figures) {
    missing_.emplace(*plan.missing_figures, plan.missing_figures->arrays.front(), 0);
    sets_.resize(capacity_);
  }
  if (is_exact || std::ranges::any_of(arrays.arrays, [&](const ArrayParameter& row) {
        return !is_bound(row) || is_converted(plan, row.array->layout().dtype);
      }))
    raw_ = std::make_unique_for_overwrite<std::byte[]>(capacity_ * sizeof(ElementBits));
}

/// Whether numbers of the slot may be integers that float64 lacks.
bool ParameterTile::has_rests(Slot slot) const {
  if (slot != Slot::a && slot != Slot::b) return false;
  if (exact_min_ && plan_.operation.uses_bounds()) return true;
  const Normalization& step = *plan_.operation.normalization;
  if (const auto& array = of(slot).array)
    return slot == Slot::a && is_long_integer(array->parameter().array->layout().dtype) &&
           !is_floating(plan_.input.dtype);
  return (slot == Slot::a ? step.a : step.b).rest != 0;
}

/// Whether kernels need a number of the slot for each element, unless it is one of an exact bound.
bool ParameterTile::is_needed(Slot slot) const {
  const auto& normalization = plan_.operation.normalization;
  switch (slot) {
    case Slot::lo:
    case Slot::hi: return true;
    case Slot::nan: return plan_.operation.nan.has_value();
    case Slot::scale:
    case Slot::bias: return plan_.operation.arithmetic != Arithmetic::none;
    case Slot::a:
    case Slot::b: return normalization.has_value();
    case Slot::factor: return plan_.arrays->find(ParameterId::max_norm) != nullptr;
    case Slot::below:
    case Slot::above:
    case Slot::nan_result:
    case Slot::nodata: return of(slot).array.has_value();
    default: return false;
  }
}

/// Memory that has the number of the operation for each element, unless there is an array.
void ParameterTile::allocate(Slot slot) {
  Values& values = of(slot);
  const bool is_result = slot >= Slot::below && slot <= Slot::nodata;
  values.size = is_result ? sizeof(ElementBits)
                : slot == Slot::nan || slot == Slot::lo || slot == Slot::hi
                    ? traits(plan_.operation.dtype).size
                    : with_factor_type(slot, []<class T>() { return sizeof(T); });
  values.memory = std::make_unique_for_overwrite<std::byte[]>(capacity_ * values.size);
  values.own = values.memory.get();
  if (!values.array) fill(slot, capacity_);
}

void ParameterTile::fill(Slot slot, std::size_t count) noexcept {
  const Values& values = of(slot);
  with_number(plan_.operation, slot, [&]<class Number>(const Number& number) {
    if constexpr (std::is_same_v<Number, ElementBits>)
      with_type(plan_.operation.dtype,
                [&]<class T>() { std::fill_n(values.as<T>(), count, from_bits<T>(number)); });
    else if constexpr (std::is_convertible_v<Number, DoubleDouble>)
      with_factor_type(
          slot, [&]<class T>() { std::fill_n(values.as<T>(), count, factor_of<T>(DoubleDouble(number))); });
  });
}

/// The numbers of exact bounds are in the memory of these.
void ParameterTile::allocate_exact() {
  const auto use = [&]<class T>(Slot slot, std::span<T> numbers) {
    if (!numbers.empty()) of(slot).own = reinterpret_cast<std::byte*>(numbers.data());
    of(slot).size = sizeof(T);
  };
  exact_min_.emplace(plan_, ParameterId::min, capacity_);
  exact_max_.emplace(plan_, ParameterId::max, capacity_);
  use(Slot::min, exact_min_->results());
  use(Slot::max, exact_max_->results());
  use(Slot::wide_lo, exact_min_->wide());
  use(Slot::wide_hi, exact_max_->wide());
  if (!nan_bound_ || exact(*nan_bound_).results().empty()) return;
  Values& result = of(Slot::nan_result);
  result.memory = std::make_unique<std::byte[]>(capacity_ * sizeof(ElementBits));
  use(Slot::nan_result, std::span(reinterpret_cast<ElementBits*>(result.memory.get()), capacity_));
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
  if (missing_) missing_->read(position, count, sets_.data());
  for (const Slot bound : kBounds) {
    if (exchanges() && !of(bound).array) fill(bound, count);  // exchange_bounds() may have overwritten it
    if (exact_min_)
      read_exact_bound(bound, position, count);
    else
      read_bound(bound, position, count, !exchanges());
  }
  if (nan_bound_) {
    const Values& nan = of(Slot::nan);
    std::memcpy(nan.own, of(*nan_bound_).expanded<std::byte>(), count * nan.size);
    if (auto* const results = of(Slot::nan_result).as<ElementBits>())
      std::copy_n(exact(*nan_bound_).results().data(), count, results);
  }
  for (const Slot factor : kFactors) read_factor(factor, position, count);
  for (const Slot result : kResultSlots)
    if (Values& values = of(result); values.array) values.array->read(position, count, values.own);
  if (plan_.operation.uses_bounds()) widen_bounds(count);
}

/// For a step that calculates with them.
void ParameterTile::widen_bounds(std::size_t count) {
  for (const Slot bound : kBounds) {
    Values& to = of(bound == Slot::lo ? Slot::a : Slot::b);
    if (exact_min_)
      to.own = reinterpret_cast<std::byte*>(exact(bound).numbers().data()), to.size = sizeof(DoubleDouble);
    else if (of(bound).array)
      convert_factors<double>(plan_.operation.dtype, of(bound).expanded<std::byte>(), count, to.as<double>());
  }
}

void ParameterTile::repeat(std::size_t period, std::size_t count) noexcept {
  for (const Values& values : values_) {
    if (values.own == nullptr || values.lent != nullptr) continue;
    for (std::size_t done = period; done < count;) {  // twice as many each time
      const std::size_t length = std::min(done, count - done);
      std::memcpy(values.own + done * values.size, values.own, length * values.size);
      done += length;
    }
  }
}

/// The array's own elements are used, not copied, if `lends`: if they are not changed.
void ParameterTile::read_bound(Slot slot, std::uint64_t position, std::size_t count, bool lends) {
  Values& bound = of(slot);
  if (!bound.array) return;
  const TensorLayout& layout = bound.array->parameter().array->layout();
  if (is_converted(plan_, layout.dtype)) return read_other_bound(slot, position, count);
  bound.lent = lends ? bound.array->in_order(position) : nullptr;
  if (bound.lent != nullptr) return;
  bound.array->read(position, count, bound.own);
}

/// Elements of another dtype are rounded to that of bounds, and become working elements.
void ParameterTile::read_other_bound(Slot slot, std::uint64_t position, std::size_t count) {
  Values& bound = of(slot);
  bound.array->read(position, count, raw_.get());
  DType dtype = bound.array->parameter().array->layout().dtype;
  const std::byte* elements = raw_.get();
  std::vector<std::byte> rounded;
  if (is_floating(plan_.input.dtype) && dtype != plan_.bound_dtype) {
    rounded.resize(count * sizeof(ElementBits));
    static_cast<void>(convert(conversion(dtype, plan_.bound_dtype), kNumbers, elements, rounded.data(), count,
                              Counting::off, simd_levels().back()));
    note_far(slot, dtype, rounded.data(), count);
    dtype = plan_.bound_dtype;
    elements = rounded.data();
  }
  if (dtype == plan_.operation.dtype) {
    std::memcpy(bound.own, elements, count * bound.size);
    return;
  }
  with_type(plan_.operation.dtype, [&]<class T>() {
    if constexpr (!HalfType<T>) convert_factors<T>(dtype, elements, count, bound.as<T>());
  });
}

void ParameterTile::read_exact_bound(Slot slot, std::uint64_t position, std::size_t count) {
  Values& bound = of(slot);
  if (!bound.array) return exact(slot).restore(count);
  const DType dtype = bound.array->parameter().array->layout().dtype;
  if (!is_other_bound(plan_, dtype)) read_bound(slot, position, count, false);
  bound.array->read(position, count, raw_.get());
  exact(slot).take(dtype, raw_.get(), count, bound.own);
}

void ParameterTile::read_factor(Slot slot, std::uint64_t position, std::size_t count) {
  Values& factor = of(slot);
  if (!factor.array) return;
  const DType dtype = factor.array->parameter().array->layout().dtype;
  factor.array->read(position, count, raw_.get());
  with_factor_type(slot, [&]<class T>() { convert_factors<T>(dtype, raw_.get(), count, factor.as<T>()); });
  if (const auto& divisor = plan_.arrays->zero_divisor; divisor && slot == Slot::b)
    std::replace(factor.as<double>(), factor.as<double>() + count, 0.0, *divisor);
}

/// Where min exceeds max, every element except NaN becomes one of them: as by convert_bounds() for numbers.
void ParameterTile::exchange_bounds(std::size_t count) {
  if (exact_min_ && exchanges_exactly(plan_)) {
    const bool min_wins = plan_.arrays->min_above_max == MinAboveMax::min;
    for (std::size_t i = 0; i < count; ++i) {
      if (!exact_min_->exceeds(*exact_max_, i)) continue;
      if (min_wins)
        exact_max_->become(*exact_min_, i, of(Slot::hi).own);
      else
        exact_min_->become(*exact_max_, i, of(Slot::lo).own);
    }
    return;
  }
  with_type(plan_.operation.dtype, [&]<class T>() {
    T* const min = of(Slot::lo).as<T>();
    T* const max = of(Slot::hi).as<T>();
    const T highest = from_bits<T>(highest_element(plan_.operation.dtype));
    for (std::size_t i = 0; i < count; ++i) {
      if (!(comparable(min[i]) > comparable(max[i]))) continue;
      max[i] = min[i];
      min[i] = highest;
    }
  });
}

bool ParameterTile::has_in_band(std::uint64_t position) const noexcept {
  return std::ranges::any_of(
      values_, [=](const Values& values) { return values.array && values.array->has_in_band(position); });
}

Operands ParameterTile::operands(std::size_t first) const noexcept {
  Operands operands;
  for (std::size_t i = 0; i < kSlots; ++i)
    if (const Values& values = values_[i]; values.own != nullptr)
      operands[static_cast<Slot>(i)] = {values.expanded<std::byte>() + first * values.size, values.size};
  for (const Slot bound : kBounds)
    if (!bounds_vary_) operands[bound].stride = 0;
  return operands;
}

Operation ParameterTile::operation() const noexcept {
  Operation operation = plan_.operation;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const auto slot = static_cast<Slot>(i);
    const Values& values = values_[i];
    if (values.own == nullptr) continue;
    with_number(operation, slot, [&]<class Number>(Number& number) {
      if constexpr (std::is_same_v<Number, ElementBits>)
        number = with_type(operation.dtype, [&]<class T>() { return to_bits(*values.expanded<T>()); });
      else if constexpr (std::is_same_v<Number, std::optional<ElementBits>>)
        number = *values.as<ElementBits>();
      else if constexpr (std::is_same_v<Number, DoubleDouble>)
        number = with_factor_type(slot, [&]<class T>() -> DoubleDouble {
          if constexpr (std::is_same_v<T, SignedInteger>)
            return DoubleDouble::of(values.as<T>()->value());
          else
            return *values.as<T>();
        });
      else
        number = *values.as<Number>();
    });
    if (slot == Slot::wide_lo) operation.cast->wide.lo_varies = false;
    if (slot == Slot::wide_hi) operation.cast->wide.hi_varies = false;
  }
  return operation;
}

MaskFlags flags_of(const Parameter& mask, const TensorLayout& layout) {
  if (!mask.array) {
    const std::byte flag{mask.number != Number(0)};
    return [flag](std::uint64_t /*position*/, std::span<std::byte> flags) { std::ranges::fill(flags, flag); };
  }
  const auto broadcast = std::make_shared<Broadcast>();
  broadcast->arrays.push_back({ParameterId::min, mask.text, mask.array, {}});
  lay_out(*broadcast, layout.shape, layout.fortran_order);
  return [broadcast](std::uint64_t position, std::span<std::byte> flags) {
    const ArrayParameter& row = broadcast->arrays.front();
    const DType dtype = row.array->layout().dtype;
    const std::size_t size = traits(dtype).size;
    const auto elements = std::make_unique_for_overwrite<std::byte[]>(flags.size() * size);
    ArrayReader(*broadcast, row, 0).read(position, flags.size(), elements.get());
    with_reader(dtype, [&](auto at) {
      for (std::size_t i = 0; i < flags.size(); ++i)
        flags[i] = std::byte{comparable(at(elements.get(), i)) != 0};
    });
  };
}

}  // namespace clipper
