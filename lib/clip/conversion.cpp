#include "clip/conversion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "clip/working_dtype.hpp"
#include "element/element.hpp"
#include "element/element_key.hpp"
#include "element/float8.hpp"

namespace clipper {
namespace {

/// -1, 0 or 1: where the working element is stored as one below, within or above the finite elements of To.
template <class To, class Working>
int beyond(const Conversion& conversion, Working x) noexcept {
  if constexpr (!std::is_integral_v<To>) {
    const double result = as_double(stored<To>(x, 0));
    return !std::isinf(result) ? 0 : result < 0 ? -1 : 1;
  } else {
    constexpr auto kFar = static_cast<Working>(std::is_integral_v<Working> ? 0 : 0x1p66);
    if constexpr (std::is_floating_point_v<Working>)
      if (std::fabs(x) > kFar) return x < 0 ? -1 : 1;
    const Int128 sum = static_cast<Int128>(x) + value_of(conversion.zero_point);
    return sum < std::numeric_limits<To>::lowest() ? -1 : sum > std::numeric_limits<To>::max() ? 1 : 0;
  }
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
bool becomes_zero(const Conversion& conversion, Working x) noexcept {
  if constexpr (std::is_floating_point_v<Working>)
    if (conversion.round)
      x = with_round(*conversion.round, [&]<Round kRound>() { return rounded<kRound>(x); });
  if (is_float8(conversion.to)) return widened(conversion.to, stored_float8(conversion.to, x).first) == 0;
  return with_type(conversion.to, [&]<class To>() {
    if constexpr (std::is_integral_v<To>)
      return x == 0;
    else
      return as_double(stored<To>(x, 0)) == 0;
  });
}

/// The greatest integer that a float dtype rounds to a finite number.
Wide highest_finite_integer(const Conversion& conversion) noexcept {
  const DType dtype = conversion.to;
  if (is_float8(dtype)) {
    const auto is_beyond = [&](double x) { return beyond_range(conversion, DType::float64, to_bits(x)) > 0; };
    const auto highest = from_bits<double>(last_within(1.0, highest_element(DType::float64), is_beyond));
    return Wide::of(false, static_cast<UInt128>(highest));
  }
  const int exponent = (1 << (traits(dtype).exponent_bits - 1)) - 1;
  if (exponent > 127) return Wide::highest();
  const int half_unit = exponent - traits(dtype).fraction_bits - 1;
  return {false, (UInt128{1} << exponent) - (UInt128{1} << half_unit) + (UInt128{1} << exponent) - 1};
}

}  // namespace

std::size_t Conversion::size() const noexcept {
  return std::max(traits(from).size, traits(to).size);
}

DType working_dtype(DType from) noexcept {
  const DTypeTraits& row = traits(from);
  if (row.kind == NumberKind::floating) return row.carrier;
  if (row.kind == NumberKind::unsigned_integer)
    return row.size == 8 ? DType::uint64 : row.size == 4 ? DType::int64 : DType::int32;
  return row.size == 8 ? DType::int64 : DType::int32;
}

ElementBits working_element(DType from, ElementBits element, DType working) noexcept {
  if (is_float8(from)) return to_bits(widened(from, element));
  return with_type(from, [&]<class From>() {
    return with_working_type(working, [&]<class Working>() -> ElementBits {
      if constexpr (kLoads<From, Working>) {
        const From x = from_bits<From>(element);
        Working result;
        Load<From, Working>::run(&x, &result, 1);
        return to_bits(result);
      }
      __builtin_unreachable();
    });
  });
}

int beyond_range(const Conversion& conversion, DType working, ElementBits element) noexcept {
  return with_working_type(working, [&]<class Working>() {
    auto x = from_bits<Working>(element);
    if constexpr (std::is_floating_point_v<Working>)
      if (conversion.round)
        x = with_round(*conversion.round, [&]<Round kRound>() { return rounded<kRound>(x); });
    if (is_float8(conversion.to)) return stored_float8(conversion.to, x).second ? 0 : x > Working{} ? 1 : -1;
    return with_type(conversion.to, [&]<class To>() { return beyond<To>(conversion, x); });
  });
}

ElementBits rounded_element(DType dtype, ElementBits element, Round round) noexcept {
  if (is_float8(dtype)) {
    const float x = widened(dtype, element);
    return stored_float8(dtype, with_round(round, [&]<Round kRound>() { return rounded<kRound>(x); })).first;
  }
  return with_type(dtype, [&]<class T>() -> ElementBits {
    if constexpr (std::is_integral_v<T>) {
      return element;
    } else {
      const double x = as_double(from_bits<T>(element));
      return to_bits(stored<T>(with_round(round, [&]<Round kRound>() { return rounded<kRound>(x); }), 0));
    }
  });
}

std::pair<ElementBits, ElementBits> zero_limits(const Conversion& conversion, DType working) noexcept {
  return with_working_type(working, [&]<class Working>() -> std::pair<ElementBits, ElementBits> {
    const auto stays = [&](Working x) { return !becomes_zero(conversion, x); };
    if (stays(0)) return {to_bits(Working{1}), to_bits(Working{0})};
    return {last_within(Working{0}, lowest_element(working), stays),
            last_within(Working{0}, highest_element(working), stays)};
  });
}

void set_limits(Conversion& conversion, DType working) noexcept {
  const ElementBits lowest = lowest_element(working);
  const ElementBits highest = highest_element(working);
  with_working_type(working, [&]<class Working>() {
    const auto side = [&](Working x) { return beyond_range(conversion, working, to_bits(x)); };
    // 0 + zero_point is an element of every integer dtype, and 1 of every float dtype.
    const auto first = static_cast<Working>(is_floating(conversion.to) ? 1 : 0);
    conversion.lowest = last_within(first, lowest, [&](Working x) { return side(x) < 0; });
    conversion.highest = last_within(first, highest, [&](Working x) { return side(x) > 0; });
  });
  if (is_floating(conversion.to)) {
    conversion.wide.highest = highest_finite_integer(conversion);
    const bool has_sign = lowest_finite(conversion.to) != 0;
    conversion.wide.lowest =
        has_sign ? Wide::of(true, conversion.wide.highest.magnitude) : Wide::of(false, 1);
    return;
  }
  with_type(conversion.to, [&]<class To>() {
    if constexpr (std::is_integral_v<To>) {
      const Int128 zero = value_of(conversion.zero_point);
      conversion.wide.lowest = Wide::of(std::numeric_limits<To>::lowest() - zero);
      conversion.wide.highest = Wide::of(std::numeric_limits<To>::max() - zero);
    }
  });
}

}  // namespace clipper
