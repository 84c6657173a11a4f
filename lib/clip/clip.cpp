#include "clip/clip.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/convert.hpp"
#include "clip/kernel.hpp"
#include "clip/rule.hpp"
#include "clip/scale_integers.hpp"
#include "element/logical_type.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/vector.hpp"

namespace clipper {
namespace {

template <class T>
std::optional<std::size_t> find_nan_in(const T* elements, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 4096;  // elements
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const T* const block = elements + begin;
    const std::size_t length = std::min(kBlock, count - begin);
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) any |= is_nan(block[i]);
    if (any)
      return begin + static_cast<std::size_t>(
                         std::find_if(block, block + length, [](T x) { return is_nan(x); }) - block);
  }
  return std::nullopt;
}

bool are_exchanged(const Operation& bounds) noexcept {
  return with_type(bounds.dtype, [&]<class T>() {
    return comparable(from_bits<T>(bounds.lo)) > comparable(from_bits<T>(bounds.hi));
  });
}

/// All of an operation that does not scale; the counts are those of clip_by().
template <Counting kCounting>
ElementCounts clip_with(const Operation& operation, const Operands& operands, const std::byte* in,
                        std::byte* out, std::size_t count, SimdLevel level) noexcept {
  return with_type(operation.dtype, [&]<class T>() {
    return with_level(level, [&]<SimdLevel kLevel>() {
      using OfEach = RuleChoice<kLevel, T, kCounting, ParameterVectors>;
      using OfAll = RuleChoice<kLevel, T, kCounting, NoVectors>;
      return operands.vary() ? OfEach::clip(operation, operands, in, out, count)
                             : OfAll::clip(operation, operands, in, out, count);
    });
  });
}

/// clip_with() that counts and replaces NaN. No kernel does both: NaNs pass a kernel that counts them, and
/// blocks that have any are clipped once more.
ElementCounts clip_and_replace_nan(const Operation& operation, const Operands& operands, const std::byte* in,
                                   std::byte* out, std::size_t count, SimdLevel level) noexcept {
  if (!replaces_nan(operation, operands))
    return clip_with<Counting::on>(operation, operands, in, out, count, level);
  return for_each_block<Input::read_once>(
      operation, in, out, count,
      [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
        const Operands of_block = operands.after(done);
        const ElementCounts counts = clip_with<Counting::on>(operation, of_block, from, to, length, level);
        if (counts.nan != 0) clip_with<Counting::off>(operation, of_block, to, to, length, level);
        return counts;
      });
}

/// Clips dates or durations: as integers, and then NaT again as a NaN.
ElementCounts clip_ticks(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
                         SimdLevel level) noexcept {
  Operation integers = operation;
  integers.has_nat = false;
  integers.nan.reset();
  const auto replacement = from_bits<std::int64_t>(operation.nan.value_or(to_bits(kNaT)));
  return for_each_block<Input::read_again>(
      operation, in, out, count,
      [&](std::size_t /*done*/, const std::byte* from, std::byte* to, std::size_t length) {
        ElementCounts counts = clip_and_count(integers, from, to, length, level);
        const auto* const elements = reinterpret_cast<const std::int64_t*>(from);
        auto* const results = reinterpret_cast<std::int64_t*>(to);
        for (std::size_t i = 0; i < length; ++i) {
          const bool is_nat = elements[i] == kNaT;
          counts.nan += is_nat ? 1 : 0;
          counts.raised -= is_nat && results[i] != kNaT ? 1 : 0;
          results[i] = is_nat ? replacement : results[i];
        }
        return counts;
      });
}

template <Counting kCounting>
ElementCounts clip_scaled(const Operation& operation, const Operands& operands, const std::byte* in,
                          std::byte* out, std::size_t count, SimdLevel level) noexcept {
  return for_each_block<Input::read_once>(
      operation, in, out, count,
      [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
        const Operands of_block = operands.after(done);
        ElementCounts counts;
        if (kCounting == Counting::on) counts = count_scaled(operation, of_block, from, length, level);
        scale_integers(operation, of_block, from, to, length, level);
        clip_with<Counting::off>(operation, of_block, to, to, length, level);
        return counts;
      });
}

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
    const Floats scale = broadcast<kBytes>(static_cast<float>(operation.scale));
    const Floats bias = broadcast<kBytes>(static_cast<float>(operation.bias));
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

/// What compares like the element, as an integer: sign and magnitude become two's complement, in which both
/// zeros are 0. NaN becomes `nan`.
template <HalfType T, class V>
[[gnu::always_inline]] inline V half_key(const V& x, std::int16_t nan) noexcept {
  const V magnitude = x & 0x7fff;
  const V sign = x >> 15;
  return magnitude > static_cast<std::int16_t>(T::kInfinity) ? V{} + nan : (magnitude ^ sign) - sign;
}

/// The lanes in which min <= max, and neither is NaN: 0 or -1.
template <class T, class V>
[[gnu::always_inline]] inline auto ordered_lanes(const V& min, const V& max) noexcept {
  using Limits = std::numeric_limits<std::int16_t>;
  using Mask = decltype(min <= max);
  if constexpr (HalfType<T>)
    return half_key<T>(min, Limits::max()) <= half_key<T>(max, Limits::min()) ? ~Mask{} : Mask{};
  else
    return min <= max ? ~Mask{} : Mask{};
}

