#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "clip/normalize_loops.hpp"
#include "element/number.hpp"

namespace clipper {
namespace {

/// What elements that became bounds exceed their y by: those that are stretched, which float64 has. All are
/// between bounds, except below a positive min, or above a negative max.
void find_rests_of_bounds(const Normalization& step, const Operands& operands, const double* y, double* rests,
                          std::size_t count) noexcept {
  const PerElement a(operands[Slot::a], step.a);
  const PerElement b(operands[Slot::b], step.b);
  const PerElement a_rest(operands[Slot::a_rest], step.a_rest);
  const PerElement b_rest(operands[Slot::b_rest], step.b_rest);
  std::fill_n(rests, count, 0.0);
  for (std::size_t i = 0; i < count && step.stretches; ++i)
    if (y[i] > 0 && y[i] == a[i])
      rests[i] = a_rest[i];
    else if (y[i] < 0 && y[i] == b[i])
      rests[i] = b_rest[i];
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
  const PerElement all_a(operands[Slot::a], step.a);
  const PerElement all_b(operands[Slot::b], step.b);
  const PerElement a_rests(operands[Slot::a_rest], step.a_rest);
  const PerElement b_rests(operands[Slot::b_rest], step.b_rest);
  const auto [least, most] = std::minmax(step.low, step.high);
  for (std::size_t i = 0; i < count; ++i) {
    const double a = all_a[i];
    const double b = all_b[i];
    const double a_rest = a_rests[i];
    const double b_rest = b_rests[i];
    const double rest = factors[i] == 1 ? rests[i] : 0;
    y[i] *= factors[i];
    const double from_a = difference(y[i], rest, a, a_rest);
    if (!step.stretches) {
      y[i] = step.maps() ? from_a / b * (step.high - step.low) + step.low : from_a / b;
      continue;
    }
    const double range = difference(b, b_rest, a, a_rest);
    const double z = from_a / range * (step.high - step.low) + step.low;
    const double held = z < least ? least : z > most ? most : z;
    const double upper = difference(y[i], rest, b, b_rest) >= 0 ? step.high : held;
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

}  // namespace clipper
