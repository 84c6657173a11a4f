#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "clip/clip.hpp"
#include "clip/operation.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// x * scale + bias of integers, and counts of what becomes of integers; the loops in registers, also of
/// float16.
namespace clipper {

/// clip() or clip_and_count() of integer elements with an arithmetic: x * scale + bias, clipped to the bounds
/// and truncated toward zero. `losses` are counted unless null.
ElementCounts scale_integers(const Operation& operation, const Operands& operands, const std::byte* in,
                             std::byte* out, std::size_t count, SimdLevel level, Counting counting,
                             const Losses* losses) noexcept;

/// What scale_integers() does to integers of 16 bits, in float32, which takes half as long or less: only if
/// scale and bias have so few bits that no operation rounds. Otherwise it returns false and writes nothing.
/// Needs x86-64-v3.
[[nodiscard]] bool scale_16_bits(const Operation& operation, const std::byte* in, std::byte* out,
                                 std::size_t count) noexcept;

/// The least double above all values of T, which may be the double nearest to the highest ones.
template <class T>
inline constexpr double kBeyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;

/// Whether doubles lack some bounds of type T.
template <class G, class T>
inline constexpr bool kLacks = std::is_same_v<G, double>&& std::is_integral_v<T> && sizeof(T) == sizeof(G);

/// Whether g < bound. A 64-bit bound may have no double; a g equal to the double nearest to it is an integer.
template <class G, class T>
[[gnu::always_inline]] inline bool is_below(G g, T bound) noexcept {
  const auto near = static_cast<G>(bound);
  if constexpr (kLacks<G, T>) return g < near || (g == near && g < kBeyond<T> && static_cast<T>(g) < bound);
  return g < near;
}

/// Whether g > bound.
template <class G, class T>
[[gnu::always_inline]] inline bool is_above(G g, T bound) noexcept {
  const auto near = static_cast<G>(bound);
  if constexpr (kLacks<G, T>)
    return g > near || (g == near && (g >= kBeyond<T> || static_cast<T>(g) > bound));
  return g > near;
}

/// Counts integers and halves by what is calculated of them with numbers, g. That never falls, or with a
/// negative scale never rises, as they rise, rounded or not. So the elements of one count are consecutive,
/// and a loop that does not calculate counts them.
class InputRanges {
 public:
  /// What is counted of g. Without more than the first two, nothing becomes 0 or infinite.
  template <class G, class Bound>
  struct Limits {
    Bound least;        ///< what is below is raised
    Bound hi;           ///< what is above is lowered
    G zero_lowest = 1;  ///< what is not 0, but from here to zero_highest, becomes 0
    G zero_highest = 0;
    G lowest = 0;  ///< what is finite, from here to `highest`, and beyond the next two, becomes infinite
    G highest = 0;
    G finite_lowest = 0;
    G finite_highest = 0;
  };

  /// The scale and bias with which is calculated, or doubles near them.
  InputRanges(DType dtype, double scale, double bias) noexcept : dtype_(dtype), scale_(scale), bias_(bias) {}

  /// `calculate` gives g of a T, which is not 0 of halves other than 0 without a bias.
  template <class T, class G, class Bound, class Calculate>
  [[gnu::cold, gnu::noinline]] void find(const Limits<G, Bound>& limits,
                                         const Calculate& calculate) noexcept {
    constexpr Keys kFinite = all_keys<T>(false);
    constexpr Keys kAll = all_keys<T>(true);
    const auto range = [&](const Keys& all, auto low, auto high, const auto& side_of) {
      const auto side = [&](Int128 key) { return side_of(calculate(element_at<T>(key))); };
      return range_of(all, static_cast<double>(low), static_cast<double>(high), Side(side));
    };
    add(&ElementCounts::raised,
        range(kAll, limits.least, limits.least, [&](G g) { return is_below(g, limits.least) ? 0 : 1; }));
    add(&ElementCounts::lowered,
        range(kAll, limits.hi, limits.hi, [&](G g) { return is_above(g, limits.hi) ? 0 : -1; }));
    if (limits.zero_lowest <= limits.zero_highest) {
      Keys zeros = range(kAll, limits.zero_lowest, limits.zero_highest, [&](G g) {
        return g < limits.zero_lowest ? -1 : g > limits.zero_highest ? 1 : 0;
      });
      const G zero = 0;
      if (limits.zero_lowest <= zero && zero <= limits.zero_highest) {
        const Keys exact = range(kAll, zero, zero, [&](G g) { return g < zero ? -1 : g > zero ? 1 : 0; });
        add(&ElementCounts::became_zero, {zeros.begin, exact.begin});
        zeros.begin = exact.end;
      }
      add(&ElementCounts::became_zero, zeros);
    }
    if (limits.lowest < limits.finite_lowest)
      add(&ElementCounts::became_infinite, range(kFinite, limits.lowest, limits.finite_lowest, [&](G g) {
        return g < limits.lowest ? -1 : g >= limits.finite_lowest || g > limits.highest ? 1 : 0;
      }));
    if (limits.highest > limits.finite_highest)
      add(&ElementCounts::became_infinite, range(kFinite, limits.finite_highest, limits.highest, [&](G g) {
        return g <= limits.finite_highest || g < limits.lowest ? -1 : g > limits.highest ? 1 : 0;
      }));
    if constexpr (HalfType<T>) {
      add(&ElementCounts::nan, {kAll.end, 0x8000});
      add(&ElementCounts::nan, {-0x8000, kAll.begin});
    }
  }

  [[nodiscard]] ElementCounts count(const std::byte* in, std::size_t count, SimdLevel level) const noexcept;

 private:
  /// Consecutive elements by their keys: see small_floats.hpp; integers are their own.
  struct Keys {
    Int128 begin;
    Int128 end;
  };

  struct Range {
    std::uint64_t ElementCounts::*counter;
    ElementBits begin;
    ElementBits width;  ///< of one element: 0
  };

  /// Calls a function that says whether g of a key is below the range, -1, in it, or above it, 1.
  struct Side {
    const void* function;
    int (*call)(const void* function, Int128 key);

    template <class F>
    explicit Side(const F& f) noexcept
        : function(&f), call([](const void* of, Int128 key) { return (*static_cast<const F*>(of))(key); }) {}
    int operator()(Int128 key) const noexcept { return call(function, key); }
  };

  /// All but NaN, or the finite ones.
  template <class T>
  static constexpr Keys all_keys(bool with_infinities) noexcept {
    if constexpr (HalfType<T>) {
      const int end = T::kInfinity + (with_infinities ? 1 : 0);
      return {-end, end};
    } else {
      return {std::numeric_limits<T>::lowest(), Int128{std::numeric_limits<T>::max()} + 1};
    }
  }

  template <class T>
  static T element_at(Int128 key) noexcept {
    if constexpr (HalfType<T>)
      return element_of<T>(static_cast<std::int16_t>(key));
    else
      return static_cast<T>(key);
  }

  /// The keys in the range, of all; g of its ends is near `low` and `high`.
  [[nodiscard]] Keys range_of(const Keys& all, double low, double high, const Side& side) const noexcept;

  void add(std::uint64_t ElementCounts::*counter, Keys keys) noexcept;

  DType dtype_;
  double scale_;
  double bias_;
  std::array<Range, 12> ranges_{};
  std::size_t size_ = 0;
};

// x * scale + bias, and the bounds, in registers: of float16 in float32, of integers of 16 and 32 bits in
// float64.

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

#endif

}  // namespace clipper
