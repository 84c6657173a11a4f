#include "clip/scale_bytes.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "element/dtype.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace clipper {
namespace {

#if defined(__x86_64__)
constexpr std::size_t kBytes = 32;

/// Byte `to` of the vector that has 4 elements of each 128-bit part in its 32-bit lanes: those from
/// 4 * `group` on. An int8 is the highest byte of its lane, which gives the lane its sign; a uint8 is the one
/// below.
template <class T>
constexpr std::array<std::int8_t, kBytes> widened_bytes(std::size_t group) {
  constexpr std::size_t kPlace = std::is_signed_v<T> ? 3 : 2;
  std::array<std::int8_t, kBytes> bytes{};
  for (std::size_t to = 0; to < kBytes; ++to)
    bytes[to] = to % 4 == kPlace ? static_cast<std::int8_t>(4 * group + to % 16 / 4) : std::int8_t{-1};
  return bytes;
}

/// x * scale + bias with one rounding, truncated, then saturated and clipped. `count` is a multiple of
/// kBytes. A float beyond int32 becomes the lowest int32, which only the comparison with the table excludes.
template <class T>
[[gnu::target("arch=x86-64-v3")]] void scale_vectors(const Operation& operation, float scale,
                                                     const std::byte* in, std::byte* out,
                                                     std::size_t count) noexcept {
  static constexpr std::array kWidened{widened_bytes<T>(0), widened_bytes<T>(1), widened_bytes<T>(2),
                                       widened_bytes<T>(3)};
  const __m256 scales = _mm256_set1_ps(scale * (std::is_signed_v<T> ? 0x1p-24F : 0x1p-16F));
  const __m256 biases = _mm256_set1_ps(static_cast<float>(operation.bias));
  const __m256i lo = _mm256_set1_epi8(static_cast<char>(operation.lo));
  const __m256i hi = _mm256_set1_epi8(static_cast<char>(operation.hi));
  const auto group = [&](__m256i x, std::size_t k) __attribute__((always_inline, target("arch=x86-64-v3"))) {
    const auto widened = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kWidened[k].data()));
    const __m256 floats = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(x, widened));
    return _mm256_cvttps_epi32(_mm256_fmadd_ps(floats, scales, biases));
  };
  for (std::size_t i = 0; i < count; i += kBytes) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    const __m256i low = _mm256_packs_epi32(group(x, 0), group(x, 1));
    const __m256i high = _mm256_packs_epi32(group(x, 2), group(x, 3));
    const __m256i y = std::is_signed_v<T>
                          ? _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(low, high), lo), hi)
                          : _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(low, high), lo), hi);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), y);
  }
}

template <class T>
bool scale_all(const Operation& operation, const ByteTable& table, const std::byte* in, std::byte* out,
               std::size_t count) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ByteTable elements;
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(i);
  const auto nearest = static_cast<float>(operation.scale);
  // Also the neighbours: the double of a decimal such as 1.3 is above it, and the nearest float is below.
  for (const float scale :
       {nearest, std::nextafter(nearest, kInfinity), std::nextafter(nearest, -kInfinity)}) {
    ByteTable tried;
    scale_vectors<T>(operation, scale, elements.data(), tried.data(), tried.size());
    if (std::memcmp(tried.data(), table.data(), table.size()) != 0) continue;
    const std::size_t whole = count - count % kBytes;
    scale_vectors<T>(operation, scale, in, out, whole);
    look_up(table, in + whole, out + whole, count - whole, ByteLookup::memory);
    return true;
  }
  return false;
}
#endif

}  // namespace

bool scale_bytes([[maybe_unused]] const Operation& operation, [[maybe_unused]] const ByteTable& table,
                 [[maybe_unused]] const std::byte* in, [[maybe_unused]] std::byte* out,
                 [[maybe_unused]] std::size_t count) noexcept {
#if defined(__x86_64__)
  constexpr double kMax = 0x1p31;  // larger ones may exceed float32
  if (std::abs(operation.scale) > kMax || std::abs(operation.bias) > kMax) return false;
  return operation.dtype == DType::int8 ? scale_all<std::int8_t>(operation, table, in, out, count)
                                        : scale_all<std::uint8_t>(operation, table, in, out, count);
#else
  return false;
#endif
}

}  // namespace clipper
