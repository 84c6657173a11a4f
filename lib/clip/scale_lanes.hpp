#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "clip/operation.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/vector.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// x * scale + bias, and the bounds, in registers: of float16 in float32; of integers of 16 and 32 bits in
/// float64, or of 16 bits in float32.
namespace clipper {

/// Scale, bias and the clip of float16 in registers, which instructions widen and narrow.
struct ScaleHalves {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const Operation& operation, const std::byte* in, std::byte* out,
                                         std::size_t count) noexcept {
    if constexpr (kLevel != SimdLevel::baseline) run_vectors<vector_bytes(kLevel)>(operation, in, out, count);
  }

 private:
  template <std::size_t kBytes>
  [[gnu::always_inline]] static void run_vectors(const Operation& operation, const std::byte* in,
                                                 std::byte* out, std::size_t count) noexcept {
    using Floats = Vector<float, kBytes>;
    const Floats lo = broadcast<kBytes>(widen(from_bits<Float16>(operation.lo)));
    const Floats hi = broadcast<kBytes>(widen(from_bits<Float16>(operation.hi)));
    const Floats scale = broadcast<kBytes>(static_cast<float>(operation.scale.head));
    const Floats bias = broadcast<kBytes>(static_cast<float>(operation.bias.head));
    const auto scale_vector = [&](const std::byte* from, std::byte* to) __attribute__((always_inline)) {
      HalfVector<kBytes / 2> x;
      std::memcpy(&x, from, sizeof x);
      Floats g;
      widen_f16c(x, g);
      g = g * scale + bias;
      g = g < lo ? lo : g;
      g = g > hi ? hi : g;
      narrow_f16c(g, x);
      std::memcpy(to, &x, sizeof x);
    };
    std::array<std::byte, kBytes / 2> last{};
    const std::size_t rest = count * sizeof(Float16) % last.size();
    const std::size_t whole = count * sizeof(Float16) - rest;
    for (std::size_t i = 0; i < whole; i += last.size()) scale_vector(in + i, out + i);
    if (rest == 0) return;
    std::memcpy(last.data(), in + whole, rest);
    scale_vector(last.data(), last.data());
    std::memcpy(out + whole, last.data(), rest);
  }
};

#if defined(__x86_64__)

/// What scale_lanes() does to every element: g = x * scale + bias, clipped to [lo, hi] and truncated.
struct DoubleOperation {
  double scale;
  double bias;
  double lo;
  double hi;
};

/// Whether x * scale + bias of every x of up to 16 bits is within int32, so that integers can be clipped.
[[gnu::always_inline]] inline bool fits_int32(const DoubleOperation& operation) noexcept {
  return std::abs(operation.scale) * 0x1p16 + std::abs(operation.bias) < 0x1p31;
}

/// x * scale + bias in float64, clipped if kClips.
template <std::size_t kBytes, bool kClips>
class DoubleRule {
 public:
  using Doubles = Vector<double, kBytes>;

  [[gnu::always_inline]] explicit DoubleRule(const DoubleOperation& operation) noexcept
      : scale_(broadcast<kBytes>(operation.scale)),
        bias_(broadcast<kBytes>(operation.bias)),
        lo_(broadcast<kBytes>(operation.lo)),
        hi_(broadcast<kBytes>(operation.hi)) {}

  [[gnu::always_inline]] void apply(Doubles& x) const noexcept {
    x = x * scale_ + bias_;
    if constexpr (kClips) {
      x = x < lo_ ? lo_ : x;
      x = x > hi_ ? hi_ : x;
    }
  }

 private:
  Doubles scale_;
  Doubles bias_;
  Doubles lo_;
  Doubles hi_;
};

