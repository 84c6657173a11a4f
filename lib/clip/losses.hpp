#pragma once

#include <optional>

#include "clip/operation.hpp"

namespace clipper {

/// Which elements arithmetic or a cast makes infinite or 0: by g, an element of `dtype`, or by z of a
/// normalization. Those of Arithmetic::integer are counted by convert_integers().
struct Losses {
  DType dtype;         ///< float32 or float64 for arithmetic without a cast; otherwise the working dtype
  ElementBits lowest;  ///< what is beyond these becomes infinite; the ends of the dtype if nothing does
  ElementBits highest;
  ElementBits zero_lowest;  ///< what is between these becomes 0: see zero_limits()
  ElementBits zero_highest;
  bool underflow;  ///< whether a product that is 0 although no factor is one counts, unless there is a bias
};

/// Those of an operation, whose parameters may still vary; nothing if it loses nothing.
[[nodiscard]] std::optional<Losses> losses_of(const Operation& operation) noexcept;

}  // namespace clipper
