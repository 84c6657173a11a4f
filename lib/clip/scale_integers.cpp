// Loops for run_loop(): over vectors (scale_lanes()) for elements of at most 32 bits, otherwise plain loops
// that the compiler vectorizes.

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/scale_integers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "clip/convert_loops.hpp"
#include "clip/tile.hpp"
#include "simd/vector.hpp"

namespace clipper {
namespace {

// x * scale + bias of one integer, called g, before it is saturated to the dtype and truncated; and its
// exact comparison with a bound.

template <class T>
[[gnu::always_inline]] inline double scaled(T x, double scale, double bias) noexcept {
  return static_cast<double>(x) * scale + bias;
}

/// The product may exceed Int128, so it is capped at 2^126: no 64-bit bias brings a larger one back into T's
/// range.
template <class T>
[[gnu::always_inline]] inline Int128 scaled(T x, SignedInteger scale, SignedInteger bias) noexcept {
  const bool x_negative = x < 0;
  const auto x_magnitude = x_negative ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const auto product = static_cast<UInt128>(x_magnitude) * scale.magnitude;
  const auto magnitude = static_cast<Int128>(std::min(product, UInt128{1} << 126));
  return (x_negative != scale.negative ? -magnitude : magnitude) +
         (bias.negative ? -Int128{bias.magnitude} : Int128{bias.magnitude});
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

/// A number that all elements have. In its place can be a pointer to that of each element.
template <class F>
struct Same {
  F value;
  [[gnu::always_inline]] const F& operator[](std::size_t /*position*/) const noexcept { return value; }
};

/// Bounds, scale and bias: those of the operation, or those of each element.
template <class T, class F, bool kVaries>
struct Numbers {
  template <class N>
  using Each = std::conditional_t<kVaries, const N*, Same<N>>;

  Each<T> lo;
  Each<T> hi;
  Each<F> scale;
  Each<F> bias;

  [[gnu::always_inline]] Numbers(const Operation& operation, const Operands& operands) noexcept
      : lo(each(operands, Slot::lo, from_bits<T>(operation.lo))),
        hi(each(operands, Slot::hi, from_bits<T>(operation.hi))),
        scale(each(operands, Slot::scale, number(operation.scale))),
        bias(each(operands, Slot::bias, number(operation.bias))) {}

 private:
  [[gnu::always_inline]] static F number(const DoubleDouble& x) noexcept {
    if constexpr (std::is_same_v<F, double>)
      return x.head;
    else
      return SignedInteger::of(x);
  }

  template <class N>
  [[gnu::always_inline]] static Each<N> each(const Operands& operands, Slot slot, N number) noexcept {
    if constexpr (kVaries)
      return operands.as<N>(slot);
    else
      return {number};
  }
};

template <class T, class F>
[[gnu::always_inline]] inline void for_each_element(const T* in, T* out, std::size_t count, F f) noexcept {
  CLIPPER_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = f(in[i], i);
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

/// In two loops: of one, g++ 12 vectorizes the conversion to short integers badly, with masks that it must
/// narrow, and AVX2 compares vectors of 64-bit integers, but does not convert them.
template <class Between, class T, class First, class Second>
[[gnu::always_inline]] inline void in_two_loops(const T* in, T* out, std::size_t count, First first,
                                                Second second) noexcept {
  alignas(64) std::array<Between, 256> block;
  for (std::size_t done = 0; done < count; done += block.size()) {
    const std::size_t length = std::min(block.size(), count - done);
    for (std::size_t i = 0; i < length; ++i) block[i] = first(in[done + i], done + i);
    for (std::size_t i = 0; i < length; ++i) out[done + i] = second(block[i]);
  }
}

template <SimdLevel kLevel, class T, bool kVaries>
[[gnu::always_inline]] inline void scale_in_float64(const Numbers<T, double, kVaries>& all, const T* in,
                                                    T* out, std::size_t count) noexcept {
  const auto scaled_at = [=](T x, std::size_t i) __attribute__((always_inline)) {
    return scaled(x, all.scale[i], all.bias[i]);
  };
  if constexpr (sizeof(T) < sizeof(double)) {
#if defined(__x86_64__)
    if constexpr (!kVaries)
      return scale_in_lanes<vector_bytes(kLevel)>(
          {all.scale[0], all.bias[0], static_cast<double>(all.lo[0]), static_cast<double>(all.hi[0])}, in,
          out, count);
#endif
    in_two_loops<double>(
        in, out, count,
        [=](T x, std::size_t i) __attribute__((always_inline)) {
          return clipped(scaled_at(x, i), static_cast<double>(all.lo[i]), static_cast<double>(all.hi[i]));
        },
        [](double g) __attribute__((always_inline)) { return static_cast<T>(g); });
  } else if constexpr (kLevel == SimdLevel::v3 && !kVaries) {
    in_two_loops<T>(
        in, out, count,
        [=](T x, std::size_t i) __attribute__((always_inline)) { return truncated<T>(scaled_at(x, i)); },
        [=](T y) __attribute__((always_inline)) { return clipped(y, all.lo[0], all.hi[0]); });
  } else {
    for_each_element(
        in, out, count, [=](T x, std::size_t i) __attribute__((always_inline)) {
          return clipped(truncated<T>(scaled_at(x, i)), all.lo[i], all.hi[i]);
        });
  }
}

/// Calls f with the numbers in the type of the arithmetic.
template <class T, bool kVaries, class F>
[[gnu::always_inline]] inline auto with_numbers(const Operation& operation, const Operands& operands,
                                                const F& f) noexcept {
  if constexpr (sizeof(T) == sizeof(double))
    if (operation.arithmetic == Arithmetic::integer)
      return f(Numbers<T, SignedInteger, kVaries>(operation, operands));
  return f(Numbers<T, double, kVaries>(operation, operands));
}

template <class T, bool kVaries>
struct ScaleIntegers {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const Operation& operation, const Operands& operands,
                                         const std::byte* in, std::byte* out, std::size_t count) noexcept {
    const T* const from = reinterpret_cast<const T*>(in);
    T* const to = reinterpret_cast<T*>(out);
    with_numbers<T, kVaries>(
        operation, operands, [=]<class F>(const Numbers<T, F, kVaries>& all) __attribute__((always_inline)) {
          if constexpr (std::is_same_v<F, double>)
            scale_in_float64<kLevel>(all, from, to, count);
          else
            for_each_element(
                from, to, count, [=](T x, std::size_t i) __attribute__((always_inline)) {
                  return clipped(saturated<T>(scaled(x, all.scale[i], all.bias[i])), all.lo[i], all.hi[i]);
                });
        });
  }
};

template <class T>
using ScaleByEach = ScaleIntegers<T, true>;

template <class T>
using ScaleByNumbers = ScaleIntegers<T, false>;

/// Whether g becomes 0 of integers: see Losses.
struct Zeros {
  double lowest = 1;
  double highest = 0;

  explicit Zeros(const Losses* losses) noexcept {
    if (losses != nullptr)
      lowest = from_bits<double>(losses->zero_lowest), highest = from_bits<double>(losses->zero_highest);
  }
};

/// Counts elements with numbers of their own.
template <class T>
struct CountScaled {
  [[gnu::always_inline]] static ElementCounts run(const Operation& operation, const Operands& operands,
                                                  const std::byte* in, std::size_t count,
                                                  const Zeros& zeros) noexcept {
    const T* const x = reinterpret_cast<const T*>(in);
    ElementCounts counts;
    with_numbers<T, true>(
        operation, operands, [&](const auto& all) __attribute__((always_inline)) {
          for (std::size_t i = 0; i < count; ++i) {
            const auto g = scaled(x[i], all.scale[i], all.bias[i]);
            const bool is_raised = is_below(g, std::min(all.lo[i], all.hi[i]));  // lo > hi gives hi
            const bool is_lowered = is_above(g, all.hi[i]);
            counts.raised += is_raised ? 1 : 0;
            counts.lowered += is_lowered ? 1 : 0;
            if constexpr (std::is_same_v<decltype(g), const double>)
              counts.became_zero +=
                  !is_raised && !is_lowered && g != 0 && g >= zeros.lowest && g <= zeros.highest ? 1 : 0;
          }
        });
    return counts;
  }
};

template <class T>
struct CountRange {
  using Lane = UnsignedOfSize<sizeof(T)>;
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static std::uint64_t run(const std::byte* in, std::size_t count, ElementBits begin,
                                                  ElementBits width) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    constexpr std::size_t kLanes = kBytes / sizeof(T);
    constexpr std::size_t kMost = std::min<std::uint64_t>(std::numeric_limits<Lane>::max(), 1 << 16) * kLanes;
    const auto first = static_cast<Lane>(begin);
    const auto last = static_cast<Lane>(width);
    const std::size_t whole = count - count % kLanes;
    std::uint64_t sum = 0;
    std::size_t i = 0;
    while (i < whole) {
      Vector<Lane, kBytes> sums{};
      const auto add = [&](std::size_t at) __attribute__((always_inline)) {
        Vector<Lane, kBytes> x;
        std::memcpy(&x, in + at * sizeof(T), kBytes);
        sums = one_added<kBytes>(x - first <= last, sums);
      };
      const std::size_t end = i + std::min(whole - i, kMost);
      for (; i + 4 * kLanes <= end; i += 4 * kLanes)
        for (std::size_t vector = 0; vector < 4; ++vector) add(i + vector * kLanes);
      for (; i < end; i += kLanes) add(i);
      sum += sum_of_lanes<kBytes, Lane>(sums);
    }
    for (; i < count; ++i) {
      Lane x;
      std::memcpy(&x, in + i * sizeof(T), sizeof(T));
      sum += static_cast<Lane>(x - first) <= last ? 1 : 0;
    }
    return sum;
  }
};

/// Runs the loop for the type of an integer dtype, or that of the bits of halves.
template <template <class T> class Loop, class... Arguments>
auto run_integers(SimdLevel level, DType dtype, const Arguments&... arguments) noexcept {
  return with_type(dtype, [&]<class T>() {
    using Other = std::conditional_t<HalfType<T>, std::int16_t, std::int64_t>;
    using Integer = std::conditional_t<std::is_integral_v<T>, T, Other>;
    return run_loop<Loop<Integer>>(level, arguments...);
  });
}

double double_of(double number) noexcept {
  return number;
}

double double_of(const SignedInteger& integer) noexcept {
  const auto magnitude = static_cast<double>(integer.magnitude);
  return integer.negative ? -magnitude : magnitude;
}

template <class T, class F>
InputRanges ranges_of(DType dtype, const Numbers<T, F, false>& all, const Zeros& zeros) noexcept {
  using G = decltype(scaled(T{}, F{}, F{}));
  const T hi = all.hi[0];
  InputRanges::Limits<G, T> limits{std::min(all.lo[0], hi), hi};  // lo > hi gives hi
  if constexpr (std::is_same_v<G, double>) {
    limits.zero_lowest = std::max(zeros.lowest, static_cast<double>(limits.least));
    limits.zero_highest = std::min(zeros.highest, static_cast<double>(hi));
  }
  InputRanges ranges(dtype, double_of(all.scale[0]), double_of(all.bias[0]));
  ranges.find<T>(limits, [&](T x) { return scaled(x, all.scale[0], all.bias[0]); });
  return ranges;
}

}  // namespace

ElementCounts scale_integers(const Operation& operation, const Operands& operands, const std::byte* in,
                             std::byte* out, std::size_t count, SimdLevel level, Counting counting,
                             const Losses* losses) noexcept {
  const DType dtype = operation.dtype;
  const auto scale = [&](const Operands& numbers, const std::byte* from, std::byte* to, std::size_t length) {
    if (operands.vary())
      run_integers<ScaleByEach>(level, dtype, operation, numbers, from, to, length);
    else if (traits(dtype).size != 2 || level == SimdLevel::baseline ||
             !scale_16_bits(operation, from, to, length))
      run_integers<ScaleByNumbers>(level, dtype, operation, numbers, from, to, length);
  };
  if (counting == Counting::off) {
    scale(operands, in, out, count);
    return {};
  }
  const Zeros zeros(losses);
  std::optional<InputRanges> ranges;
  if (!operands.vary())
    with_type(dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T>)
        with_numbers<T, false>(operation, operands,
                               [&](const auto& all) { ranges = ranges_of(dtype, all, zeros); });
    });
  return for_each_block(
      dtype, in, out, count, [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
        const Operands of_block = operands.after(done);
        const ElementCounts counts =
            ranges ? ranges->count(from, length, level)
                   : run_integers<CountScaled>(level, dtype, operation, of_block, from, length, zeros);
        scale(of_block, from, to, length);
        return counts;
      });
}

