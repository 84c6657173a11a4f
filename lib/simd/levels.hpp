#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace clipper {

/// The instruction sets that kernels are compiled for; only `baseline` if the architecture is not x86-64.
enum class SimdLevel : std::uint8_t {
  baseline,  ///< what every CPU of the architecture has
  v3,        ///< x86-64-v3: AVX2, F16C
  v4,        ///< x86-64-v4: AVX-512 F, BW, CD, DQ, VL
};

inline constexpr std::array kSimdLevels{SimdLevel::baseline, SimdLevel::v3, SimdLevel::v4};

[[nodiscard]] std::string_view to_string(SimdLevel level) noexcept;

/// The levels that both this CPU and this build have, lowest first; never empty.
[[nodiscard]] std::span<const SimdLevel> simd_levels() noexcept;

/// Whether this CPU has AVX-512 VBMI, which permutes bytes. Some CPUs of level v4 lack it.
[[nodiscard]] bool has_vbmi() noexcept;

}  // namespace clipper