/// Without an instruction for unsigned integers, the bits of 2^52 + x are made of those of x. The sum with
/// 2^52 rounds g to an integer, which is 1 too large if it is above g.
template <std::size_t kBytes>
[[gnu::always_inline]] inline Vector<std::uint64_t, kBytes> scale_unsigned(
    const DoubleRule<kBytes, true>& rule, const Vector<std::uint64_t, kBytes>& x) noexcept {
  using Doubles = Vector<double, kBytes>;
  using Bits = Vector<std::uint64_t, kBytes>;
  const Doubles two_to_52 = broadcast<kBytes>(0x1p52);
  Doubles g = __builtin_bit_cast(Doubles, x | __builtin_bit_cast(Bits, two_to_52)) - two_to_52;
  rule.apply(g);
  const Doubles sum = g + two_to_52;
  return __builtin_bit_cast(Bits, sum) + __builtin_bit_cast(Bits, sum - two_to_52 > g);
}

template <std::size_t kBytes, class T, bool kClips>
[[gnu::always_inline]] inline void scale_vector(const DoubleRule<kBytes, kClips>& rule,
                                                Vector<T, kBytes>& x) noexcept {
  if constexpr (std::is_signed_v<T> || kBytes == vector_bytes(SimdLevel::v4)) {
    DoublePair<kBytes> doubles;
    to_doubles(x, doubles);
    rule.apply(doubles.low);
    rule.apply(doubles.high);
    truncate(doubles, x);
  } else {
    constexpr std::uint64_t kEven = 0xffffffff;
    using Pairs = Vector<std::uint64_t, kBytes>;
    const auto pairs = __builtin_bit_cast(Pairs, x);
    const Pairs even = scale_unsigned<kBytes>(rule, pairs & kEven);
    const Pairs odd = scale_unsigned<kBytes>(rule, pairs >> 32);
    x = __builtin_bit_cast(Vector<T, kBytes>, (even & kEven) | odd << 32);
  }
}

/// Which byte of a vector of 16-bit integers becomes byte `to` of the vector that has the lower (kHalf = 0)
/// or upper half (1) of each 128-bit part of it in the upper 16 bits of 32-bit lanes, and also in the lower
/// ones.
template <std::size_t kHalf>
constexpr int widened_byte(std::size_t to) {
  const std::size_t in_part = to % 16;
  return static_cast<int>(to - in_part + 8 * kHalf + in_part / 4 * 2 + to % 2);
}

template <std::size_t kHalf, class T, std::size_t kBytes, std::size_t... kByte>
[[gnu::always_inline]] inline IntVector<kBytes> widened_half(
    const Vector<T, kBytes>& x, std::index_sequence<kByte...> /*of the bytes*/) noexcept {
  using Lane = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;  // for the shift
  const auto bytes = __builtin_bit_cast(Vector<std::uint8_t, kBytes>, x);
  const auto wide = __builtin_bit_cast(Vector<Lane, kBytes>,
                                       __builtin_shufflevector(bytes, bytes, widened_byte<kHalf>(kByte)...));
  return __builtin_bit_cast(IntVector<kBytes>, wide >> 16);
}

/// x * scale + bias of a vector of 16-bit integers, truncated and saturated.
template <std::size_t kBytes, class T, bool kClips>
[[gnu::always_inline]] inline void scale_halves(const DoubleRule<kBytes, kClips>& rule,
                                                Vector<T, kBytes>& x) noexcept {
  constexpr auto kIndexes = std::make_index_sequence<kBytes>{};
  IntVector<kBytes> low = widened_half<0, T, kBytes>(x, kIndexes);
  IntVector<kBytes> high = widened_half<1, T, kBytes>(x, kIndexes);
  scale_vector<kBytes, std::int32_t>(rule, low);
  scale_vector<kBytes, std::int32_t>(rule, high);
  pack(low, high, x);
}

/// Eight integers of 16 bits, moved to the range of unsigned ones, plus 2^20: they become the lowest bits of
/// the upper half of the bits of 2^20.
template <class T>
[[gnu::always_inline]] inline void to_moved_doubles(const T* in, DoublePair<32>& doubles) noexcept {
  using Doubles = Vector<double, 32>;
  using Lanes = Vector<std::uint32_t, 32>;
  constexpr std::uint32_t kUpperHalf = 0x41300000;
  constexpr auto kMoved = static_cast<std::uint16_t>(std::numeric_limits<T>::lowest());
  Vector<std::uint8_t, 16> x;
  std::memcpy(&x, in, sizeof x);
  Lanes upper;
  widen(x, upper);
  upper ^= kUpperHalf | kMoved;
  doubles.low =
      __builtin_bit_cast(Doubles, __builtin_shufflevector(Lanes{}, upper, 0, 8, 1, 9, 4, 12, 5, 13));
  doubles.high =
      __builtin_bit_cast(Doubles, __builtin_shufflevector(Lanes{}, upper, 2, 10, 3, 11, 6, 14, 7, 15));
}

