#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/clip.hpp"
#include "clip/clip_loop.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"

/// The loop over vectors (clip_loop.hpp) and its rule (bounds_rule.hpp, scaled_rule.hpp) are inlined into one
/// wrapper per instruction set. The last elements go through the same loop, in a padded vector. The code that
/// clips an element therefore exists once and cannot differ between instruction sets or between the first
/// elements and the last. Vectors is NoVectors (clip.cpp) or ParameterVectors (clip_vectors.cpp).
namespace clipper {

// One wrapper per instruction set, which the loop is inlined into.

template <class Vectors>
using Kernel = ElementCounts (*)(const Operation&, const Vectors&, const std::byte*, std::byte*,
                                 std::size_t) noexcept;

template <class T, Counting kCounting, class Vectors>
ElementCounts clip_baseline(const Operation& operation, const Vectors& vectors, const std::byte* in,
                            std::byte* out, std::size_t count) noexcept {
  return clip_bytes<SimdLevel::baseline, T, kCounting>(operation, vectors, in, out, count);
}

#if defined(__x86_64__)
template <class T, Counting kCounting, class Vectors>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] ElementCounts clip_v3(const Operation& operation,
                                                                      const Vectors& vectors,
                                                                      const std::byte* in, std::byte* out,
                                                                      std::size_t count) noexcept {
  return clip_bytes<SimdLevel::v3, T, kCounting>(operation, vectors, in, out, count);
}

template <class T, Counting kCounting, class Vectors>
[[gnu::target("arch=x86-64-v4"), gnu::flatten]] ElementCounts clip_v4(const Operation& operation,
                                                                      const Vectors& vectors,
                                                                      const std::byte* in, std::byte* out,
                                                                      std::size_t count) noexcept {
  return clip_bytes<SimdLevel::v4, T, kCounting>(operation, vectors, in, out, count);
}
#endif

template <class T, Counting kCounting, class Vectors>
Kernel<Vectors> kernel_of(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: break;
#if defined(__x86_64__)
    case SimdLevel::v3: return clip_v3<T, kCounting, Vectors>;
    case SimdLevel::v4: return clip_v4<T, kCounting, Vectors>;
#else
    case SimdLevel::v3: break;
    case SimdLevel::v4: break;
#endif
  }
  return clip_baseline<T, kCounting, Vectors>;
}

template <Counting kCounting, class Vectors>
Kernel<Vectors> kernel_for(DType dtype, SimdLevel level) noexcept {
  return with_type(dtype, [=]<class T>() { return kernel_of<T, kCounting, Vectors>(level); });
}

/// Bytes of a block, which must fit the first-level cache.
inline constexpr std::size_t kBlockSize = 16384;

/// Whether what clips a block reads its input again after writing a part of the result.
enum class Input : std::uint8_t { read_once, read_again };

/// Calls clip_block(done, from, to, length) for each block of elements, after `done` elements: it writes the
/// result to `to`, which is `from` only with Input::read_once, and returns its counts.
template <Input kInput, class F>
ElementCounts for_each_block(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, F clip_block) noexcept {
  const std::size_t size = traits(operation.dtype).size;
  alignas(64) std::array<std::byte, kBlockSize> block;
  ElementCounts counts;
  for (std::size_t done = 0; done < count;) {
    const std::size_t length = std::min(count - done, kBlockSize / size);
    const std::byte* const from = in + done * size;
    std::byte* const destination = out + done * size;
    const bool direct = in != out || (kInput == Input::read_once && counts.changed);
    std::byte* const to = direct ? destination : block.data();
    ElementCounts of_block = clip_block(done, from, to, length);
    of_block.changed = counts.changed || std::memcmp(to, from, length * size) != 0;
    counts += of_block;
    if (!direct) std::memcpy(destination, to, length * size);
    done += length;
  }
  return counts;
}

/// Whether a kernel alone does not do all of the operation: see scale_integers().
inline bool scales_integers(const Operation& operation) noexcept {
  return !is_floating(operation.dtype) && operation.arithmetic != Arithmetic::none;
}

/// All of an operation that does not scale integers; the counts are those of clip_bytes().
template <Counting kCounting, class Vectors>
ElementCounts clip_with(const Operation& operation, const Vectors& vectors, const std::byte* in,
                        std::byte* out, std::size_t count, SimdLevel level) noexcept {
  return kernel_for<kCounting, Vectors>(operation.dtype, level)(operation, vectors, in, out, count);
}

}  // namespace clipper
