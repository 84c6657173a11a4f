#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "clip/operation.hpp"
#include "element/dtype.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/levels.hpp"

/// The last steps of convert(), which round working elements and store them as elements of another dtype.
namespace clipper {

/// Elements for which a step has floats of its own.
constexpr std::size_t kFloats = 256;

/// Calls step(in, out, length) for parts of up to kFloats elements.
template <class In, class Out, class Step>
[[gnu::always_inline]] inline void by_floats(const In* in, Out* out, std::size_t count,
                                             const Step& step) noexcept {
  for (std::size_t done = 0; done < count; done += kFloats)
    step(in + done, out + done, std::min(kFloats, count - done));
}

/// x as an integer, by additions that round to nearest even: the x86-64 baseline has no instruction for it.
/// Keeps NaN and the sign of zero.
template <Round kRound, class T>
[[gnu::always_inline]] inline T rounded(T x) noexcept {
  constexpr T kIntegersFrom = sizeof(T) == sizeof(float) ? T{1 << 23} : T{1LL << 52};
  const T magnitude = std::fabs(x);
  const T sum = (magnitude + kIntegersFrom) - kIntegersFrom;
  const T even = magnitude < kIntegersFrom ? sum : magnitude;  // of the magnitude, like the other two
  const T down = even > magnitude ? even - 1 : even;
  const T up = even < magnitude ? even + 1 : even;
  T result = even;
  if constexpr (kRound == Round::half_away) result = magnitude - down >= T{0.5} ? down + 1 : down;
  if constexpr (kRound == Round::trunc) result = down;
  if constexpr (kRound == Round::floor) result = x < 0 ? up : down;
  if constexpr (kRound == Round::ceil) result = x < 0 ? down : up;
  return std::copysign(result, x);
}

template <class Working, Round kRound>
struct RoundElements {
  [[gnu::always_inline]] static void run(Working* x, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) x[i] = rounded<kRound>(x[i]);
  }
};

/// x as a Float of its size. The last bit that a bfloat16 can depend on is set if x is not exact, so that
/// rounding the result equals rounding the integer.
template <class Float, class T>
[[gnu::always_inline]] inline Float rounded_to_odd(T x) noexcept {
  if constexpr (sizeof(T) == sizeof(Float) && std::is_integral_v<T>) {
    constexpr int kDropped = sizeof(T) == sizeof(double) ? 12 : 8;  // leaves as many bits as a Float has
    constexpr T kUnit = T{1} << kDropped;
    constexpr T kEnd = T{1} << (8 * sizeof(T) - kDropped);
    const bool is_exact = x < kEnd && (std::is_unsigned_v<T> || x > -kEnd);
    if (!is_exact) x = (x & ~(kUnit - 1)) | ((x & (kUnit - 1)) != 0 ? kUnit : T{0});
  }
  return static_cast<Float>(x);
}

/// A working element as a float, so that rounding it to a shorter one equals rounding x.
template <class Working>
[[gnu::always_inline]] inline float float_to_odd(Working x) noexcept {
  if constexpr (sizeof(Working) <= sizeof(float))
    return rounded_to_odd<float>(x);
  else
    return round_to_odd(rounded_to_odd<double>(x));
}

/// A working element as a float, so that rounding it to float16 equals rounding x. An integer that is no
/// float is beyond the range of float16.
template <class Working>
[[gnu::always_inline]] inline float float_for_half(Working x) noexcept {
  if constexpr (std::is_same_v<Working, double>)
    return round_to_odd(x);
  else
    return static_cast<float>(x);
}

/// A working element as a float, rounded once. LLVM 20 converts vectors of 64-bit integers on AArch64 to
/// double, which rounds, and then to float. Beyond 53 bits the integer is rounded to odd first, which makes a
/// double of it.
template <class Working>
[[gnu::always_inline]] inline float nearest_float(Working x) noexcept {
#if defined(__clang__) && defined(__aarch64__)
  if constexpr (std::is_integral_v<Working> && sizeof(Working) == sizeof(double)) {
    constexpr Working kExact = Working{1} << 53;
    constexpr Working kLow = 0xfff;
    const Working odd = (x & ~kLow) | ((x & kLow) != 0 ? 0x800 : 0);
    const bool is_exact = x <= kExact && (std::is_unsigned_v<Working> || x >= Working{0} - kExact);
    return static_cast<float>(static_cast<double>(is_exact ? x : odd));
  }
#endif
  return static_cast<float>(x);
}