template <class T>
struct AllOrdered {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static bool run(const std::byte* min, const std::byte* max,
                                         std::size_t size) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    using Number = std::conditional_t<HalfType<T>, std::int16_t, T>;
    using V = Vector<Number, kBytes>;
    using Words = Vector<std::uint64_t, kBytes>;
    constexpr std::size_t kBlock = 64 * kBytes;
    const auto load = [](const std::byte* from) __attribute__((always_inline)) {
      V vector;
      std::memcpy(&vector, from, sizeof vector);
      return vector;
    };
    const std::size_t whole = size / kBytes * kBytes;
    for (std::size_t begin = 0; begin < whole; begin += kBlock) {
      const std::size_t end = std::min(begin + kBlock, whole);
      Words ordered = ~Words{};
      for (std::size_t i = begin; i < end; i += kBytes)
        ordered &= __builtin_bit_cast(Words, ordered_lanes<T>(load(min + i), load(max + i)));
      for (std::size_t i = 0; i < kBytes / sizeof(std::uint64_t); ++i)
        if (~ordered[i] != 0) return false;
    }
    const T* const last_min = reinterpret_cast<const T*>(min + whole);
    const T* const last_max = reinterpret_cast<const T*>(max + whole);
    for (std::size_t i = 0; i < (size - whole) / sizeof(T); ++i)
      if (!(comparable(last_min[i]) <= comparable(last_max[i]))) return false;
    return true;
  }
};

}  // namespace

void clip(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
          std::size_t count, SimdLevel level) noexcept {
  if (operation.has_nat && !operands.vary())
    clip_ticks(operation, in, out, count, level);
  else if (scales_floats(operation) && operation.dtype == DType::float16 && level != SimdLevel::baseline &&
           !operands.vary() && !operation.nan)
    run_loop<ScaleHalves>(level, operation, in, out, count);
  else if (scales_floats(operation))
    static_cast<void>(scale_in_floats(operation, operands, in, out, count, Counting::off, level));
  else if (may_have_edges(operation))
    clip_edges(operation, operands, in, out, count, level, Counting::off);
  else if (!scales_integers(operation))
    clip_with<Counting::off>(operation, operands, in, out, count, level);
  else if (operands.vary())
    clip_scaled<Counting::off>(operation, operands, in, out, count, level);
  else if (traits(operation.dtype).size != 2 || level == SimdLevel::baseline ||
           !scale_16_bits(operation, in, out, count))
    scale_integers(operation, kNumbers, in, out, count, level);
}

void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept {
  clip(operation, kNumbers, in, out, count, level);
}

ElementCounts clip_and_count(const Operation& operation, const Operands& operands, const std::byte* in,
                             std::byte* out, std::size_t count, SimdLevel level) noexcept {
  if (operation.has_nat && !operands.vary()) return clip_ticks(operation, in, out, count, level);
  if (scales_floats(operation))
    return scale_in_floats(operation, operands, in, out, count, Counting::on, level);
  if (may_have_edges(operation)) return clip_edges(operation, operands, in, out, count, level, Counting::on);
  const bool exchanged = !operands.vary() && are_exchanged(operation);
  const bool scales = scales_integers(operation);
  if (!exchanged && !scales) return clip_and_replace_nan(operation, operands, in, out, count, level);
  if (operands.vary()) return clip_scaled<Counting::on>(operation, operands, in, out, count, level);
  // These cases are too rare for kernels of their own: each block is clipped twice, the first time to count.
  // With lo > hi elements move to hi, as if both bounds were hi; the sign that a zero takes from hi is no
  // move.
  Operation counted = operation;
  if (exchanged) counted.lo = operation.hi;
  counted.nan.reset();
  std::optional<InputRange> range;
  if (scales) counted = range.emplace(counted).operation();
  return for_each_block<Input::read_again>(
      operation, in, out, count,
      [&](std::size_t /*done*/, const std::byte* from, std::byte* to, std::size_t length) {
        const ElementCounts counts = clip_with<Counting::on>(counted, kNumbers, from, to, length, level);
        clip(operation, from, to, length, level);
        return range ? range->counts(counts, length) : counts;
      });
}

ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, SimdLevel level) noexcept {
  return clip_and_count(operation, kNumbers, in, out, count, level);
}

std::optional<std::size_t> find_nan(DType dtype, const std::byte* elements, std::size_t count) noexcept {
  return with_type(dtype, [=]<class T>() -> std::optional<std::size_t> {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    return find_nan_in(reinterpret_cast<const T*>(elements), count);
  });
}

std::optional<std::size_t> find_nan(const Operation& operation, const std::byte* elements,
                                    std::size_t count) noexcept {
  if (!operation.has_nat) return find_nan(operation.dtype, elements, count);
  const auto* const ticks = reinterpret_cast<const std::int64_t*>(elements);
  const auto* const found = std::find(ticks, ticks + count, kNaT);
  return found == ticks + count ? std::nullopt : std::optional(static_cast<std::size_t>(found - ticks));
}

bool are_ordered_bounds(DType dtype, const std::byte* min, const std::byte* max, std::size_t count,
                        SimdLevel level) noexcept {
  return with_type(dtype,
                   [=]<class T>() { return run_loop<AllOrdered<T>>(level, min, max, count * sizeof(T)); });
}

}  // namespace clipper
