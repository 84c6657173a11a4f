#pragma once

#include <cstdint>

#include "element/dtype.hpp"

namespace clipper {

/// The denominator of fractions between two elements.
inline constexpr std::uint64_t kFractionOne = 1'000'000'000'000'000'000;

/// a + (b - a) * fraction / kFractionOne, exactly. Both must be finite, and the fraction at most
/// kFractionOne.
[[nodiscard]] Number interpolate(const Number& a, const Number& b, std::uint64_t fraction);

}  // namespace clipper