/// A working element plus zero_point as an element of To, rounded to nearest even. For integers, x is an
/// integer and the sum is in the range of To.
template <class To, class Working>
[[gnu::always_inline]] inline To stored(Working x, [[maybe_unused]] std::uint64_t zero_point) noexcept {
  if constexpr (HalfType<To>) {
    if constexpr (std::is_same_v<To, Float16>)
      return narrow_half<To>(float_for_half(x));
    else
      return narrow_half<To>(float_to_odd(x));
  } else if constexpr (std::is_same_v<To, float>) {
    return nearest_float(x);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_integral_v<Working>) {
    using Sum = UnsignedOfSize<std::max(sizeof(To), sizeof(Working))>;
    return static_cast<To>(static_cast<Sum>(static_cast<Sum>(x) + static_cast<Sum>(zero_point)));
  } else if constexpr (sizeof(To) < sizeof(std::int32_t)) {
    return static_cast<To>(static_cast<std::int32_t>(x) + static_cast<std::int32_t>(zero_point));
  } else if constexpr (sizeof(To) == sizeof(std::int32_t)) {
    // The conversion of double to int32 has an instruction in all instruction sets.
    constexpr double kMiddle = std::is_signed_v<To> ? 0 : 0x1p31;
    const double sum = static_cast<double>(x) + static_cast<double>(static_cast<std::int64_t>(zero_point));
    return static_cast<To>(static_cast<std::uint32_t>(static_cast<std::int32_t>(sum - kMiddle)) +
                           static_cast<std::uint32_t>(kMiddle));
  } else {
    const auto magnitude = static_cast<std::uint64_t>(std::fabs(x));
    return static_cast<To>((x < 0 ? 0 - magnitude : magnitude) + zero_point);
  }
}

/// The upper 52 bits, the last of which is set if a lower one is.
template <class Float>
[[nodiscard]] inline Float rounded_to_odd(Wide x) noexcept {
  int shift = 0;
  while (x.magnitude >> shift >> 52 != 0) ++shift;
  const auto upper = static_cast<std::uint64_t>(x.magnitude >> shift);
  const bool is_exact = static_cast<UInt128>(upper) << shift == x.magnitude;
  const double magnitude = std::ldexp(static_cast<double>(is_exact ? upper : upper | 1), shift);
  return x.negative ? -magnitude : magnitude;
}

template <class To>
[[nodiscard]] inline To stored(Wide x, std::uint64_t zero_point) noexcept {
  if constexpr (std::is_integral_v<To>) {
    return static_cast<To>(x.bits() + zero_point);
  } else if constexpr (std::is_same_v<To, double>) {
    const auto magnitude = static_cast<double>(x.magnitude);
    return x.negative ? -magnitude : magnitude;
  } else {
    return stored<To>(rounded_to_odd<double>(x), 0);
  }
}

/// Stores working elements as those of a dtype without kernels.
template <class Working>
struct StoreNarrowed {
  [[gnu::always_inline]] static void run(const Working* __restrict in, std::uint8_t* __restrict out,
                                         std::size_t count, Narrowing narrow) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = narrow(float_to_odd(in[i]));
  }
};

/// The same of x rounded to the nearest integer, half to even. A sum near 1.5 * 2^52, or 1.5 * 2^23 of
/// floats, has no bits for fractions, and the integer in its last bits.
template <class To, class Working>
[[gnu::always_inline]] inline To stored_rounded(Working x, std::uint64_t zero_point) noexcept {
  constexpr bool kFits = sizeof(To) < sizeof(Working) && std::is_floating_point_v<Working>;
  if constexpr (kFits) {
    constexpr Working kNoFraction = sizeof(Working) == sizeof(float) ? Working{3 << 22} : Working{3LL << 51};
    using Bits = UnsignedOfSize<sizeof(Working)>;
    return static_cast<To>(std::bit_cast<Bits>(x + kNoFraction) + static_cast<Bits>(zero_point));
  } else {
    return stored<To>(rounded<Round::half_even>(x), zero_point);
  }
}

/// Whether store_nearest() has instructions for it. g++ finds those of AVX-512 for 64 bits in the loop of
/// Store.
template <SimdLevel kLevel, class Working, class To>
constexpr bool kStoresNearest =
#if defined(__x86_64__)
    std::is_integral_v<To> &&
    ((std::is_same_v<Working, float> && sizeof(To) == sizeof(float)) ||
     (std::is_floating_point_v<Working> && sizeof(To) == sizeof(double) && kLevel != SimdLevel::v4));
