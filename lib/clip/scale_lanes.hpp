#pragma once

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "element/byte_order.hpp"
#include "simd/double_vector.hpp"
#include "simd/vector.hpp"

/// x * scale + bias of integers of 16 and 32 bits, in lanes of float64.
namespace clipper {

/// What scale_lanes() does to every element: g = x * scale + bias, clipped to [lo, hi] and truncated.
struct DoubleOperation {
  double scale;
  double bias;
  double lo;
  double hi;
};

/// x * scale + bias in float64, not above hi, and not below lo if kRaises: the integers can be raised, too.
template <std::size_t kBytes, bool kRaises>
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
    if constexpr (kRaises) x = x < lo_ ? lo_ : x;
    x = x > hi_ ? hi_ : x;
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

template <std::size_t kBytes, class T, bool kRaises>
[[gnu::always_inline]] inline void scale_vector(const DoubleRule<kBytes, kRaises>& rule,
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
template <Byteswap kSwap, std::size_t kHalf>
constexpr int widened_byte(std::size_t to) {
  const std::size_t in_part = to % 16;
  const std::size_t in_element = kSwap == Byteswap::yes ? 1 - to % 2 : to % 2;
  return static_cast<int>(to - in_part + 8 * kHalf + in_part / 4 * 2 + in_element);
}

template <Byteswap kSwap, std::size_t kHalf, class T, std::size_t kBytes, std::size_t... kByte>
[[gnu::always_inline]] inline IntVector<kBytes> widened_half(
    const Vector<T, kBytes>& x, std::index_sequence<kByte...> /*of the bytes*/) noexcept {
  using Lane = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;  // for the shift
  const auto bytes = __builtin_bit_cast(Vector<std::uint8_t, kBytes>, x);
  const auto wide = __builtin_bit_cast(
      Vector<Lane, kBytes>, __builtin_shufflevector(bytes, bytes, widened_byte<kSwap, kHalf>(kByte)...));
  return __builtin_bit_cast(IntVector<kBytes>, wide >> 16);
}

/// The operation on a vector of elements.
template <std::size_t kBytes, Byteswap kSwap, class T>
class LaneRule {
 public:
  using Elements = Vector<T, kBytes>;

  [[gnu::always_inline]] explicit LaneRule(const DoubleOperation& operation) noexcept
      : rule_(operation), lo_(broadcast<kBytes>(static_cast<T>(std::min(operation.lo, operation.hi)))) {}

  [[gnu::always_inline]] void apply(Elements& x) const noexcept {
    if constexpr (sizeof(T) == sizeof(std::int16_t)) {
      if constexpr (!kShuffles) x = vector_byteswap_if<kBytes, kSwap, sizeof(T)>(x);
      constexpr Byteswap kStill = kShuffles ? kSwap : Byteswap::no;
      constexpr auto kIndexes = std::make_index_sequence<kBytes>{};
      IntVector<kBytes> low = widened_half<kStill, 0, T, kBytes>(x, kIndexes);
      IntVector<kBytes> high = widened_half<kStill, 1, T, kBytes>(x, kIndexes);
      scale_vector<kBytes, std::int32_t>(rule_, low);
      scale_vector<kBytes, std::int32_t>(rule_, high);
      pack(low, high, x);
      if constexpr (!kRaises) x = x < lo_ ? lo_ : x;
    } else {
      x = vector_byteswap_if<kBytes, kSwap, sizeof(T)>(x);
      scale_vector<kBytes, T>(rule_, x);
    }
    x = vector_byteswap_if<kBytes, kSwap, sizeof(T)>(x);
  }

 private:
  static constexpr bool kShuffles = kBytes > vector_bytes(SimdLevel::baseline);  // single bytes

  /// truncate() makes a double below int32 the lowest int32, and pack() saturates it, but not to uint16 with
  /// SSE2.
  static constexpr bool kRaises = sizeof(T) > sizeof(std::int16_t) || !kShuffles;

  DoubleRule<kBytes, kRaises> rule_;
  Elements lo_;
};

/// Scales and clips `count` elements; the last ones in a padded vector.
template <std::size_t kBytes, Byteswap kSwap, class T>
[[gnu::always_inline]] inline void scale_lanes(const DoubleOperation& operation, const T* in, T* out,
                                               std::size_t count) noexcept {
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  const LaneRule<kBytes, kSwap, T> rule(operation);
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
      Vector<T, kBytes> x;
      std::memcpy(&x, range.in + i, kBytes);
      rule.apply(x);
      std::memcpy(range.out + i, &x, kBytes);
    }
  if (rest != 0) std::memcpy(out + count - rest, last.data(), rest * sizeof(T));
}

}  // namespace clipper
#endif