/// scale_halves() for AVX2, which converts more slowly than it shuffles and subtracts.
template <class T, bool kClips>
[[gnu::always_inline]] inline void scale_moved_halves(const DoubleRule<32, kClips>& rule, const T* in,
                                                      Vector<T, 32>& x) noexcept {
  const auto offset = broadcast<32>(0x1p20 - std::numeric_limits<T>::lowest());
  DoublePair<32> first;
  DoublePair<32> second;
  to_moved_doubles(in, first);
  to_moved_doubles(in + 8, second);
  for (Vector<double, 32>* const doubles : {&first.low, &first.high, &second.low, &second.high}) {
    *doubles -= offset;
    rule.apply(*doubles);
  }
  IntVector<32> low;
  IntVector<32> high;
  truncate({first.low, second.low}, low);
  truncate({first.high, second.high}, high);
  pack(low, high, x);
}

/// The operation on a vector of elements, clipped in float64 if kClips, otherwise as integers of 16 bits.
template <std::size_t kBytes, class T, bool kClips>
class LaneRule {
 public:
  using Elements = Vector<T, kBytes>;

  [[gnu::always_inline]] explicit LaneRule(const DoubleOperation& operation) noexcept
      : rule_(operation),
        lo_(broadcast<kBytes>(static_cast<T>(operation.lo))),
        hi_(broadcast<kBytes>(static_cast<T>(operation.hi))) {}

  [[gnu::always_inline]] Elements operator()(const T* in) const noexcept {
    Elements x;
    std::memcpy(&x, in, kBytes);
    if constexpr (sizeof(T) > sizeof(std::int16_t))
      scale_vector<kBytes, T>(rule_, x);
    else if constexpr (kBytes == vector_bytes(SimdLevel::v3))
      scale_moved_halves(rule_, in, x);
    else
      scale_halves<kBytes, T>(rule_, x);
    if constexpr (!kClips) {
      x = x < lo_ ? lo_ : x;
      x = x > hi_ ? hi_ : x;
    }
    return x;
  }

 private:
  DoubleRule<kBytes, kClips> rule_;
  Elements lo_;
  Elements hi_;
};

/// Scales and clips `count` elements; the last ones in a padded vector.
template <std::size_t kBytes, bool kClips, class T>
[[gnu::always_inline]] inline void scale_lanes(const DoubleOperation& operation, const T* in, T* out,
                                               std::size_t count) noexcept {
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  const LaneRule<kBytes, T, kClips> rule(operation);
  const std::size_t rest = count % kLanes;
  std::array<T, kLanes> last{};
  if (rest != 0) std::memcpy(last.data(), in + count - rest, rest * sizeof(T));
  struct Range {
    const T* in;
    T* out;
    std::size_t count;
  };
  // One loop over both ranges, so that the code inlined into it exists once.
  for (const Range& range :
       {Range{in, out, count - rest}, Range{last.data(), last.data(), rest == 0 ? 0 : kLanes}})
    for (std::size_t i = 0; i != range.count; i += kLanes) {
      const Vector<T, kBytes> x = rule(range.in + i);
      std::memcpy(range.out + i, &x, kBytes);
    }
  if (rest != 0) std::memcpy(out + count - rest, last.data(), rest * sizeof(T));
}

/// The size of the vectors in which integers of 16 bits are scaled in float32.
inline constexpr std::size_t kFloat32Bytes = vector_bytes(SimdLevel::v3);

