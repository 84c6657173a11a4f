#include "clip/input_range.hpp"

#include <limits>
#include <utility>

#include "clip/scaled_integer.hpp"

namespace clipper {
namespace {

double double_of(Operation::Integer integer) noexcept {
  const auto magnitude = static_cast<double>(integer.magnitude);
  return integer.negative ? -magnitude : magnitude;
}

/// The first T from which on `is_true` is true; one more than the highest T if there is none. `guess` makes
/// the search short.
template <class T, class F>
Int128 first(double guess, const F& is_true) noexcept {
  Int128 begin = std::numeric_limits<T>::lowest();
  Int128 end = Int128{std::numeric_limits<T>::max()} + 1;
  const auto look_at = [&](Int128 x) {
    if (x < begin || x >= end) return;
    if (is_true(static_cast<T>(x)))
      end = x;
    else
      begin = x + 1;
  };
  if (guess > -0x1p64 && guess < 0x1p64)
    for (const int offset : {-2, 2}) look_at(static_cast<Int128>(guess) + offset);
  while (begin < end) look_at(begin + (end - begin) / 2);
  return begin;
}

}  // namespace

/// `slope` and `offset` are near scale and bias.
template <class T, class Factor>
void InputRange::find(Factor scale, Factor bias, double slope, double offset) noexcept {
  const T lo = from_bits<T>(operation_.lo);
  const T hi = from_bits<T>(operation_.hi);
  const auto below = [=](T x) { return is_below(scaled(x, scale, bias), lo); };
  const auto above = [=](T x) { return is_above(scaled(x, scale, bias), hi); };
  const double at_lo = (static_cast<double>(lo) - offset) / slope;
  const double at_hi = (static_cast<double>(hi) - offset) / slope;
  const Int128 begin = falls_ ? first<T>(at_hi, [&](T x) { return !above(x); })
                              : first<T>(at_lo, [&](T x) { return !below(x); });
  const Int128 end = falls_ ? first<T>(at_lo, below) : first<T>(at_hi, above);

  constexpr T kHighest = std::numeric_limits<T>::max();
  operation_.lo = to_bits(static_cast<T>(begin));
  operation_.hi = to_bits(static_cast<T>(end - 1));
  empty_ = begin == end;
  if (!empty_) return;
  operation_.hi = to_bits(kHighest);
  if (begin <= kHighest) return;
  operation_.lo = to_bits(std::numeric_limits<T>::lowest());  // all are below the range: as if all were above
  falls_ = !falls_;
}

InputRange::InputRange(const Operation& scaling) noexcept
    : operation_(scaling),
      falls_(scaling.arithmetic == Arithmetic::integer ? scaling.integer_scale.negative : scaling.scale < 0) {
  operation_.arithmetic = Arithmetic::none;
  with_type(scaling.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      if (scaling.arithmetic == Arithmetic::integer)
        find<T>(scaling.integer_scale, scaling.integer_bias, double_of(scaling.integer_scale),
                double_of(scaling.integer_bias));
      else
        find<T>(scaling.scale, scaling.bias, scaling.scale, scaling.bias);
    }
  });
}

ElementCounts InputRange::counts(const ElementCounts& beyond, std::size_t count) const noexcept {
  ElementCounts counts;
  counts.raised = beyond.raised;
  counts.lowered = empty_ ? count - beyond.raised : beyond.lowered;
  if (falls_) std::swap(counts.raised, counts.lowered);
  return counts;
}

}  // namespace clipper