#if defined(__x86_64__)
namespace {

/// The size of the vectors in which integers of 16 bits are scaled in float32.
constexpr std::size_t kFloat32Bytes = vector_bytes(SimdLevel::v3);

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
bool is_exact_in_float32(const Operation& operation) noexcept {
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

}  // namespace
#endif

bool scale_16_bits([[maybe_unused]] const Operation& operation, [[maybe_unused]] const std::byte* in,
                   [[maybe_unused]] std::byte* out, [[maybe_unused]] std::size_t count) noexcept {
#if defined(__x86_64__)
  if (!is_exact_in_float32(operation)) return false;
  if (operation.dtype == DType::int16)
    scale_in_float32<std::int16_t>(operation, in, out, count);
  else
    scale_in_float32<std::uint16_t>(operation, in, out, count);
  return true;
#else
  return false;
#endif
}

InputRanges::Keys InputRanges::range_of(const Keys& all, double low, double high,
                                        const Side& side) const noexcept {
  const bool falls = scale_ < 0;
  // The first key from which on `is_true` is true. An integer near it makes the search short.
  const auto first = [&](double end_of_range, const auto& is_true) {
    Keys left = all;
    const auto look_at = [&](Int128 key) {
      if (key < left.begin || key >= left.end) return;
      if (is_true(falls ? -side(key) : side(key)))
        left.end = key;
      else
        left.begin = key + 1;
    };
    const double guess = (end_of_range - bias_) / scale_;
    look_at(left.begin);
    look_at(left.end - 1);
    if (guess > -0x1p64 && guess < 0x1p64 && !is_floating(dtype_))
      for (const int offset : {-2, 2}) look_at(static_cast<Int128>(guess) + offset);
    while (left.begin < left.end) look_at(left.begin + (left.end - left.begin) / 2);
    return left.begin;
  };
  return {first(falls ? high : low, [](int from) { return from >= 0; }),
          first(falls ? low : high, [](int from) { return from > 0; })};
}

/// The bits of halves from -0 on are in the order of their magnitudes.
void InputRanges::add(std::uint64_t ElementCounts::*counter, Keys keys) noexcept {
  if (keys.begin >= keys.end) return;
  const bool is_half = is_floating(dtype_);
  if (is_half && keys.begin < 0 && keys.end > 0) {
    add(counter, {keys.begin, 0});
    keys.begin = 0;
  }
  const Int128 begin = is_half && keys.begin < 0 ? (keys.end - 1) ^ 0x7fff : keys.begin;
  ranges_[size_++] = {counter, static_cast<ElementBits>(begin),
                      static_cast<ElementBits>(keys.end - 1 - keys.begin)};
}

ElementCounts InputRanges::count(const std::byte* in, std::size_t count, SimdLevel level) const noexcept {
  ElementCounts counts;
  for (std::size_t i = 0; i < size_; ++i)
    counts.*ranges_[i].counter +=
        run_integers<CountRange>(level, dtype_, in, count, ranges_[i].begin, ranges_[i].width);
  return counts;
}

}  // namespace clipper
