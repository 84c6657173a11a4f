#include "clip/losses.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "clip/convert_loops.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

constexpr std::size_t kLossBlock = 512;  // elements, whose working elements fit the first-level cache

/// Elements that are counted and then clipped; a call of a kernel is worth it.
constexpr std::size_t kClippedLosses = 8 * kLossBlock;

/// What the elements of a block are compared with, and scale and bias: one for all, or one for each.
template <class Working>
struct LossLimits {
  const Working* lo;
  const Working* hi;
  const Working* scale;
  const Working* bias;
  Working zero_lowest{};
  Working zero_highest{};
  Working lowest{};
  Working highest{};
  bool crosses =
      false;  ///< whether a lo above its hi leaves no element between them; otherwise it is hi, too
  bool underflow = false;  ///< see Losses
};

enum class BeforeClip : std::uint8_t { given, scaled };

/// Counts in lanes as wide as the elements those that become 0. Returns whether any is beyond the limits of
/// what is finite. x * scale + bias is in `g`, or calculated from x. lo, hi, scale and bias have a value for
/// each element if kVaries, otherwise one for all.
template <class Working, bool kVaries, BeforeClip kG>
struct CountZeros {
  using Lane = UnsignedOfSize<sizeof(Working)>;
  [[gnu::always_inline]] static bool run(const Working* __restrict x, const Working* __restrict g,
                                         const LossLimits<Working>& limits, ElementCounts* counts,
                                         std::size_t count) noexcept {
    const LossLimits<Working> given = limits;
    Working least = 0;
    Working most = 0;
    Working scale = 0;
    Working bias = 0;
    Lane product = 0;
    const auto load = [&](std::size_t i) __attribute__((always_inline)) {
      const Working lo = given.lo[i];
      most = given.hi[i];
      least = !given.crosses && lo > most ? most : lo;
      least = least > given.zero_lowest ? least : given.zero_lowest;
      most = most < given.zero_highest ? most : given.zero_highest;
      if constexpr (std::is_floating_point_v<Working>) {
        scale = given.scale[i];
        bias = given.bias[i];
        product = Lane{given.underflow} & Lane{scale != 0} & Lane{bias == 0};
      }
    };
    if constexpr (!kVaries) load(0);
    Lane zeros = 0;
    Lane beyond = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (kVaries) load(i);
      const Working y = kG == BeforeClip::scaled ? x[i] * scale + bias : g[i];
      zeros += Lane{y >= least} & Lane{y <= most} & (Lane{y != 0} | (product & Lane{x[i] != 0}));
      beyond |= Lane{y > given.highest} | Lane{y < given.lowest};
    }
    counts->became_zero += zeros;
    return beyond != 0;
  }
};

/// The same for those that become infinite, which are few.
template <class Working, bool kVaries, BeforeClip kG>
void count_infinite(const Working* x, const Working* g, const LossLimits<Working>& limits,
                    ElementCounts& counts, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kVaries ? i : 0;
    const Working y = kG == BeforeClip::scaled ? x[i] * limits.scale[at] + limits.bias[at] : g[i];
    const Working hi = limits.hi[at];
    const Working lo = limits.crosses ? limits.lo[at] : std::min(limits.lo[at], hi);
    const bool is_infinite = y >= lo && y <= hi && (y > limits.highest || y < limits.lowest);
    counts.became_infinite += is_infinite && std::isfinite(static_cast<double>(x[i])) ? 1 : 0;
  }
}

template <BeforeClip kG, class Working>
void count_block(const Losses& losses, bool vary, const Working* x, const Working* g,
                 LossLimits<Working> limits, std::size_t count, SimdLevel level,
                 ElementCounts& counts) noexcept {
  limits.lowest = from_bits<Working>(losses.lowest);
  limits.highest = from_bits<Working>(losses.highest);
  limits.zero_lowest = from_bits<Working>(losses.zero_lowest);
  limits.zero_highest = from_bits<Working>(losses.zero_highest);
  limits.underflow = losses.underflow;
  const auto run = [&]<bool kVaries>() {
    if (run_loop<CountZeros<Working, kVaries, kG>>(level, x, g, limits, &counts, count))
      count_infinite<Working, kVaries, kG>(x, g, limits, counts, count);
  };
  vary ? run.template operator()<true>() : run.template operator()<false>();
}

