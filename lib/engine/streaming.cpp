#include "engine/streaming.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "os/os.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

#if defined(__x86_64__)
// In the widest vectors, because the CPU reads the next elements sooner the fewer instructions copy a block.
// A line of the elements ahead is asked for with each line that is written: all at once would fill the
// queues.

void prefetch_line(const std::byte* ahead, std::size_t i) noexcept {
  if (i % kCacheLine == 0) __builtin_prefetch(ahead + i);
}

void stream_baseline(const std::byte* from, std::byte* to, const std::byte* ahead) noexcept {
  for (std::size_t i = 0; i < kStreamedBlock; i += sizeof(__m128i)) {
    prefetch_line(ahead, i);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
}

[[gnu::target("arch=x86-64-v3,avx2,fma,f16c,bmi,bmi2,lzcnt,movbe")]] void stream_v3(
    const std::byte* from, std::byte* to, const std::byte* ahead) noexcept {
  for (std::size_t i = 0; i < kStreamedBlock; i += sizeof(__m256i)) {
    prefetch_line(ahead, i);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
  }
}

[[gnu::target(
    "arch=x86-64-v4,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,f16c,fma,bmi,bmi2,lzcnt,movbe")]] void
stream_v4(const std::byte* from, std::byte* to, const std::byte* ahead) noexcept {
  for (std::size_t i = 0; i < kStreamedBlock; i += sizeof(__m512i)) {
    prefetch_line(ahead, i);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i),
                        _mm512_load_si512(reinterpret_cast<const __m512i*>(from + i)));
  }
}
#endif

}  // namespace

bool should_stream([[maybe_unused]] const std::byte* out, [[maybe_unused]] std::size_t size,
                   [[maybe_unused]] unsigned threads) noexcept {
#if defined(__x86_64__)
  constexpr std::size_t kLarge = 16UL << 20;
  constexpr std::size_t kSecondLevel = 1UL << 20;  // of a result that stays in a thread's second-level cache
  if (size < kLarge || size / threads <= kSecondLevel) return false;
  return os::is_resident(out) && os::is_resident(out + size / 2) && os::is_resident(out + size - 1);
#else
  return false;
#endif
}

void stream_block([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::byte* to,
                  [[maybe_unused]] const std::byte* ahead) noexcept {
#if defined(__x86_64__)
  switch (simd_levels().back()) {
    case SimdLevel::baseline: return stream_baseline(from, to, ahead);
    case SimdLevel::v3: return stream_v3(from, to, ahead);
    case SimdLevel::v4: return stream_v4(from, to, ahead);
  }
#endif
}

void finish_streaming() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace clipper
