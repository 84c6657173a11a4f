#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

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

// A loop is a class whose function run() is compiled once for every level. All that it calls must be inlined:
// what is not is compiled for the baseline. run() may be a template over the level.

/// How a wrapper takes an argument: as one type, whether the caller has a variable or a value.
template <class T>
using LoopArgument = std::conditional_t<std::is_scalar_v<T>, T, const T&>;

template <class Loop, SimdLevel kLevel, class... Arguments>
[[gnu::always_inline]] inline auto inlined_loop(const Arguments&... arguments) noexcept {
  if constexpr (requires { Loop::template run<kLevel>(arguments...); })
    return Loop::template run<kLevel>(arguments...);
  else
    return Loop::run(arguments...);
}

// The wrappers. They are not inlined: g++ would optimize a loop once more for each function around it.

template <class Loop, class... Arguments>
[[gnu::noinline, gnu::flatten]] auto loop_baseline(LoopArgument<Arguments>... arguments) noexcept {
  return inlined_loop<Loop, SimdLevel::baseline>(arguments...);
}

#if defined(__x86_64__)
template <class Loop, class... Arguments>
[[gnu::noinline, gnu::flatten, gnu::target("arch=x86-64-v3,avx2,fma,f16c,bmi,bmi2,lzcnt,movbe")]] auto
loop_v3(LoopArgument<Arguments>... arguments) noexcept {
  return inlined_loop<Loop, SimdLevel::v3>(arguments...);
}

template <class Loop, class... Arguments>
[[gnu::noinline, gnu::flatten,
  gnu::target(
      "arch=x86-64-v4,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,f16c,fma,bmi,bmi2,lzcnt,movbe")]] auto
loop_v4(LoopArgument<Arguments>... arguments) noexcept {
  return inlined_loop<Loop, SimdLevel::v4>(arguments...);
}
#endif

/// Returns Loop::run(arguments...), or run<kLevel>(arguments...), compiled for the level.
template <class Loop, SimdLevel kLevel, class... Arguments>
[[gnu::always_inline]] inline auto run_loop(const Arguments&... arguments) noexcept {
#if defined(__x86_64__)
  if constexpr (kLevel == SimdLevel::v3) return loop_v3<Loop, Arguments...>(arguments...);
  if constexpr (kLevel == SimdLevel::v4) return loop_v4<Loop, Arguments...>(arguments...);
#endif
  if constexpr (kLevel == SimdLevel::baseline) return loop_baseline<Loop, Arguments...>(arguments...);
}

/// Returns f.operator()<kLevel>(). The level must be one of simd_levels().
template <class F>
decltype(auto) with_level([[maybe_unused]] SimdLevel level, const F& f) noexcept {
#if defined(__x86_64__)
  if (level == SimdLevel::v3) return f.template operator()<SimdLevel::v3>();
  if (level == SimdLevel::v4) return f.template operator()<SimdLevel::v4>();
#endif
  return f.template operator()<SimdLevel::baseline>();
}

/// run_loop() for one of simd_levels().
template <class Loop, class... Arguments>
[[gnu::always_inline]] inline auto run_loop(SimdLevel level, const Arguments&... arguments) noexcept {
  return with_level(level, [&]<SimdLevel kLevel>() { return run_loop<Loop, kLevel>(arguments...); });
}

}  // namespace clipper
