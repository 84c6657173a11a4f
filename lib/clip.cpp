// One loop per kind of arithmetic, each a template over the element type and the byte order, inlined into one
// wrapper per instruction set: the compiler writes the SIMD code, so the rule is written once and cannot
// differ between instruction sets, loop bodies and loop tails.
//
// The loops take `in` and `out` that are the same place (in-place use) or apart; iterations never depend on
// each other, which the compiler must be told: it would guard the vector loop with an overlap test that
// in-place use fails.

#include "clip.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "half.hpp"
#include "number.hpp"
#include "rule.hpp"

#if defined(__clang__)
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define CLIPPER_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace clipper {
namespace {

template <class T>
[[gnu::always_inline]] inline bool is_nan(T x) noexcept {
  if constexpr (HalfType<T>)
    return (x.bits & 0x7fff) > T::kInfinity;
  else
    return x != x;
}

template <class T>
[[gnu::always_inline]] inline auto rule_of(const Operation& operation) noexcept {
  const T lo = from_bits<T>(operation.lo);
  const T hi = from_bits<T>(operation.hi);
  const T nan = from_bits<T>(operation.nan.value_or(0));
  if constexpr (HalfType<T>)
    return HalfRule<T>{lo, hi, nan, operation.nan.has_value()};
  else
    return Rule<T>{lo, hi, nan, operation.nan.has_value()};
}

template <bool kSwap, class T>
[[gnu::always_inline]] inline T in_order(T x) noexcept {
  if constexpr (!kSwap || sizeof(T) == 1)
    return x;
  else if constexpr (HalfType<T>)
    return {in_order<true>(x.bits)};
  else if constexpr (sizeof(T) == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(x)));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(x)));
  else
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(x)));
}

// Scale and bias.

template <class T>
[[gnu::always_inline]] inline T truncated(double g) noexcept {
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
  if constexpr (sizeof(T) < sizeof(double)) {
    constexpr auto kHighest = static_cast<double>(std::numeric_limits<T>::max());
    g = g < kLowest ? kLowest : g;
    g = g > kHighest ? kHighest : g;
    return static_cast<T>(g);
  } else {
    constexpr double kBeyond =
        std::is_signed_v<T> ? 0x1p63 : 0x1p64;  // the highest 64-bit integers are no doubles
    if (g < kLowest) return std::numeric_limits<T>::lowest();
    return g < kBeyond ? static_cast<T>(g) : std::numeric_limits<T>::max();
  }
}

/// x * scale + bias, saturated to T. A product can exceed even 128 bits with a sign; beyond 2^126 no 64-bit
/// bias brings it back into T's range.
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

// The loops. Saturating an integer before the rule gives the same element as clipping the wide value and
// truncating it afterwards, because the bounds are integers of the type.

template <bool kSwap, class T, class F>
[[gnu::always_inline]] inline void for_each_element(const T* in, T* out, std::size_t count, F f) noexcept {
  CLIPPER_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = in_order<kSwap>(f(in_order<kSwap>(in[i])));
}

template <SimdLevel kLevel, HalfType T>
[[gnu::always_inline]] inline void widen_tile(const T* in, float* out, std::size_t count) noexcept {
  if constexpr (std::is_same_v<T, Float16> && kLevel != SimdLevel::baseline)
    widen_all_f16c(in, out, count);
  else
    widen_all(in, out, count);
}

template <SimdLevel kLevel, HalfType T>
[[gnu::always_inline]] inline void narrow_tile(const float* in, T* out, std::size_t count) noexcept {
  if constexpr (std::is_same_v<T, Float16> && kLevel != SimdLevel::baseline)
    narrow_all_f16c(in, out, count);
  else
    narrow_all(in, out, count);
}

template <SimdLevel kLevel, bool kSwap, HalfType T>
[[gnu::always_inline]] inline void scale_and_clip_halves(const Operation& operation, const T* in, T* out,
                                                         std::size_t count) noexcept {
  constexpr std::size_t kTile = 512;
  alignas(64) std::array<float, kTile> wide;
  alignas(64) std::array<T, kTile> swapped;
  const auto widened = [](ElementBits bits) { return widen(from_bits<T>(bits)); };
  const Rule<float> rule{widened(operation.lo), widened(operation.hi), widened(operation.nan.value_or(0)),
                         operation.nan.has_value()};
  const auto scale = static_cast<float>(operation.scale);
  const auto bias = static_cast<float>(operation.bias);
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = std::min(kTile, count - done);
    if constexpr (kSwap)
      for (std::size_t i = 0; i < length; ++i) swapped[i] = in_order<true>(in[done + i]);
    widen_tile<kLevel>(kSwap ? swapped.data() : in + done, wide.data(), length);
    for (std::size_t i = 0; i < length; ++i) wide[i] = rule(wide[i] * scale + bias);
    narrow_tile<kLevel>(wide.data(), kSwap ? swapped.data() : out + done, length);
    if constexpr (kSwap)
      for (std::size_t i = 0; i < length; ++i) out[done + i] = in_order<true>(swapped[i]);
  }
}

