// Loops for run_loop(): over vectors (scale_lanes.hpp) for elements of at most
// 32 bits, otherwise plain loops that the compiler vectorizes.

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/scale_integers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "clip/convert_loops.hpp"
#include "clip/scale_lanes.hpp"

namespace clipper {
namespace {

/// What the elements are clipped to: the bounds of the operation, or the range of T if each element has its
/// own.
template <class T>
struct Bounds {
  T lo;
  T hi;
  [[gnu::always_inline]] Bounds(const Operation& operation, bool vary) noexcept
      : lo(vary ? std::numeric_limits<T>::lowest() : from_bits<T>(operation.lo)),
        hi(vary ? std::numeric_limits<T>::max() : from_bits<T>(operation.hi)) {}
};

template <class T>
[[gnu::always_inline]] inline T clipped(T g, T lo, T hi) noexcept {
  g = g < lo ? lo : g;
  return g > hi ? hi : g;
}

/// g truncated and saturated to T, a 64-bit integer, whose highest values have no double.
template <class T>
[[gnu::always_inline]] inline T truncated(double g) noexcept {
  if (g < static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
  return g < kBeyond<T> ? static_cast<T>(g) : std::numeric_limits<T>::max();
}

template <class T>
[[gnu::always_inline]] inline T saturated(Int128 g) noexcept {
  return static_cast<T>(
      std::clamp(g, Int128{std::numeric_limits<T>::lowest()}, Int128{std::numeric_limits<T>::max()}));
}

/// A scale or bias that all elements have. In its place can be a pointer to that of each element.
template <class F>
struct Same {
  F value;
  [[gnu::always_inline]] const F& operator[](std::size_t /*position*/) const noexcept { return value; }
};

template <class T, class F>
[[gnu::always_inline]] inline void for_each_element(const T* in, T* out, std::size_t count, F f) noexcept {
  CLIPPER_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = f(in[i], i);
}

/// In two loops, because g++ 12 vectorizes a single loop badly: with masks that it must narrow.
template <class T, class Factors>
[[gnu::always_inline]] inline void scale_in_blocks(Factors scale, Factors bias, Bounds<T> bounds, const T* in,
                                                   T* out, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 256;
  const auto lo = static_cast<double>(bounds.lo);
  const auto hi = static_cast<double>(bounds.hi);
  alignas(64) std::array<double, kBlock> wide;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t length = std::min(kBlock, count - done);
    for (std::size_t i = 0; i < length; ++i)
      wide[i] = clipped(static_cast<double>(in[done + i]) * scale[done + i] + bias[done + i], lo, hi);
    for (std::size_t i = 0; i < length; ++i) out[done + i] = static_cast<T>(wide[i]);
  }
}

#if defined(__x86_64__)
/// scale_lanes() for elements of 8 bits, too, which are scaled as if they had 16.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void scale_in_lanes(const DoubleOperation& operation, const T* in, T* out,
                                                  std::size_t count) noexcept {
  if constexpr (sizeof(T) > 1) {
    // SSE2 has no minimum of unsigned integers and does not saturate to them.
    if constexpr (sizeof(T) == sizeof(std::int16_t) && kBytes > vector_bytes(SimdLevel::baseline))
      if (fits_int32(operation)) return scale_lanes<kBytes, false>(operation, in, out, count);
    scale_lanes<kBytes, true>(operation, in, out, count);
  } else {
    std::array<std::int16_t, 256> wide;
    for (std::size_t done = 0; done < count; done += wide.size()) {
      const std::size_t length = std::min(wide.size(), count - done);
      for (std::size_t i = 0; i < length; ++i) wide[i] = in[done + i];
      scale_lanes<kBytes, true>(operation, wide.data(), wide.data(), length);
      for (std::size_t i = 0; i < length; ++i) out[done + i] = static_cast<T>(wide[i]);
    }
  }
}
#endif

/// In two loops, because AVX2 compares vectors of 64-bit integers, but does not convert them.
template <class T>
[[gnu::always_inline]] inline void scale_then_clip(double scale, double bias, Bounds<T> bounds, const T* in,
                                                   T* out, std::size_t count) noexcept {
  std::array<T, 256> scaled;
  for (std::size_t done = 0; done < count; done += scaled.size()) {
    const std::size_t length = std::min(scaled.size(), count - done);
    for (std::size_t i = 0; i < length; ++i)
      scaled[i] = truncated<T>(static_cast<double>(in[done + i]) * scale + bias);
    for (std::size_t i = 0; i < length; ++i) out[done + i] = clipped(scaled[i], bounds.lo, bounds.hi);
  }
}

template <SimdLevel kLevel, class T, class Factors>
[[gnu::always_inline]] inline void scale_in_float64(Factors scale, Factors bias, Bounds<T> bounds,
                                                    const T* in, T* out, std::size_t count) noexcept {
  if constexpr (sizeof(T) < sizeof(double)) {
#if defined(__x86_64__)
    if constexpr (std::is_same_v<Factors, Same<double>>)
      return scale_in_lanes<vector_bytes(kLevel)>(
          {scale.value, bias.value, static_cast<double>(bounds.lo), static_cast<double>(bounds.hi)}, in, out,
          count);
#endif
    scale_in_blocks(scale, bias, bounds, in, out, count);
  } else if constexpr (kLevel == SimdLevel::v3 && std::is_same_v<Factors, Same<double>>) {
    scale_then_clip(scale.value, bias.value, bounds, in, out, count);
  } else {
    for_each_element(
        in, out, count, [=](T x, std::size_t i) __attribute__((always_inline)) {
          return clipped(truncated<T>(static_cast<double>(x) * scale[i] + bias[i]), bounds.lo, bounds.hi);
        });
  }
}

template <class T, class Factors>
[[gnu::always_inline]] inline void scale_exactly(Factors scale, Factors bias, Bounds<T> bounds, const T* in,
                                                 T* out, std::size_t count) noexcept {
  for_each_element(
      in, out, count, [=](T x, std::size_t i) __attribute__((always_inline)) {
        return clipped(saturated<T>(scaled(x, scale[i], bias[i])), bounds.lo, bounds.hi);
      });
}

template <SimdLevel kLevel, bool kVaries, class T>
[[gnu::always_inline]] inline void scale_all(const Operation& operation, const Operands& operands,
                                             const T* in, T* out, std::size_t count) noexcept {
  using Integer = Operation::Integer;
  const Bounds<T> bounds(operation, kVaries);
  const auto factor = [&]<class F>([[maybe_unused]] Slot slot, [[maybe_unused]] F number)
      __attribute__((always_inline)) {
    if constexpr (kVaries)
      return operands.as<F>(slot);
    else
      return Same<F>{number};
  };
  if constexpr (sizeof(T) == sizeof(double))
    if (operation.arithmetic == Arithmetic::integer)
      return scale_exactly(factor.template operator()<Integer>(Slot::scale, operation.integer_scale),
                           factor.template operator()<Integer>(Slot::bias, operation.integer_bias), bounds,
                           in, out, count);
  scale_in_float64<kLevel>(factor.template operator()<double>(Slot::scale, operation.scale),
                           factor.template operator()<double>(Slot::bias, operation.bias), bounds, in, out,
                           count);
}

template <class T, class Factor>
[[gnu::always_inline]] inline ElementCounts count_elements(const Operands& operands, const T* x,
                                                           std::size_t count) noexcept {
  const T* const lo = operands.as<T>(Slot::lo);
  const T* const hi = operands.as<T>(Slot::hi);
  const Factor* const scale = operands.as<Factor>(Slot::scale);
  const Factor* const bias = operands.as<Factor>(Slot::bias);
  std::uint64_t raised = 0;
  std::uint64_t lowered = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto g = scaled(x[i], scale[i], bias[i]);
    raised += is_below(g, std::min(lo[i], hi[i])) ? 1 : 0;  // lo > hi gives hi
    lowered += is_above(g, hi[i]) ? 1 : 0;
  }
  return {raised, lowered, 0, false};
}

