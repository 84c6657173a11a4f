// g++ 12 does not vectorize conversions of 16-bit floats to and from F16C instructions; these two are by
// hand.

#include "half.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace clipper {

[[gnu::target("avx,f16c")]] void widen_all_f16c(const Float16* in, float* out, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  for (; i < count; ++i) out[i] = _cvtsh_ss(in[i].bits);
}

[[gnu::target("avx,f16c")]] void narrow_all_f16c(const float* in, Float16* out, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < count; ++i) out[i].bits = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace clipper
#endif