/// Which byte of each 128-bit part becomes byte `to` of the vector that has 4 elements of the part in its
/// 32-bit lanes: those from 4 * `group` on; -1 gives 0. Signed elements are the highest bytes of their lanes,
/// which gives these the sign, others the lowest.
template <class T>
constexpr std::int8_t byte_of_group(std::size_t to, std::size_t group) {
  const std::size_t byte = std::is_signed_v<T> ? 3 - to % 4 : to % 4;
  if (byte >= sizeof(T)) return -1;
  return static_cast<std::int8_t>((4 * group + to % 16 / 4) * sizeof(T) +
                                  (std::is_signed_v<T> ? sizeof(T) - 1 - byte : byte));
}

template <class T>
constexpr auto widened_bytes() {
  std::array<std::array<std::int8_t, kFloat32Bytes>, sizeof(std::int32_t) / sizeof(T)> bytes{};
  for (std::size_t group = 0; group < bytes.size(); ++group)
    for (std::size_t to = 0; to < kFloat32Bytes; ++to) bytes[group][to] = byte_of_group<T>(to, group);
  return bytes;
}

/// x * scale + bias with one rounding, truncated, then saturated and clipped. `count` is that of whole
/// vectors. A float beyond int32 becomes the lowest int32, which the callers exclude.
template <class T>
[[gnu::target("arch=x86-64-v3,avx2,fma,f16c,bmi,bmi2,lzcnt,movbe"), gnu::flatten]] void
scale_vectors_in_float32(const Operation& operation, const std::byte* in, std::byte* out,
                         std::size_t count) noexcept {
  static constexpr auto kWidened = widened_bytes<T>();
  constexpr float kUnit = std::is_signed_v<T> ? 0x1p-16F : 1;
  const __m256 scales = _mm256_set1_ps(static_cast<float>(operation.scale.head) * kUnit);
  const __m256 biases = _mm256_set1_ps(static_cast<float>(operation.bias.head));
  const auto lo = Vector<T, kFloat32Bytes>{} + from_bits<T>(operation.lo);
  const auto hi = Vector<T, kFloat32Bytes>{} + from_bits<T>(operation.hi);
  for (std::size_t i = 0; i < count * sizeof(T); i += kFloat32Bytes) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    std::array<IntVector<kFloat32Bytes>, kWidened.size()> groups;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const auto bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kWidened[k].data()));
      const __m256 floats = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(x, bytes));
      groups[k] = __builtin_bit_cast(IntVector<kFloat32Bytes>,
                                     _mm256_cvttps_epi32(_mm256_fmadd_ps(floats, scales, biases)));
    }
    Vector<T, kFloat32Bytes> y;
    pack(groups[0], groups[1], y);
    y = y < lo ? lo : y;
    y = y > hi ? hi : y;
    std::memcpy(out + i, &y, kFloat32Bytes);
  }
}

/// The last elements in a padded vector.
template <class T>
void scale_in_float32(const Operation& operation, const std::byte* in, std::byte* out,
                      std::size_t count) noexcept {
  constexpr std::size_t kLanes = kFloat32Bytes / sizeof(T);
  const std::size_t whole = count - count % kLanes;
  const std::size_t rest = (count - whole) * sizeof(T);
  std::array<std::byte, kFloat32Bytes> last{};
  if (rest != 0) std::memcpy(last.data(), in + whole * sizeof(T), rest);
  scale_vectors_in_float32<T>(operation, in, out, whole);
  if (rest == 0) return;
  scale_vectors_in_float32<T>(operation, last.data(), last.data(), kLanes);
  std::memcpy(out + whole * sizeof(T), last.data(), rest);
}

/// Whether scale and bias are multiples of a power of two that 2^24 of exceed every product and sum. With
/// results below 1, all of which are truncated to 0, float32 may still round scale and bias.
inline bool is_exact_in_float32(const Operation& operation) noexcept {
  const double most = std::abs(operation.scale.head) * 0x1p16 + std::abs(operation.bias.head);
  if (most >= 0x1p24) return false;
  int exponent = 0;
  std::frexp(most, &exponent);  // most < 2^exponent
  const auto is_multiple = [&](double factor) {
    const double units = std::ldexp(factor, std::numeric_limits<float>::digits - exponent);
    return units == std::trunc(units);
  };
  return is_multiple(operation.scale.head) && is_multiple(operation.bias.head);
}

#endif

}  // namespace clipper
