#include "clip/codec.hpp"

#include <cstring>
#include <utility>

#include "simd/vector.hpp"

namespace clipper {
namespace {

template <class T>
[[gnu::always_inline]] inline T reversed(T x) noexcept {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(x);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(x);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(x);
  return x;
}

/// Reverses the bytes of elements of kSize bytes in a vector.
template <std::size_t kSize, class Bytes, std::size_t... kIndex>
[[gnu::always_inline]] inline void reverse(Bytes& bytes, std::index_sequence<kIndex...> /*all*/) noexcept {
  bytes = __builtin_shufflevector(bytes, bytes, (kIndex ^ (kSize - 1))...);
}

/// Loads a vector before it stores one: `out` may be `in`.
template <std::size_t kSize>
struct ReverseBytes {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const std::byte* in, std::byte* out, std::size_t size) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    std::size_t i = 0;
    for (; i + kBytes <= size; i += kBytes) {
      Vector<std::uint8_t, kBytes> bytes;
      std::memcpy(&bytes, in + i, kBytes);
      reverse<kSize>(bytes, std::make_index_sequence<kBytes>{});
      std::memcpy(out + i, &bytes, kBytes);
    }
    for (; i < size; i += kSize) {
      UnsignedOfSize<kSize> element;
      std::memcpy(&element, in + i, kSize);
      element = reversed(element);
      std::memcpy(out + i, &element, kSize);
    }
  }
};

struct MakeFlags {
  [[gnu::always_inline]] static void run(std::byte* elements, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) elements[i] = std::byte{elements[i] != std::byte{}};
  }
};

bool is_reversed(const TensorLayout& stored) noexcept {
  return stored.order != kNativeOrder && traits(stored.dtype).size > 1;
}

}  // namespace

bool is_decoded(const TensorLayout& stored) noexcept {
  return !is_reversed(stored) && stored.meaning.kind != LogicalType::Kind::boolean;
}

void decode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level) noexcept {
  encode(stored, in, out, level);
  if (stored.meaning.kind == LogicalType::Kind::boolean) run_loop<MakeFlags>(level, out.data(), out.size());
}

void encode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level) noexcept {
  if (is_reversed(stored))
    with_size(traits(stored.dtype).size,
              [&]<std::size_t kSize>() { run_loop<ReverseBytes<kSize>>(level, in, out.data(), out.size()); });
  else if (in != out.data() && !out.empty())
    std::memcpy(out.data(), in, out.size());
}

}  // namespace clipper