#else
    false;
#endif

/// Also rounds to the nearest integer, as casts to integers do unless they are told otherwise, if kRounds.
template <class Working, class To, bool kRounds>
struct Store {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const Working* __restrict in, To* __restrict out, std::size_t count,
                                         std::uint64_t zero_point) noexcept {
    if constexpr (kStoresNearest<kLevel, Working, To>)
      if (zero_point == 0) return store_nearest<vector_bytes(kLevel)>(in, out, count);
    if constexpr (std::is_same_v<To, Float16> && std::is_same_v<Working, float> &&
                  kLevel != SimdLevel::baseline)
      return narrow_block<vector_bytes(kLevel)>(in, count, out);
    if constexpr (std::is_same_v<To, Float16> && kLevel != SimdLevel::baseline)
      return by_floats(in, out, count, [](const Working* numbers, To* halves, std::size_t length) {
        std::array<float, kFloats> floats;
        for (std::size_t i = 0; i < length; ++i) floats[i] = float_for_half(numbers[i]);
        narrow_block<vector_bytes(kLevel)>(floats.data(), length, halves);
      });
    for (std::size_t i = 0; i < count; ++i)
      if constexpr (kRounds)
        out[i] = stored_rounded<To>(in[i], zero_point);
      else
        out[i] = stored<To>(in[i], zero_point);
  }
};

/// Clips elements and stores them as those of another dtype in one loop, without a tile between. Returns
/// whether all results are right: not if there is NaN, or no such loop.
template <class Working, class To>
struct ClipAndStore {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static bool run(const Working* __restrict in, To* __restrict out, Working lo,
                                         Working hi, std::size_t count) noexcept {
    constexpr bool kRounds = std::is_floating_point_v<Working> && std::is_integral_v<To>;
    if constexpr (kRounds && sizeof(To) == sizeof(double) && kLevel != SimdLevel::v4) return false;
    UnsignedOfSize<sizeof(Working)> nan = 0;
    std::size_t i = 0;
    if constexpr (std::is_same_v<To, Float16> && kLevel != SimdLevel::baseline) {
      by_floats(in, out, count, [&](const Working* numbers, To* halves, std::size_t length) {
        std::array<float, kFloats> floats;
        for (std::size_t j = 0; j < length; ++j) floats[j] = float_for_half(clipped(numbers[j], lo, hi));
        narrow_block<vector_bytes(kLevel)>(floats.data(), length, halves);
      });
      i = count;
    }
    if constexpr (kStoresNearest<kLevel, Working, To> && sizeof(To) == sizeof(float)) {
      using Lanes =
          Vector<float, std::min<std::size_t>(vector_bytes(kLevel), 32)>;  // 64 cross lines of caches
      Vector<std::int32_t, sizeof(Lanes)> any{};
      for (; i + sizeof(Lanes) / sizeof(float) <= count; i += sizeof(Lanes) / sizeof(float)) {
        Lanes x;
        std::memcpy(&x, in + i, sizeof x);
        any |= x != x;  // NOLINT(misc-redundant-expression)
        x = x > lo ? x : lo + Lanes{};
        x = x < hi ? x : hi + Lanes{};
        store_nearest<To, sizeof(Lanes)>(x, out + i);
      }
      for (std::size_t lane = 0; lane < sizeof(Lanes) / sizeof(float); ++lane) nan |= any[lane] != 0 ? 1 : 0;
    }
    for (; i < count; ++i) {
      const Working x = in[i];
      nan |= x != x ? 1 : 0;  // NOLINT(misc-redundant-expression)
      if constexpr (kRounds) {
        const Working raised = x > lo ? x : lo;  // also NaN, which is no integer
        out[i] = stored_rounded<To>(raised < hi ? raised : hi, 0);
      } else {
        out[i] = stored<To>(clipped(x, lo, hi), 0);
      }
    }
    return nan == 0;
  }
};

template <class Working>
[[nodiscard]] bool clip_and_store(SimdLevel level, DType to, const std::byte* in, std::byte* out, Working lo,
                                  Working hi, std::size_t count) noexcept {
  return with_type(to, [&]<class To>() {
    if constexpr (!std::is_same_v<Working, To> && (std::is_integral_v<Working> || !HalfType<To>))
      return run_loop<ClipAndStore<Working, To>>(level, reinterpret_cast<const Working*>(in),
                                                 reinterpret_cast<To*>(out), lo, hi, count);
    return false;
  });
}

}  // namespace clipper