template <bool kSwap, class T>
[[gnu::always_inline]] inline void scale_and_clip_floats(const Operation& operation, const T* in, T* out,
                                                         std::size_t count) noexcept {
  const Rule<T> rule = rule_of<T>(operation);
  const T scale = static_cast<T>(operation.scale);
  const T bias = static_cast<T>(operation.bias);
  for_each_element<kSwap>(
      in, out, count, [=](T x) __attribute__((always_inline)) { return rule(x * scale + bias); });
}

template <bool kSwap, class T>
[[gnu::always_inline]] inline void scale_and_clip_integers(const Operation& operation, const T* in, T* out,
                                                           std::size_t count) noexcept {
  const Rule<T> rule = rule_of<T>(operation);
  if constexpr (sizeof(T) == 8) {
    if (operation.arithmetic == Arithmetic::integer) {
      return for_each_element<kSwap>(
          in, out, count, [&](T x) __attribute__((always_inline)) {
            return rule(scaled(x, operation.integer_scale, operation.integer_bias));
          });
    }
  }
  const double scale = operation.scale;
  const double bias = operation.bias;
  for_each_element<kSwap>(
      in, out, count, [=](T x) __attribute__((always_inline)) {
        return rule(truncated<T>(static_cast<double>(x) * scale + bias));
      });
}

template <SimdLevel kLevel, bool kSwap, class T>
[[gnu::always_inline]] inline void scale_and_clip(const Operation& operation, const T* in, T* out,
                                                  std::size_t count) noexcept {
  if constexpr (HalfType<T>)
    scale_and_clip_halves<kLevel, kSwap>(operation, in, out, count);
  else if constexpr (std::is_floating_point_v<T>)
    scale_and_clip_floats<kSwap>(operation, in, out, count);
  else
    scale_and_clip_integers<kSwap>(operation, in, out, count);
}

template <SimdLevel kLevel, bool kSwap, class T>
[[gnu::always_inline]] inline void clip_all(const Operation& operation, const T* in, T* out,
                                            std::size_t count) noexcept {
  if (operation.arithmetic == Arithmetic::none)
    for_each_element<kSwap>(in, out, count, rule_of<T>(operation));
  else
    scale_and_clip<kLevel, kSwap>(operation, in, out, count);
}

template <SimdLevel kLevel, class T>
[[gnu::always_inline]] inline void clip_bytes(const Operation& operation, const std::byte* in, std::byte* out,
                                              std::size_t count) noexcept {
  const T* from = reinterpret_cast<const T*>(in);
  T* to = reinterpret_cast<T*>(out);
  if (operation.order == kNativeOrder)
    clip_all<kLevel, false>(operation, from, to, count);
  else
    clip_all<kLevel, true>(operation, from, to, count);
}

// The instruction sets: one wrapper each, which everything above is inlined into.

using Kernel = void (*)(const Operation&, const std::byte*, std::byte*, std::size_t) noexcept;

template <class T>
void clip_baseline(const Operation& operation, const std::byte* in, std::byte* out,
                   std::size_t count) noexcept {
  clip_bytes<SimdLevel::baseline, T>(operation, in, out, count);
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("arch=x86-64-v3")]] void clip_v3(const Operation& operation, const std::byte* in,
                                               std::byte* out, std::size_t count) noexcept {
  clip_bytes<SimdLevel::v3, T>(operation, in, out, count);
}

template <class T>
[[gnu::target("arch=x86-64-v4")]] void clip_v4(const Operation& operation, const std::byte* in,
                                               std::byte* out, std::size_t count) noexcept {
  clip_bytes<SimdLevel::v4, T>(operation, in, out, count);
}
#endif

template <class T>
Kernel kernel_for(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: break;
#if defined(__x86_64__)
    case SimdLevel::v3: return clip_v3<T>;
    case SimdLevel::v4: return clip_v4<T>;
#else
    case SimdLevel::v3: break;
    case SimdLevel::v4: break;
#endif
  }
  return clip_baseline<T>;
}

template <bool kSwap, class T>
std::optional<std::size_t> find_nan_in(const T* elements, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const T* const block = elements + begin;
    const std::size_t length = std::min(kBlock, count - begin);
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) any |= is_nan(in_order<kSwap>(block[i]));
    if (any)
      return begin +
             static_cast<std::size_t>(
                 std::find_if(block, block + length, [](T x) { return is_nan(in_order<kSwap>(x)); }) - block);
  }
  return std::nullopt;
}

}  // namespace

void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept {
  const Kernel kernel = with_type(operation.dtype, [=]<class T>() { return kernel_for<T>(level); });
  kernel(operation, in, out, count);
}

std::optional<std::size_t> find_nan(DType dtype, ByteOrder order, const std::byte* elements,
                                    std::size_t count) noexcept {
  return with_type(dtype, [=]<class T>() -> std::optional<std::size_t> {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    const T* const typed = reinterpret_cast<const T*>(elements);
    return order == kNativeOrder ? find_nan_in<false>(typed, count) : find_nan_in<true>(typed, count);
  });
}

}  // namespace clipper
