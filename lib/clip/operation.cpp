#include "clip/operation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "clip/convert_loops.hpp"
#include "element/element.hpp"
#include "element/small_floats.hpp"

namespace clipper {

namespace {

/// A working element as it is stored, as a double.
template <class Working>
double stored_number(const Operation& operation, Working x) noexcept {
  return with_element(operation.to, stored_bits(operation.to, x), [](auto y) { return as_double(y); });
}

/// -1, 0 or 1: where the working element is stored as one below, within or above the finite elements of `to`.
template <class Working>
int beyond(const Operation& operation, Working x) noexcept {
  if (is_floating(operation.to)) {
    const bool is_number = x == x;  // NOLINT(misc-redundant-expression): false for NaN
    return !is_number || std::isfinite(stored_number(operation, x)) ? 0 : x > Working{} ? 1 : -1;
  }
  if constexpr (std::is_floating_point_v<Working>)
    if (std::fabs(x) > 0x1p66) return x < 0 ? -1 : 1;
  const Int128 sum = static_cast<Int128>(x) + operation.cast->zero_point.value();
  return with_type(operation.to, [&]<class To>() {
    if constexpr (std::is_integral_v<To>)
      return sum < std::numeric_limits<To>::lowest() ? -1 : sum > std::numeric_limits<To>::max() ? 1 : 0;
    return 0;
  });
}

/// The element farthest from `first`, at most `end`, that is not beyond the range.
template <class Working, class IsBeyond>
ElementBits last_within(Working first, ElementBits end, const IsBeyond& is_beyond) noexcept {
  Key<Working> within = key_of(first);
  Key<Working> out = key_of(from_bits<Working>(end));
  if (!is_beyond(element_of<Working>(out))) return end;
  for (;;) {
    const Key<Working> middle = std::midpoint(within, out);
    if (middle == within) return to_bits(element_of<Working>(within));
    (is_beyond(element_of<Working>(middle)) ? out : within) = middle;
  }
}

/// Whether the working element is stored as 0, plus the zero point.
template <class Working>
bool becomes_zero(const Operation& operation, Working x) noexcept {
  x = rounded_by(operation.cast->round, x);
  return is_floating(operation.to) ? stored_number(operation, x) == 0 : x == 0;
}

/// The greatest integer that a float dtype rounds to a finite number.
Wide highest_finite_integer(const Operation& operation) noexcept {
  const DType dtype = operation.to;
  if (!has_kernels(dtype)) {
    const auto is_beyond = [&](double x) {
      return beyond(operation, rounded_by(operation.cast->round, x)) > 0;
    };
    const auto highest = from_bits<double>(last_within(1.0, highest_element(DType::float64), is_beyond));
    return Wide::of(false, static_cast<UInt128>(highest));
  }
  const int exponent = (1 << (traits(dtype).exponent_bits - 1)) - 1;
  if (exponent > 127) return Wide::highest();
  const int half_unit = exponent - traits(dtype).fraction_bits - 1;
  return {false, (UInt128{1} << exponent) - (UInt128{1} << half_unit) + (UInt128{1} << exponent) - 1};
}

}  // namespace

Operation clip_operation(DType dtype, ElementBits lo, ElementBits hi) noexcept {
  Operation clip;
  clip.from = clip.dtype = clip.to = dtype;
  clip.lo = lo;
  clip.hi = hi;
  return clip;
}

Operation last_step(const Normalization& normalization) noexcept {
  constexpr DType kDoubles = DType::float64;
  Operation last = clip_operation(kDoubles, lowest_element(kDoubles), highest_element(kDoubles));
  last.to = normalization.to;
  last.cast = normalization.cast;
  return last;
}

Operation conversion(DType from, DType to, std::optional<Round> round) noexcept {
  const DType working = working_dtype(from);
  Operation operation = clip_operation(working, lowest_element(working), highest_element(working));
  operation.from = from;
  operation.to = to;
  Cast& cast = operation.cast.emplace();
  cast.saturates = !is_floating(to);
  cast.round = round || is_floating(to) ? round : Round::half_even;
  set_limits(operation);
  return operation;
}

DType working_dtype(DType from) noexcept {
  const DTypeTraits& row = traits(from);
  if (row.kind == NumberKind::floating) return row.carrier;
  if (row.kind == NumberKind::unsigned_integer)
    return row.size == 8 ? DType::uint64 : row.size == 4 ? DType::int64 : DType::int32;
  return row.size == 8 ? DType::int64 : DType::int32;
}

ElementBits working_element(DType from, ElementBits element, DType working) noexcept {
  if (!has_kernels(from)) return to_bits(widened(from, element));
  return with_type(from, [&]<class From>() {
    return with_working_type(working, [&]<class Working>() -> ElementBits {
      if constexpr (kLoads<From, Working>) {
        const From x = from_bits<From>(element);
        Working result;
        Load<From, Working>::template run<SimdLevel::baseline>(&x, &result, 1);
        return to_bits(result);
      }
      __builtin_unreachable();
    });
  });
}

int beyond_range(const Operation& operation, ElementBits element) noexcept {
  return with_working_type(operation.dtype, [&]<class Working>() {
    return beyond(operation, rounded_by(operation.cast->round, from_bits<Working>(element)));
  });
}

ElementBits rounded_element(DType dtype, ElementBits element, Round round) noexcept {
  if (!is_floating(dtype)) return element;
  return with_element(dtype, element,
                      [&](auto x) { return stored_bits(dtype, rounded_by(round, as_double(x))); });
}

std::pair<ElementBits, ElementBits> zero_limits(const Operation& operation) noexcept {
  const DType working = operation.dtype;
  return with_working_type(working, [&]<class Working>() -> std::pair<ElementBits, ElementBits> {
    const auto stays = [&](Working x) { return !becomes_zero(operation, x); };
    if (stays(0)) return {to_bits(Working{1}), to_bits(Working{0})};
    return {last_within(Working{0}, lowest_element(working), stays),
            last_within(Working{0}, highest_element(working), stays)};
  });
}

void set_limits(Operation& operation) noexcept {
  Cast& cast = *operation.cast;
  const DType working = operation.dtype;
  const ElementBits lowest = lowest_element(working);
  const ElementBits highest = highest_element(working);
  with_working_type(working, [&]<class Working>() {
    const auto side = [&](Working x) { return beyond_range(operation, to_bits(x)); };
    // 0 + zero_point is an element of every integer dtype, and 1 of every float dtype.
    const auto first = static_cast<Working>(is_floating(operation.to) ? 1 : 0);
    cast.lowest = last_within(first, lowest, [&](Working x) { return side(x) < 0; });
    cast.highest = last_within(first, highest, [&](Working x) { return side(x) > 0; });
  });
  if (is_floating(operation.to)) {
    cast.wide.highest = highest_finite_integer(operation);
    const bool has_sign = lowest_finite(operation.to) != 0;
    cast.wide.lowest = has_sign ? Wide::of(true, cast.wide.highest.magnitude) : Wide::of(false, 1);
    return;
  }
  with_type(operation.to, [&]<class To>() {
    if constexpr (std::is_integral_v<To>) {
      const Int128 zero = cast.zero_point.value();
      cast.wide.lowest = Wide::of(std::numeric_limits<To>::lowest() - zero);
      cast.wide.highest = Wide::of(std::numeric_limits<To>::max() - zero);
    }
  });
}

void set_limits(Normalization& normalization) noexcept {
  Operation last = last_step(normalization);
  set_limits(last);
  normalization.cast = *last.cast;
}

namespace {

Losses losses_of_cast(const Operation& operation) noexcept {
  const auto [zero_lowest, zero_highest] = zero_limits(operation);
  return {operation.dtype, operation.cast->lowest, operation.cast->highest, zero_lowest, zero_highest, false};
}

}  // namespace

std::optional<Losses> losses_of(const Operation& operation) noexcept {
  const bool scales = operation.arithmetic != Arithmetic::none;
  if (operation.normalization) return losses_of_cast(last_step(*operation.normalization));
  if (operation.arithmetic == Arithmetic::integer) return std::nullopt;
  if (!operation.cast && !scales) return std::nullopt;
  Operation scaling;
  if (!operation.cast) {
    scaling.dtype = operation.arithmetic == Arithmetic::float32 ? DType::float32 : DType::float64;
    scaling.to = operation.dtype;
    Cast& cast = scaling.cast.emplace();
    if (!is_floating(operation.dtype)) cast.round = Round::trunc;
    cast.saturates = !is_floating(operation.dtype);
    set_limits(scaling);
  }
  const Operation& casting = operation.cast ? operation : scaling;
  Losses losses = losses_of_cast(casting);
  const Cast& cast = *casting.cast;
  bool may_lose = traits(casting.to).has_infinity && !cast.saturates;
  // Of numbers that are not scaled only a smaller range makes infinities.
  may_lose = may_lose && (scales || cast.lowest != lowest_finite(losses.dtype) ||
                          cast.highest != highest_finite(losses.dtype));
  if (!may_lose) {
    losses.lowest = lowest_element(losses.dtype);
    losses.highest = highest_element(losses.dtype);
  }
  losses.underflow = scales && is_floating(losses.dtype) && has_zero(casting.to);
  may_lose |=
      losses.underflow || with_working_type(losses.dtype, [&]<class Working>() {
        return from_bits<Working>(losses.zero_lowest) != 0 || from_bits<Working>(losses.zero_highest) != 0;
      });
  return may_lose ? std::optional(losses) : std::nullopt;
}

}  // namespace clipper
