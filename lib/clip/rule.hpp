#pragma once

#include <concepts>
#include <cstddef>

#include "clip/parameters.hpp"
#include "clip/tally.hpp"

namespace clipper {

/// What clip_loop.hpp and Tally require of a rule: a function that takes a vector of elements, returns the
/// new elements and tells a tally which of them it moved.
///     Elements      the vector that the rule takes
///     Number        the type of a parameter in the vectors that the rule's constructor takes
///     Parameter     these vectors: a Vector, or a FloatPair for halves
///     Lane          the unsigned integer of a mask's lanes
///     kBytes        the size of the instruction set's vectors, and of masks
///     kFactorSize   the size of a scale or bias; 0 for a rule without them
///     kKept         how often the rule calls Tally::kept for a vector
///     kCalculates   whether elements that the bounds did not move may change
///     kReplacesNan  whether NaN becomes another element
/// Members that a rule may have:
///     kDefersNan    whether it tells Tally::may_be_nan() instead of Tally::nan(); with is_nan() of a vector
template <class R>
concept Rule = requires(const R& rule, const typename R::Elements& x, NoTally& tally) {
  requires std::unsigned_integral<typename R::Lane>;
  requires sizeof(typename R::Elements) <= std::size_t{R::kBytes};
  requires R::kFactorSize <= sizeof(double);
  requires R::kKept <= 2;
  requires R::kCalculates || !R::kCalculates;
  requires R::kReplacesNan || !R::kReplacesNan;
  R(Parameters<typename R::Parameter>{});
  { rule(x, tally) } -> std::same_as<typename R::Elements>;
};

}  // namespace clipper