/// Elements of a dtype as working elements: their own memory, or `block`.
template <class Working>
const Working* loaded(DType dtype, const std::byte* in, std::array<Working, kLossBlock>& block,
                      std::size_t count, SimdLevel level) noexcept {
  return with_type(dtype, [&]<class From>() -> const Working* {
    const auto* const from = reinterpret_cast<const From*>(in);
    if constexpr (std::is_same_v<From, Working>)
      return from;
    else if constexpr (kLoads<From, Working>)
      run_loop<Load<From, Working>>(level, from, block.data(), count);
    return block.data();
  });
}

/// What elements lose that keep their dtype.
template <class Working>
void count_scaled_losses(const Losses& losses, const Operation& operation, const Operands& operands,
                         const std::byte* in, std::size_t count, SimdLevel level,
                         ElementCounts& counts) noexcept {
  using Elements = std::array<Working, kLossBlock>;
  std::array<Elements, 3> blocks;
  const auto scale = static_cast<Working>(operation.scale);
  const auto bias = static_cast<Working>(operation.bias);
  const auto number = [&](ElementBits bits) {
    return from_bits<Working>(working_element(operation.dtype, bits, losses.dtype));
  };
  const std::array bounds{number(operation.lo), number(operation.hi)};
  LossLimits<Working> limits{.lo = bounds.data(), .hi = &bounds[1], .scale = &scale, .bias = &bias};
  if (operands.vary()) {
    limits.lo = loaded(operation.dtype, operands[Slot::lo].data, blocks[1], count, level);
    limits.hi = loaded(operation.dtype, operands[Slot::hi].data, blocks[2], count, level);
    limits.scale = operands.as<Working>(Slot::scale);
    limits.bias = operands.as<Working>(Slot::bias);
  }
  const Working* const x = loaded(operation.dtype, in, blocks[0], count, level);
  count_block<BeforeClip::scaled>(losses, operands.vary(), x, x, limits, count, level, counts);
}

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
  losses.underflow = scales && is_floating(losses.dtype) && casting.to != DType::float8_e8m0fnu;
  may_lose |=
      losses.underflow || with_working_type(losses.dtype, [&]<class Working>() {
        return from_bits<Working>(losses.zero_lowest) != 0 || from_bits<Working>(losses.zero_highest) != 0;
      });
  return may_lose ? std::optional(losses) : std::nullopt;
}

void count_losses(const Losses& losses, const Operation& operation, const Operands& operands,
                  const std::byte* x, const std::byte* g, std::size_t count, SimdLevel level,
                  ElementCounts& counts) noexcept {
  with_working_type(losses.dtype, [&]<class Working>() {
    const auto scale = static_cast<Working>(operation.scale);
    const auto bias = static_cast<Working>(operation.bias);
    const std::array bounds{from_bits<Working>(operation.lo), from_bits<Working>(operation.hi)};
    const bool crosses = operation.cast->min || operation.cast->max || operands[Slot::min].data != nullptr ||
                         operands[Slot::max].data != nullptr;
    LossLimits<Working> limits{.lo = bounds.data(), .hi = &bounds[1], .scale = &scale, .bias = &bias};
    limits.crosses = crosses;
    if (operands.vary()) {
      limits.lo = operands.as<Working>(Slot::lo);
      limits.hi = operands.as<Working>(Slot::hi);
      limits.scale = operands.as<Working>(losses.underflow ? Slot::scale : Slot::lo);  // or any number
      limits.bias = operands.as<Working>(losses.underflow ? Slot::bias : Slot::lo);
    }
    count_block<BeforeClip::given>(losses, operands.vary(), reinterpret_cast<const Working*>(x),
                                   reinterpret_cast<const Working*>(g), limits, count, level, counts);
  });
}

ElementCounts clip_and_count(const Losses& losses, const Operation& operation, const Operands& operands,
                             const std::byte* in, std::byte* out, std::size_t count,
                             SimdLevel level) noexcept {
  const std::size_t size = traits(operation.dtype).size;
  // Each call of a kernel for integers looks for the range that it counts.
  const std::size_t most = is_floating(operation.dtype) ? kClippedLosses : count;
  ElementCounts counts;
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t end = std::min(done + most, count);
    for (std::size_t at = done; at < end; at += kLossBlock) {
      const std::size_t length = std::min(kLossBlock, end - at);
      if (losses.dtype == DType::float32)
        count_scaled_losses<float>(losses, operation, operands.after(at), in + at * size, length, level,
                                   counts);
      else
        count_scaled_losses<double>(losses, operation, operands.after(at), in + at * size, length, level,
                                    counts);
    }
    counts += clip_and_count(operation, operands.after(done), in + done * size, out + done * size, end - done,
                             level);
  }
  return counts;
}

}  // namespace clipper
