// The loop over vectors (clip_loop.hpp) and its rule (bounds_rule.hpp, scaled_rule.hpp) are inlined into one
// wrapper per instruction set. The last elements go through the same loop, in a padded vector. The code that
// clips an element therefore exists once and cannot differ between instruction sets or between the first
// elements and the last.

#include "clip/clip.hpp"

#include <algorithm>
#include <array>
#include <cstring>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/clip_loop.hpp"
#include "clip/scale_integers.hpp"
#include "element/byte_order.hpp"
#include "element/half.hpp"

namespace clipper {
namespace {

// One wrapper per instruction set, which the loop is inlined into.

using Kernel = ElementCounts (*)(const Operation&, const std::byte*, std::byte*, std::size_t) noexcept;

template <class T, Counting kCounting>
ElementCounts clip_baseline(const Operation& operation, const std::byte* in, std::byte* out,
                            std::size_t count) noexcept {
  return clip_bytes<SimdLevel::baseline, T, kCounting>(operation, in, out, count);
}

#if defined(__x86_64__)
template <class T, Counting kCounting>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] ElementCounts clip_v3(const Operation& operation,
                                                                      const std::byte* in, std::byte* out,
                                                                      std::size_t count) noexcept {
  return clip_bytes<SimdLevel::v3, T, kCounting>(operation, in, out, count);
}

template <class T, Counting kCounting>
[[gnu::target("arch=x86-64-v4"), gnu::flatten]] ElementCounts clip_v4(const Operation& operation,
                                                                      const std::byte* in, std::byte* out,
                                                                      std::size_t count) noexcept {
  return clip_bytes<SimdLevel::v4, T, kCounting>(operation, in, out, count);
}
#endif

template <class T, Counting kCounting>
Kernel kernel_of(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: break;
#if defined(__x86_64__)
    case SimdLevel::v3: return clip_v3<T, kCounting>;
    case SimdLevel::v4: return clip_v4<T, kCounting>;
#else
    case SimdLevel::v3: break;
    case SimdLevel::v4: break;
#endif
  }
  return clip_baseline<T, kCounting>;
}

template <Counting kCounting>
Kernel kernel_for(DType dtype, SimdLevel level) noexcept {
  return with_type(dtype, [=]<class T>() { return kernel_of<T, kCounting>(level); });
}

/// Bytes of a block, which must fit the first-level cache.
constexpr std::size_t kBlockSize = 16384;

template <class F>
ElementCounts for_each_block(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, F clip_block) noexcept {
  const std::size_t size = traits(operation.dtype).size;
  alignas(64) std::array<std::byte, kBlockSize> block;
  ElementCounts counts;
  while (count != 0) {
    const std::size_t length = std::min(count, kBlockSize / size);
    ElementCounts of_block = clip_block(in, block.data(), length);
    of_block.changed = std::memcmp(block.data(), in, length * size) != 0;
    counts += of_block;
    std::memcpy(out, block.data(), length * size);
    in += length * size;
    out += length * size;
    count -= length;
  }
  return counts;
}

template <Counting kCounting>
ElementCounts clip_with(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
                        SimdLevel level) noexcept {
  const Kernel kernel = kernel_for<kCounting>(operation.dtype, level);
  if (is_floating(operation.dtype) || operation.arithmetic == Arithmetic::none)
    return kernel(operation, in, out, count);
  return for_each_block(operation, in, out, count,
                        [&](const std::byte* from, std::byte* block, std::size_t length) {
                          scale_integers(operation, from, block, length, level);
                          return kernel(operation, block, block, length);
                        });
}

template <class T>
[[gnu::always_inline]] inline bool is_nan(T x) noexcept {
  if constexpr (HalfType<T>)
    return (x.bits & 0x7fff) > T::kInfinity;
  else
    return std::is_floating_point_v<T> && x != x;  // NOLINT(misc-redundant-expression): also for integers
}

template <Byteswap kSwap, class T>
std::optional<std::size_t> find_nan_in(const T* elements, std::size_t count) noexcept {
  constexpr std::size_t kBlock = 4096;  // elements
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const T* const block = elements + begin;
    const std::size_t length = std::min(kBlock, count - begin);
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) any |= is_nan(byteswap_if<kSwap>(block[i]));
    if (any)
      return begin +
             static_cast<std::size_t>(
                 std::find_if(block, block + length, [](T x) { return is_nan(byteswap_if<kSwap>(x)); }) -
                 block);
  }
  return std::nullopt;
}

float comparable(Float16 x) noexcept {
  return widen(x);
}
float comparable(BFloat16 x) noexcept {
  return widen(x);
}
template <class T>
T comparable(T x) noexcept {
  return x;
}

bool are_exchanged(const Operation& bounds) noexcept {
  return with_type(bounds.dtype, [&]<class T>() {
    return comparable(from_bits<T>(bounds.lo)) > comparable(from_bits<T>(bounds.hi));
  });
}

bool replaces_nan_by_nan(const Operation& operation) noexcept {
  return operation.nan &&
         with_type(operation.dtype, [&]<class T>() { return is_nan(from_bits<T>(*operation.nan)); });
}

}  // namespace

void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept {
  clip_with<Counting::off>(operation, in, out, count, level);
}

ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, SimdLevel level) noexcept {
  const bool exchanged = are_exchanged(operation);
  if (!exchanged && !replaces_nan_by_nan(operation))
    return clip_with<Counting::on>(operation, in, out, count, level);
  // Both cases are too rare for kernels of their own: each block is clipped twice, the first time to count.
  // With lo > hi elements move to hi, as if both bounds were hi; the sign that a zero takes from hi is no
  // move.
  Operation counted = operation;
  if (exchanged) counted.lo = operation.hi;
  counted.nan.reset();
  return for_each_block(
      operation, in, out, count, [&](const std::byte* from, std::byte* block, std::size_t length) {
        const ElementCounts counts = clip_with<Counting::on>(counted, from, block, length, level);
        clip_with<Counting::off>(operation, from, block, length, level);
        return counts;
      });
}

std::optional<std::size_t> find_nan(DType dtype, ByteOrder order, const std::byte* elements,
                                    std::size_t count) noexcept {
  return with_type(dtype, [=]<class T>() -> std::optional<std::size_t> {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    const T* const typed = reinterpret_cast<const T*>(elements);
    return order == kNativeOrder ? find_nan_in<Byteswap::no>(typed, count)
                                 : find_nan_in<Byteswap::yes>(typed, count);
  });
}

}  // namespace clipper
