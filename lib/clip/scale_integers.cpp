// Plain loops that the compiler vectorizes, inlined into one wrapper per instruction set.
//
// CLIPPER_INDEPENDENT_ITERATIONS tells the compiler that `in` and `out` are equal or do not overlap. Without
// it the compiler guards the vector loop with an overlap test, which in == out fails.

#include "clip/scale_integers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "element/byte_order.hpp"
#include "element/number.hpp"

#if defined(__clang__)
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace clipper {
namespace {

/// g saturated to the range of T, an integer of at most 32 bits.
template <class T>
[[gnu::always_inline]] inline double clamped(double g) noexcept {
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr auto kHighest = static_cast<double>(std::numeric_limits<T>::max());
  g = g < kLowest ? kLowest : g;
  return g > kHighest ? kHighest : g;
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

/// For 8-bit elements: a table of 256 results is small compared with any tensor for which speed matters.
template <class T>
[[gnu::always_inline]] inline void scale_by_table(double scale, double bias, const T* in, T* out,
                                                  std::size_t count) noexcept {
  std::array<T, 256> results;
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = static_cast<T>(clamped<T>(static_cast<double>(static_cast<T>(i)) * scale + bias));
  for (std::size_t i = 0; i < count; ++i) out[i] = results[static_cast<std::uint8_t>(in[i])];
}

/// In two loops, because g++ 12 vectorizes a single loop badly: with masks that it must narrow.
template <Byteswap kSwap, class T, class Factors>
[[gnu::always_inline]] inline void scale_in_blocks(Factors scale, Factors bias, const T* in, T* out,
                                                   std::size_t count) noexcept {
  constexpr std::size_t kBlock = 256;
  alignas(64) std::array<double, kBlock> wide;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t length = std::min(kBlock, count - done);
    for (std::size_t i = 0; i < length; ++i)
      wide[i] = clamped<T>(static_cast<double>(byteswap_if<kSwap>(in[done + i])) * scale[done + i] +
                           bias[done + i]);
    for (std::size_t i = 0; i < length; ++i) out[done + i] = byteswap_if<kSwap>(static_cast<T>(wide[i]));
  }
}

template <Byteswap kSwap, class T, class Factors>
[[gnu::always_inline]] inline void scale_exactly(Factors scale, Factors bias, const T* in, T* out,
                                                 std::size_t count) noexcept {
  for_each_element<kSwap>(
      in, out,
      count, [=](T x, std::size_t i) __attribute__((always_inline)) { return scaled(x, scale[i], bias[i]); });
}

template <Byteswap kSwap, class T, class Factors>
[[gnu::always_inline]] inline void scale_in_float64(Factors scale, Factors bias, const T* in, T* out,
                                                    std::size_t count) noexcept {
  if constexpr (sizeof(T) == 1 && std::is_same_v<Factors, Same<double>>)
    scale_by_table(scale.value, bias.value, in, out, count);
  else if constexpr (sizeof(T) < sizeof(double))
    scale_in_blocks<kSwap>(scale, bias, in, out, count);
  else
    for_each_element<kSwap>(
        in, out, count, [=](T x, std::size_t i) __attribute__((always_inline)) {
          return truncated<T>(static_cast<double>(x) * scale[i] + bias[i]);
        });
}

template <Byteswap kSwap, class T>
[[gnu::always_inline]] inline void scale_all(const Operation& operation, const NoVectors& /*vectors*/,
                                             const T* in, T* out, std::size_t count) noexcept {
  using Integers = Same<Operation::Integer>;
  using Doubles = Same<double>;
  if constexpr (sizeof(T) == sizeof(double))
    if (operation.arithmetic == Arithmetic::integer)
      return scale_exactly<kSwap>(Integers{operation.integer_scale}, Integers{operation.integer_bias}, in,
                                  out, count);
  scale_in_float64<kSwap>(Doubles{operation.scale}, Doubles{operation.bias}, in, out, count);
}

template <Byteswap kSwap, class T>
[[gnu::always_inline]] inline void scale_all(const Operation& operation, const ParameterVectors& vectors,
                                             const T* in, T* out, std::size_t count) noexcept {
  using Integers = const Operation::Integer*;
  using Doubles = const double*;
  if constexpr (sizeof(T) == sizeof(double))
    if (operation.arithmetic == Arithmetic::integer)
      return scale_exactly<kSwap>(reinterpret_cast<Integers>(vectors.scale),
                                  reinterpret_cast<Integers>(vectors.bias), in, out, count);
  scale_in_float64<kSwap>(reinterpret_cast<Doubles>(vectors.scale), reinterpret_cast<Doubles>(vectors.bias),
                          in, out, count);
}

template <class T, class Vectors>
[[gnu::always_inline]] inline void scale_bytes(const Operation& operation, const Vectors& vectors,
                                               const std::byte* in, std::byte* out,
                                               std::size_t count) noexcept {
  const T* from = reinterpret_cast<const T*>(in);
  T* to = reinterpret_cast<T*>(out);
  if (sizeof(T) == 1 || operation.order == kNativeOrder)
    scale_all<Byteswap::no>(operation, vectors, from, to, count);
  else
    scale_all<sizeof(T) == 1 ? Byteswap::no : Byteswap::yes>(operation, vectors, from, to, count);
}

template <class Vectors>
using Scaler = void (*)(const Operation&, const Vectors&, const std::byte*, std::byte*, std::size_t) noexcept;

template <class T, class Vectors>
void scale_baseline(const Operation& operation, const Vectors& vectors, const std::byte* in, std::byte* out,
                    std::size_t count) noexcept {
  scale_bytes<T>(operation, vectors, in, out, count);
}

#if defined(__x86_64__)
template <class T, class Vectors>
[[gnu::target("arch=x86-64-v3")]] void scale_v3(const Operation& operation, const Vectors& vectors,
                                                const std::byte* in, std::byte* out,
                                                std::size_t count) noexcept {
  scale_bytes<T>(operation, vectors, in, out, count);
}

template <class T, class Vectors>
[[gnu::target("arch=x86-64-v4")]] void scale_v4(const Operation& operation, const Vectors& vectors,
                                                const std::byte* in, std::byte* out,
                                                std::size_t count) noexcept {
  scale_bytes<T>(operation, vectors, in, out, count);
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
