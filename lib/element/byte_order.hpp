#pragma once

#include <bit>
#include <cstdint>

#include "element/dtype.hpp"

namespace clipper {

/// An element of the other byte order, or none of the two, as one of this machine's; and the other way
/// around.
template <bool kSwap, class T>
[[gnu::always_inline]] inline T byteswap_if(T x) noexcept {
  if constexpr (!kSwap || sizeof(T) == 1)
    return x;
  else if constexpr (HalfType<T>)
    return {byteswap_if<true>(x.bits)};
  else if constexpr (sizeof(T) == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(x)));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(x)));
  else
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(x)));
}

}  // namespace clipper
