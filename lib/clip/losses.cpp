#include "clip/losses.hpp"

#include "clip/convert_loops.hpp"
#include "element/element.hpp"

namespace clipper {
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
  Operation casting = operation;
  if (!operation.cast) {
    casting.dtype = operation.arithmetic == Arithmetic::float32 ? DType::float32 : DType::float64;
    casting.from = casting.to = operation.dtype;
    Cast& cast = casting.cast.emplace();
    if (!is_floating(operation.dtype)) cast.round = Round::trunc;
    cast.saturates = !is_floating(operation.dtype);
    set_limits(casting);
  }
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
