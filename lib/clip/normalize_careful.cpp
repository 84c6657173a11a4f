#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "clip/convert.hpp"
#include "clip/normalize_loops.hpp"
#include "element/element.hpp"
#include "element/number.hpp"

namespace clipper {
namespace {

/// The number of each element.
struct Each {
  const Operand& given;
  const DoubleDouble& number;  ///< that of the operation

  [[nodiscard]] DoubleDouble operator[](std::size_t i) const noexcept {
    if (given.data == nullptr) return number;
    const std::byte* const at = given.data + i * given.stride;
    return given.stride == sizeof(DoubleDouble) ? *reinterpret_cast<const DoubleDouble*>(at)
                                                : *reinterpret_cast<const double*>(at);
  }
};

/// What elements that became bounds exceed their y by: those that are stretched, which float64 has. All are
/// between bounds, except below a positive min, or above a negative max.
void find_rests_of_bounds(const Normalization& step, const Operands& operands, const double* y, double* rests,
                          std::size_t count) noexcept {
  const Each a{operands[Slot::a], step.a};
  const Each b{operands[Slot::b], step.b};
  std::fill_n(rests, count, 0.0);
  for (std::size_t i = 0; i < count && step.stretches; ++i)
    if (y[i] > 0 && y[i] == a[i].head)
      rests[i] = a[i].rest;
    else if (y[i] < 0 && y[i] == b[i].head)
      rests[i] = b[i].rest;
}

/// What 64-bit integers exceed their y by, which is the nearest double. Nothing of replacements, and of
/// fractions.
template <class From>
void find_rests(const Operation& operation, const Operands& operands, const std::byte* in, const double* y,
                double* rests, std::size_t count) noexcept {
  const Cast& cast = *operation.cast;
  const std::array numbers{from_bits<From>(operation.lo), from_bits<From>(operation.hi)};
  const PerElement lower(operands[Slot::lo], numbers[0]);
  const PerElement upper(operands[Slot::hi], numbers[1]);
  for (std::size_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, in + i * sizeof(x), sizeof(x));
    const From lo = lower[i];
    const From hi = upper[i];
    const bool is_replaced = (x < lo && (cast.below || cast.min)) || (x > hi && (cast.above || cast.max));
    const From clipped = x < lo ? lo : x > hi ? hi : x;
    const bool is_rounded = !is_replaced && y[i] == static_cast<double>(clipped);
    rests[i] = is_rounded ? rest_of(Int128{clipped}, y[i]) : 0;
  }
}

/// The steps of numbers with rests. A product has none.
void run_with_rests(const Normalization& step, const Operands& operands, const double* rests, double* y,
                    std::size_t count) noexcept {
  const PerElement factors(operands[Slot::factor], step.factor);
  const Each all_a{operands[Slot::a], step.a};
  const Each all_b{operands[Slot::b], step.b};
  const auto [least, most] = std::minmax(step.low, step.high);
  for (std::size_t i = 0; i < count; ++i) {
    const DoubleDouble a = all_a[i];
    const DoubleDouble b = all_b[i];
    const DoubleDouble scaled{y[i] * factors[i], factors[i] == 1 ? rests[i] : 0};
    const double from_a = difference(scaled, a);
    if (!step.stretches) {
      y[i] = step.maps() ? from_a / b.head * (step.high - step.low) + step.low : from_a / b.head;
      continue;
    }
    const double range = difference(b, a);
    const double z = from_a / range * (step.high - step.low) + step.low;
    const double held = z < least ? least : z > most ? most : z;
    const double upper = difference(scaled, b) >= 0 ? step.high : held;
    y[i] = from_a <= 0 ? step.low : upper;
  }
}

}  // namespace

void normalize_carefully(const Operation& operation, const Operands& operands, const std::byte* in,
                         bool has_long, double* rests, double* y, std::size_t count) noexcept {
  const Normalization& step = *operation.normalization;
  if (!has_long)
    find_rests_of_bounds(step, operands, y, rests, count);
  else if (operation.arithmetic == Arithmetic::none && operation.from == DType::int64)
    find_rests<std::int64_t>(operation, operands, in, y, rests, count);
  else if (operation.arithmetic == Arithmetic::none)
    find_rests<std::uint64_t>(operation, operands, in, y, rests, count);
  run_with_rests(step, operands, rests, y, count);
}

ElementCounts changes_of(const Operation& operation, const Operands& operands, const NormalizedLimits& limits,
                         const std::byte* in, Doubles& y, const double* z, std::size_t count,
                         const ElementCounts& clipped, SimdLevel level) noexcept {
  const auto changes = [limits](double each) {
    return (each < limits.lowest) | (each > limits.highest) |
           ((each != 0) & (each >= limits.zero_lowest) & (each <= limits.zero_highest));
  };
  if (!any_of(level, z, count, changes)) return {};
  if ((clipped.raised | clipped.lowered | clipped.nan | clipped.replaced) != 0) {
    Operation other = operation;  // makes all others NaN
    other.nan.reset();
    other.cast->nan.reset();
    other.cast->below = other.cast->above = canonical_nan(DType::float64);
    Operands bounds = operands;
    for (const Slot slot : {Slot::nan, Slot::nan_result, Slot::below, Slot::above}) bounds[slot] = {};
    static_cast<void>(convert(other, bounds, in, y.bytes(), count, Counting::off, level));
  }
  Doubles x;
  static_cast<void>(convert(conversion(operation.from, DType::float64), kNumbers, in, x.bytes(), count,
                            Counting::off, level));
  return run_loop<CountChanges>(level, x.data(), y.data(), y.data(), z, limits, count);
}

}  // namespace clipper
