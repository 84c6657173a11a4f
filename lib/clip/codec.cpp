#include "clip/codec.hpp"

namespace clipper {
namespace {

template <class T>
[[gnu::always_inline]] inline T reversed(T x) noexcept {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(x);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(x);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(x);
  return x;
}

template <std::size_t kSize>
struct ReverseBytes {
  [[gnu::always_inline]] static void run(UnsignedOfSize<kSize>* elements, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) elements[i] = reversed(elements[i]);
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
  return !is_reversed(stored) && stored.meaning.kind != Meaning::Kind::boolean;
}

void decode(const TensorLayout& stored, std::span<std::byte> elements, SimdLevel level) noexcept {
  if (stored.meaning.kind == Meaning::Kind::boolean)
    run_loop<MakeFlags>(level, elements.data(), elements.size());
  else
    encode(stored, elements, level);
}

void encode(const TensorLayout& stored, std::span<std::byte> elements, SimdLevel level) noexcept {
  if (!is_reversed(stored)) return;
  with_size(traits(stored.dtype).size, [&]<std::size_t kSize>() {
    run_loop<ReverseBytes<kSize>>(level, reinterpret_cast<UnsignedOfSize<kSize>*>(elements.data()),
                                  elements.size() / kSize);
  });
}

}  // namespace clipper
