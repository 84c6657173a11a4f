#include "bounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "element.hpp"
#include "error.hpp"

namespace clipper {
namespace {

enum class Side : std::uint8_t { min, max };

[[noreturn]] void refuse(const GivenNumber& bound, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", bound.label, why));
}

/// The element type's value, by way of what the system carries bounds in.
template <class T>
T carried(Profile::Carrier carrier, const Number& number) {
  switch (carrier) {
    case Profile::Carrier::element: return round_to<T>(number);
    case Profile::Carrier::float32:
      if constexpr (sizeof(T) > sizeof(float))
        return round_to<float>(number);
      else
        return narrow<T>(round_to<float>(number));
    case Profile::Carrier::float64:
      if constexpr (HalfType<T>)
        return narrow<T>(narrow<float>(round_to<double>(number)));
      else
        return static_cast<T>(round_to<double>(number));
  }
  __builtin_unreachable();
}

Number carried_number(Profile::Carrier carrier, const Number& number) {
  switch (carrier) {
    case Profile::Carrier::element: return number;
    case Profile::Carrier::float32: return number_of(static_cast<double>(round_to<float>(number)));
    case Profile::Carrier::float64: return number_of(round_to<double>(number));
  }
  __builtin_unreachable();
}

/// An infinity on its own side is no bound; one that the user did not write, on the wrong side, is a mistake.
template <class T>
ElementBits convert_float(const Profile& profile, DType dtype, const GivenNumber& bound, Side side) {
  const ElementBits element = to_bits(carried<T>(profile.carrier, bound.number));
  const ElementBits unsatisfiable = side == Side::min ? highest_element(dtype) : lowest_element(dtype);
  if (element == unsatisfiable && bound.number.kind == Number::Kind::finite)
    refuse(bound, fmt::format("beyond {}: every element would become {}; write {} if that is meant",
                              info(dtype).name, element_text(dtype, element), element_text(dtype, element)));
  return element;
}

template <class T>
ElementBits convert_integer(const Profile& profile, DType dtype, const GivenNumber& bound, Side side) {
  constexpr Int128 kLowest = std::numeric_limits<T>::lowest();
  constexpr Int128 kHighest = std::numeric_limits<T>::max();
  const Rounding inward = side == Side::min ? Rounding::up : Rounding::down;
  const Rounding rounding = profile.inexact == Profile::Inexact::inward ? inward : Rounding::toward_zero;
  const Int128 value = to_integer(carried_number(profile.carrier, bound.number), rounding);
  const Int128 saturated = std::clamp(value, kLowest, kHighest);
  const ElementBits element = to_bits(static_cast<T>(saturated));

  if (profile.inexact == Profile::Inexact::error && (saturated != value || !is_integer(bound.number)))
    refuse(bound,
           fmt::format("{} takes bounds as {}, which cannot hold it", profile.system, info(dtype).name));
  if (profile.inexact == Profile::Inexact::truncate) {
    const Int128 written = to_integer(bound.number, Rounding::toward_zero);
    if (side == Side::min ? written > kHighest : written < kLowest)
      refuse(bound, fmt::format("every {} element would become {}, which is not {} that", info(dtype).name,
                                element_text(dtype, element), side == Side::min ? ">=" : "<="));
  }
  return element;
}

ElementBits convert(const Profile& profile, DType dtype, const GivenNumber& bound, Side side) {
  if (bound.number.kind == Number::Kind::nan) {
    if (profile.nan_bound == Profile::NanBound::error || !is_floating(dtype))
      refuse(bound, "not a number is no bound");
    return side == Side::min ? lowest_element(dtype) : highest_element(dtype);
  }
  return with_type(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      return convert_integer<T>(profile, dtype, bound, side);
    else
      return convert_float<T>(profile, dtype, bound, side);
  });
}

/// The bound, or the one that the profile has in its place.
std::optional<GivenNumber> or_default(const Profile& profile, DType dtype,
                                      const std::optional<GivenNumber>& bound, Side side) {
  if (bound || profile.absent_bound == Profile::AbsentBound::none) return bound;
  const DType limits = profile.absent_bound == Profile::AbsentBound::float32_limits ? DType::float32 : dtype;
  if (side == Side::min) return GivenNumber{number_of(limits, lowest_finite(limits)), "the default min"};
  return GivenNumber{number_of(limits, highest_finite(limits)), "the default max"};
}

}  // namespace

ElementBits convert_min(const Profile& profile, DType dtype, const GivenNumber& min) {
  return convert(profile, dtype, min, Side::min);
}

ElementBits convert_max(const Profile& profile, DType dtype, const GivenNumber& max) {
  return convert(profile, dtype, max, Side::max);
}

Bounds convert_bounds(const Profile& profile, DType dtype, const std::optional<GivenNumber>& given_min,
                      const std::optional<GivenNumber>& given_max, MinAboveMax min_above_max) {
  const std::optional<GivenNumber> min = or_default(profile, dtype, given_min, Side::min);
  const std::optional<GivenNumber> max = or_default(profile, dtype, given_max, Side::max);
  const Bounds bounds{min ? convert_min(profile, dtype, *min) : lowest_element(dtype),
                      max ? convert_max(profile, dtype, *max) : highest_element(dtype)};
  if (!min || !max) return bounds;

  const bool as_written = given_min && given_max && min->number > max->number;
  const bool as_converted = number_of(dtype, bounds.lo) > number_of(dtype, bounds.hi);
  if (!as_written && !as_converted) return bounds;
  if (!as_written && given_min && given_max)
    refuse(*min, fmt::format("no {} value lies between this and {}", info(dtype).name, max->label));
  switch (min_above_max) {
    case MinAboveMax::error:
      refuse(*min, fmt::format("above {}; --min-above-max says what that should mean", max->label));
    case MinAboveMax::min: return {highest_element(dtype), bounds.lo};
    case MinAboveMax::max: return bounds;
  }
  __builtin_unreachable();
}

}  // namespace clipper
