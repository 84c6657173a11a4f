#include "clip/scale_integers.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "element/dtype.hpp"
#include "simd/conversions.hpp"
#include "simd/vector.hpp"
#endif

namespace clipper {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kBytes = vector_bytes(SimdLevel::v3);

/// Which byte of each 128-bit part becomes byte `to` of the vector that has 4 elements of the part in its
/// 32-bit lanes: those from 4 * `group` on; -1 gives 0. Signed elements are the highest bytes of their lanes,
/// which gives these the sign, others the lowest.
template <class T>
constexpr std::int8_t widened_byte(std::size_t to, std::size_t group) {
  const std::size_t byte = std::is_signed_v<T> ? 3 - to % 4 : to % 4;
  if (byte >= sizeof(T)) return -1;
  return static_cast<std::int8_t>((4 * group + to % 16 / 4) * sizeof(T) +
                                  (std::is_signed_v<T> ? sizeof(T) - 1 - byte : byte));
}

template <class T>
constexpr auto widened_bytes() {
  std::array<std::array<std::int8_t, kBytes>, sizeof(std::int32_t) / sizeof(T)> bytes{};
  for (std::size_t group = 0; group < bytes.size(); ++group)
    for (std::size_t to = 0; to < kBytes; ++to) bytes[group][to] = widened_byte<T>(to, group);
  return bytes;
}

/// x * scale + bias with one rounding, truncated, then saturated and clipped. `count` is that of whole
/// vectors. A float beyond int32 becomes the lowest int32, which the callers exclude.
template <class T>
[[gnu::target("arch=x86-64-v3,avx2,fma,f16c,bmi,bmi2,lzcnt,movbe"), gnu::flatten]] void scale_vectors(
    const Operation& operation, float scale, const std::byte* in, std::byte* out,
    std::size_t count) noexcept {
  static constexpr auto kWidened = widened_bytes<T>();
  constexpr float kUnit = std::is_signed_v<T> ? 0x1p-16F : 1;
  const __m256 scales = _mm256_set1_ps(scale * kUnit);
  const __m256 biases = _mm256_set1_ps(static_cast<float>(operation.bias));
  const auto lo = Vector<T, kBytes>{} + from_bits<T>(operation.lo);
  const auto hi = Vector<T, kBytes>{} + from_bits<T>(operation.hi);
  for (std::size_t i = 0; i < count * sizeof(T); i += kBytes) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    std::array<IntVector<kBytes>, kWidened.size()> groups;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const auto bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kWidened[k].data()));
      const __m256 floats = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(x, bytes));
      groups[k] =
          __builtin_bit_cast(IntVector<kBytes>, _mm256_cvttps_epi32(_mm256_fmadd_ps(floats, scales, biases)));
    }
    Vector<T, kBytes> y;
    pack(groups[0], groups[1], y);
    y = y < lo ? lo : y;
    y = y > hi ? hi : y;
    std::memcpy(out + i, &y, kBytes);
  }
}

/// The last elements in a padded vector.
template <class T>
void scale_all(const Operation& operation, float scale, const std::byte* in, std::byte* out,
               std::size_t count) noexcept {
  constexpr std::size_t kLanes = kBytes / sizeof(T);
  const std::size_t whole = count - count % kLanes;
  const std::size_t rest = (count - whole) * sizeof(T);
  std::array<std::byte, kBytes> last{};
  if (rest != 0) std::memcpy(last.data(), in + whole * sizeof(T), rest);
  scale_vectors<T>(operation, scale, in, out, whole);
  if (rest == 0) return;
  scale_vectors<T>(operation, scale, last.data(), last.data(), kLanes);
  std::memcpy(out + whole * sizeof(T), last.data(), rest);
}

/// Whether scale and bias are multiples of a power of two that 2^24 of exceed every product and sum. With
/// results below 1, all of which are truncated to 0, float32 may still round scale and bias.
bool is_exact(const Operation& operation) noexcept {
  const double most = std::abs(operation.scale) * 0x1p16 + std::abs(operation.bias);
  if (most >= 0x1p24) return false;
  int exponent = 0;
  std::frexp(most, &exponent);  // most < 2^exponent
  const auto is_multiple = [&](double factor) {
    const double units = std::ldexp(factor, std::numeric_limits<float>::digits - exponent);
    return units == std::trunc(units);
  };
  return is_multiple(operation.scale) && is_multiple(operation.bias);
}

}  // namespace

bool scale_16_bits(const Operation& operation, const std::byte* in, std::byte* out,
                   std::size_t count) noexcept {
  if (!is_exact(operation)) return false;
  const auto scale = static_cast<float>(operation.scale);
  if (operation.dtype == DType::int16)
    scale_all<std::int16_t>(operation, scale, in, out, count);
  else
    scale_all<std::uint16_t>(operation, scale, in, out, count);
  return true;
}
#else
bool scale_16_bits(const Operation&, const std::byte*, std::byte*, std::size_t) noexcept {
  return false;
}
#endif

}  // namespace clipper
