#pragma once

#include <bit>
#include <cstdint>

#include "element/dtype.hpp"

namespace clipper {

/// Whether elements have the opposite of this machine's byte order.
enum class Byteswap : std::uint8_t { no, yes };

/// Reverses the bytes of an element if kSwap is yes.
template <Byteswap kSwap, class T>
[[gnu::always_inline]] inline T byteswap_if(T x) noexcept {
  if constexpr (kSwap == Byteswap::no || sizeof(T) == 1)
    return x;
  else if constexpr (HalfType<T>)
    return {byteswap_if<Byteswap::yes>(x.bits)};
  else if constexpr (sizeof(T) == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(x)));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(x)));
  else
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(x)));
}

}  // namespace clipper