template <class T, bool kVaries>
struct ScaleIntegers {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const Operation& operation, const Operands& operands,
                                         const std::byte* in, std::byte* out, std::size_t count) noexcept {
    scale_all<kLevel, kVaries>(operation, operands, reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out),
                               count);
  }
};

template <class T>
using ScaleByEach = ScaleIntegers<T, true>;

template <class T>
using ScaleByNumbers = ScaleIntegers<T, false>;

template <class T>
struct CountScaled {
  [[gnu::always_inline]] static ElementCounts run(const Operation& operation, const Operands& operands,
                                                  const std::byte* in, std::size_t count) noexcept {
    const T* const from = reinterpret_cast<const T*>(in);
    if constexpr (sizeof(T) == sizeof(double))
      if (operation.arithmetic == Arithmetic::integer)
        return count_elements<T, Operation::Integer>(operands, from, count);
    return count_elements<T, double>(operands, from, count);
  }
};

/// Runs the loop for the type of an integer dtype.
template <template <class T> class Loop, class... Arguments>
auto run_integers(SimdLevel level, const Operation& operation, const Arguments&... arguments) noexcept {
  return with_type(operation.dtype, [&]<class T>() {
    using Integer = std::conditional_t<std::is_integral_v<T>, T, std::int64_t>;
    return run_loop<Loop<Integer>>(level, operation, arguments...);
  });
}

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

void scale_integers(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                    std::size_t count, SimdLevel level) noexcept {
  if (operands.vary())
    run_integers<ScaleByEach>(level, operation, operands, in, out, count);
  else
    run_integers<ScaleByNumbers>(level, operation, operands, in, out, count);
}

ElementCounts count_scaled(const Operation& operation, const Operands& operands, const std::byte* in,
                           std::size_t count, SimdLevel level) noexcept {
  return run_integers<CountScaled>(level, operation, operands, in, count);
}

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
