// Loops inlined into one wrapper per instruction set: over vectors (scale_lanes.hpp) for elements of at most
// 32 bits, otherwise plain loops that the compiler vectorizes.
//
// CLIPPER_INDEPENDENT_ITERATIONS tells the compiler that `in` and `out` are equal or do not overlap. Without
// it the compiler guards the vector loop with an overlap test, which in == out fails.

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/scale_integers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "clip/scale_lanes.hpp"
#include "element/byte_order.hpp"
#include "element/number.hpp"

#if defined(__clang__)
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace clipper {
namespace {

/// What the elements are clipped to: the bounds of the operation, or the range of T if each element has its
/// own.
template <class T>
struct Bounds {
  T lo;
  T hi;
  [[gnu::always_inline]] Bounds(const Operation& operation, const NoVectors& /*vectors*/) noexcept
      : lo(from_bits<T>(operation.lo)), hi(from_bits<T>(operation.hi)) {}
  [[gnu::always_inline]] Bounds(const Operation& /*operation*/, const ParameterVectors& /*vectors*/) noexcept
      : lo(std::numeric_limits<T>::lowest()), hi(std::numeric_limits<T>::max()) {}
};

template <class T>
[[gnu::always_inline]] inline T clipped(T g, T lo, T hi) noexcept {
  g = g < lo ? lo : g;
  return g > hi ? hi : g;
}

/// g truncated and saturated to T, a 64-bit integer, whose highest values have no double.
template <class T>
[[gnu::always_inline]] inline T truncated(double g) noexcept {
  constexpr double kBeyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
  if (g < static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
  return g < kBeyond ? static_cast<T>(g) : std::numeric_limits<T>::max();
}

/// x * scale + bias, saturated to T. The product may exceed Int128, so it is capped at 2^126: no 64-bit bias
/// brings a larger one back into T's range.
template <class T>
[[gnu::always_inline]] inline T scaled(T x, Operation::Integer scale, Operation::Integer bias) noexcept {
  const bool x_negative = x < 0;
  const auto x_magnitude = x_negative ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const auto product = static_cast<UInt128>(x_magnitude) * scale.magnitude;
  const auto magnitude = static_cast<Int128>(std::min(product, UInt128{1} << 126));
  const Int128 g = (x_negative != scale.negative ? -magnitude : magnitude) +
                   (bias.negative ? -Int128{bias.magnitude} : Int128{bias.magnitude});
  return static_cast<T>(
      std::clamp(g, Int128{std::numeric_limits<T>::lowest()}, Int128{std::numeric_limits<T>::max()}));
}

/// A scale or bias that all elements have. In its place can be a pointer to that of each element.
template <class F>
struct Same {
  F value;
  [[gnu::always_inline]] const F& operator[](std::size_t /*position*/) const noexcept { return value; }
};

template <Byteswap kSwap, class T, class F>
[[gnu::always_inline]] inline void for_each_element(const T* in, T* out, std::size_t count, F f) noexcept {
  CLIPPER_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = byteswap_if<kSwap>(f(byteswap_if<kSwap>(in[i]), i));
}

/// In two loops, because g++ 12 vectorizes a single loop badly: with masks that it must narrow.
template <Byteswap kSwap, class T, class Factors>
[[gnu::always_inline]] inline void scale_in_blocks(Factors scale, Factors bias, Bounds<T> bounds, const T* in,
                                                   T* out, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 256;
  const auto lo = static_cast<double>(bounds.lo);
  const auto hi = static_cast<double>(bounds.hi);
  alignas(64) std::array<double, kBlock> wide;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t length = std::min(kBlock, count - done);
    for (std::size_t i = 0; i < length; ++i)
      wide[i] = clipped(
          static_cast<double>(byteswap_if<kSwap>(in[done + i])) * scale[done + i] + bias[done + i], lo, hi);
    for (std::size_t i = 0; i < length; ++i) out[done + i] = byteswap_if<kSwap>(static_cast<T>(wide[i]));
  }
}

#if defined(__x86_64__)
/// scale_lanes() for elements of 8 bits, too, which are scaled as if they had 16.
template <std::size_t kBytes, Byteswap kSwap, class T>
[[gnu::always_inline]] inline void scale_in_lanes(const DoubleOperation& operation, const T* in, T* out,
                                                  std::size_t count) noexcept {
  if constexpr (sizeof(T) > 1) {
    scale_lanes<kBytes, kSwap>(operation, in, out, count);
  } else {
    std::array<std::int16_t, 256> wide;
    for (std::size_t done = 0; done < count; done += wide.size()) {
      const std::size_t length = std::min(wide.size(), count - done);
      for (std::size_t i = 0; i < length; ++i) wide[i] = in[done + i];
      scale_lanes<kBytes, Byteswap::no>(operation, wide.data(), wide.data(), length);
      for (std::size_t i = 0; i < length; ++i) out[done + i] = static_cast<T>(wide[i]);
    }
  }
}
#endif

/// In two loops, because AVX2 compares vectors of 64-bit integers, but does not convert them.
template <Byteswap kSwap, class T>
[[gnu::always_inline]] inline void scale_then_clip(double scale, double bias, Bounds<T> bounds, const T* in,
                                                   T* out, std::size_t count) noexcept {
  std::array<T, 256> scaled;
  for (std::size_t done = 0; done < count; done += scaled.size()) {
    const std::size_t length = std::min(scaled.size(), count - done);
    for (std::size_t i = 0; i < length; ++i)
      scaled[i] = truncated<T>(static_cast<double>(byteswap_if<kSwap>(in[done + i])) * scale + bias);
    for (std::size_t i = 0; i < length; ++i)
      out[done + i] = byteswap_if<kSwap>(clipped(scaled[i], bounds.lo, bounds.hi));
  }
}

template <SimdLevel kLevel, Byteswap kSwap, class T, class Factors>
[[gnu::always_inline]] inline void scale_in_float64(Factors scale, Factors bias, Bounds<T> bounds,
                                                    const T* in, T* out, std::size_t count) noexcept {
  if constexpr (sizeof(T) < sizeof(double)) {
#if defined(__x86_64__)
    if constexpr (std::is_same_v<Factors, Same<double>>)
      return scale_in_lanes<vector_bytes(kLevel), kSwap>(
          {scale.value, bias.value, static_cast<double>(bounds.lo), static_cast<double>(bounds.hi)}, in, out,
          count);
#endif
    scale_in_blocks<kSwap>(scale, bias, bounds, in, out, count);
  } else if constexpr (kLevel == SimdLevel::v3 && std::is_same_v<Factors, Same<double>>) {
    scale_then_clip<kSwap>(scale.value, bias.value, bounds, in, out, count);
  } else {
    for_each_element<kSwap>(
        in, out, count, [=](T x, std::size_t i) __attribute__((always_inline)) {
          return clipped(truncated<T>(static_cast<double>(x) * scale[i] + bias[i]), bounds.lo, bounds.hi);
        });
  }
}

template <Byteswap kSwap, class T, class Factors>
[[gnu::always_inline]] inline void scale_exactly(Factors scale, Factors bias, Bounds<T> bounds, const T* in,
                                                 T* out, std::size_t count) noexcept {
  for_each_element<kSwap>(
      in, out, count, [=](T x, std::size_t i) __attribute__((always_inline)) {
        return clipped(scaled(x, scale[i], bias[i]), bounds.lo, bounds.hi);
      });
}

template <SimdLevel kLevel, Byteswap kSwap, class T>
[[gnu::always_inline]] inline void scale_all(const Operation& operation, const NoVectors& vectors,
                                             const T* in, T* out, std::size_t count) noexcept {
  using Integers = Same<Operation::Integer>;
  using Doubles = Same<double>;
  const Bounds<T> bounds(operation, vectors);
  if constexpr (sizeof(T) == sizeof(double))
    if (operation.arithmetic == Arithmetic::integer)
      return scale_exactly<kSwap>(Integers{operation.integer_scale}, Integers{operation.integer_bias}, bounds,
                                  in, out, count);
  scale_in_float64<kLevel, kSwap>(Doubles{operation.scale}, Doubles{operation.bias}, bounds, in, out, count);
}

template <SimdLevel kLevel, Byteswap kSwap, class T>
[[gnu::always_inline]] inline void scale_all(const Operation& operation, const ParameterVectors& vectors,
                                             const T* in, T* out, std::size_t count) noexcept {
  using Integers = const Operation::Integer*;
  using Doubles = const double*;
  const Bounds<T> bounds(operation, vectors);
  if constexpr (sizeof(T) == sizeof(double))
    if (operation.arithmetic == Arithmetic::integer)
      return scale_exactly<kSwap>(reinterpret_cast<Integers>(vectors.scale),
                                  reinterpret_cast<Integers>(vectors.bias), bounds, in, out, count);
  scale_in_float64<kLevel, kSwap>(reinterpret_cast<Doubles>(vectors.scale),
                                  reinterpret_cast<Doubles>(vectors.bias), bounds, in, out, count);
}

template <SimdLevel kLevel, class T, class Vectors>
[[gnu::always_inline]] inline void scale_bytes(const Operation& operation, const Vectors& vectors,
                                               const std::byte* in, std::byte* out,
                                               std::size_t count) noexcept {
  const T* from = reinterpret_cast<const T*>(in);
  T* to = reinterpret_cast<T*>(out);
  if (sizeof(T) == 1 || operation.order == kNativeOrder)
    scale_all<kLevel, Byteswap::no>(operation, vectors, from, to, count);
  else
    scale_all<kLevel, sizeof(T) == 1 ? Byteswap::no : Byteswap::yes>(operation, vectors, from, to, count);
}

template <class Vectors>
using Scaler = void (*)(const Operation&, const Vectors&, const std::byte*, std::byte*, std::size_t) noexcept;

template <class T, class Vectors>
void scale_baseline(const Operation& operation, const Vectors& vectors, const std::byte* in, std::byte* out,
                    std::size_t count) noexcept {
  scale_bytes<SimdLevel::baseline, T>(operation, vectors, in, out, count);
}

#if defined(__x86_64__)
template <class T, class Vectors>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] void scale_v3(const Operation& operation,
                                                              const Vectors& vectors, const std::byte* in,
                                                              std::byte* out, std::size_t count) noexcept {
  scale_bytes<SimdLevel::v3, T>(operation, vectors, in, out, count);
}

template <class T, class Vectors>
[[gnu::target("arch=x86-64-v4"), gnu::flatten]] void scale_v4(const Operation& operation,
                                                              const Vectors& vectors, const std::byte* in,
                                                              std::byte* out, std::size_t count) noexcept {
  scale_bytes<SimdLevel::v4, T>(operation, vectors, in, out, count);
}
#endif

template <class T, class Vectors>
Scaler<Vectors> scaler_for(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: break;
#if defined(__x86_64__)
    case SimdLevel::v3: return scale_v3<T, Vectors>;
    case SimdLevel::v4: return scale_v4<T, Vectors>;
#else
    case SimdLevel::v3: break;
    case SimdLevel::v4: break;
#endif
  }
  return scale_baseline<T, Vectors>;
}

template <class Vectors>
void scale_integers_with(const Operation& operation, const Vectors& vectors, const std::byte* in,
                         std::byte* out, std::size_t count, SimdLevel level) noexcept {
  const auto scaler = with_type(operation.dtype, [=]<class T>() -> Scaler<Vectors> {
    if constexpr (std::is_integral_v<T>)
      return scaler_for<T, Vectors>(level);
    else
      __builtin_unreachable();
  });
  scaler(operation, vectors, in, out, count);
}

}  // namespace

void scale_integers(const Operation& operation, const NoVectors& vectors, const std::byte* in, std::byte* out,
                    std::size_t count, SimdLevel level) noexcept {
  scale_integers_with(operation, vectors, in, out, count, level);
}

void scale_integers(const Operation& operation, const ParameterVectors& vectors, const std::byte* in,
                    std::byte* out, std::size_t count, SimdLevel level) noexcept {
  scale_integers_with(operation, vectors, in, out, count, level);
}

}  // namespace clipper
