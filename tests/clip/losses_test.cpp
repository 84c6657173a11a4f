#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "clip/convert.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "support/catch.hpp"

/// What is counted of elements beside what becomes of them: a count is right if the results show it.
namespace clipper {
namespace {

constexpr std::size_t kElements = 3000;  // not whole tiles

/// Elements of all exponents, and NaN, infinities and zeros.
template <class T>
std::vector<std::byte> elements_of_all_sizes(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(kElements * sizeof(T));
  for (std::size_t i = 0; i < kElements; ++i) {
    const auto bits = static_cast<UnsignedOfSize<sizeof(T)>>(i % 50 == 0 ? 0 : random());
    std::memcpy(&bytes[i * sizeof(T)], &bits, sizeof(T));
  }
  return bytes;
}

double number_at(DType dtype, const std::vector<std::byte>& elements, std::size_t i) {
  return with_size(traits(dtype).size, [&]<std::size_t kSize>() {
    UnsignedOfSize<kSize> bits = 0;
    std::memcpy(&bits, &elements[i * kSize], kSize);
    return round_to<double>(number_of(dtype, bits));
  });
}

struct Found {
  std::uint64_t raised = 0;
  std::uint64_t lowered = 0;
  std::uint64_t nan = 0;
  std::uint64_t became_infinite = 0;
  std::uint64_t became_zero = 0;

  friend bool operator==(const Found&, const Found&) = default;
};

Found found(const ElementCounts& counts) {
  return {counts.raised, counts.lowered, counts.nan, counts.became_infinite, counts.became_zero};
}

/// x * scale + bias in T, of elements of `from` that become floats of `to`.
template <class T>
void check_scaled(DType from, DType to, const std::vector<std::byte>& in, T scale, T bias, T lo, T hi) {
  Operation operation = clip_operation(from, nearest_element(from, lo), nearest_element(from, hi));
  operation.arithmetic = sizeof(T) == sizeof(float) ? Arithmetic::float32 : Arithmetic::float64;
  operation.scale = scale;
  operation.bias = bias;
  if (to != from) {
    operation = conversion(from, to);
    operation.arithmetic = sizeof(T) == sizeof(float) ? Arithmetic::float32 : Arithmetic::float64;
    operation.scale = scale;
    operation.bias = bias;
    operation.lo = nearest_element(operation.dtype, lo);
    operation.hi = nearest_element(operation.dtype, hi);
  }
  const std::optional<Losses> losses = losses_of(operation);
  REQUIRE(losses);
  for (const SimdLevel level : simd_levels()) {
    CAPTURE(traits(from).name, traits(to).name, scale, bias, lo, hi, to_string(level));
    std::vector<std::byte> out(kElements * traits(to).size);
    const Converted done =
        apply(operation, kNumbers, in.data(), out.data(), kElements, Counting::on, level, &*losses);
    Found expected;
    for (std::size_t i = 0; i < kElements; ++i) {
      const auto x = static_cast<T>(number_at(from, in, i));
      const T product = x * scale;
      const T g = product + bias;
      const double result = number_at(to, out, i);
      const bool is_within = g >= lo && g <= hi;
      expected.nan += std::isnan(g) ? 1 : 0;
      expected.raised += g < lo ? 1 : 0;
      expected.lowered += g > hi ? 1 : 0;
      expected.became_infinite += is_within && std::isfinite(x) && std::isinf(result) ? 1 : 0;
      const bool underflows = bias == 0 && product == 0 && x != 0;
      expected.became_zero += is_within && result == 0 && (g != 0 || underflows) ? 1 : 0;
    }
    REQUIRE(found(done.counts) == expected);
  }
}

TEST_CASE("What a scale or a cast makes infinite or 0 is counted as the results show it") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::byte> floats = elements_of_all_sizes<float>(1);
  const std::vector<std::byte> doubles = elements_of_all_sizes<double>(2);
  const std::vector<std::byte> halves = elements_of_all_sizes<std::uint16_t>(3);
  for (const float scale : {1e-30F, 0.5F, -3e4F, 1e30F})
    for (const float bias : {0.0F, 1e-20F, -250.0F})
      for (const float hi : {kInfinity, 1000.0F})
        for (const float lo : {-kInfinity, 1e-7F}) {
          check_scaled<float>(DType::float32, DType::float32, floats, scale, bias, lo, hi);
          check_scaled<float>(DType::float32, DType::float16, floats, scale, bias, lo, hi);
          check_scaled<double>(DType::float64, DType::float64, doubles, scale, bias, lo, hi);
          check_scaled<double>(DType::float64, DType::float32, doubles, scale, bias, lo, hi);
          check_scaled<float>(DType::float16, DType::float16, halves, scale, bias, lo > 0 ? 0x1p-14F : lo,
                              hi);
        }
}

/// (y - a) / b of int64, exact before it is divided, with the replacements of a cast.
Operation exact_quotient(std::int64_t a, double b, DType to, std::int64_t lo, std::int64_t hi) {
  Operation operation;
  operation.from = operation.dtype = DType::int64;
  operation.to = DType::float64;
  operation.lo = to_bits(lo);
  operation.hi = to_bits(hi);
  operation.cast.emplace();
  set_limits(operation);
  Normalization& step = operation.normalization.emplace();
  step.a = DoubleDouble::of(a);
  step.b = b;
  step.to = to;
  step.cast.saturates = !is_floating(to);
  if (!is_floating(to)) step.cast.round = Round::half_even;
  set_limits(step);
  return operation;
}

TEST_CASE("Differences of 64-bit integers that float64 lacks are exact, and their quotients are counted") {
  std::mt19937_64 random(4);
  for (const std::int64_t a : {(std::int64_t{1} << 53) + 1, std::int64_t{-3}, (std::int64_t{1} << 60) + 77})
    for (const int bits : {20, 54, 63})
      for (const double b : {3.0, -1e-40, 0x1p70})
        for (const DType to : {DType::float64, DType::float32, DType::float16, DType::int16}) {
          const std::int64_t limit = std::int64_t{1} << (bits - 2);
          std::vector<std::int64_t> in(kElements);
          for (std::int64_t& x : in)
            x = static_cast<std::int64_t>(random() >> (64 - bits)) - std::int64_t{1} * (limit / 2);
          const Operation operation = exact_quotient(a, b, to, -limit / 4, limit * 2);
          for (const SimdLevel level : simd_levels()) {
            CAPTURE(a, b, bits, traits(to).name, to_string(level));
            std::vector<std::byte> out(kElements * traits(to).size);
            const Converted done =
                normalize(operation, kNumbers, reinterpret_cast<const std::byte*>(in.data()), out.data(),
                          kElements, Counting::on, level);
            Found expected;
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < kElements; ++i) {
              const std::int64_t y = std::clamp(in[i], -limit / 4, limit * 2);
              const double z = static_cast<double>(Int128{y} - a) / b;
              const double result = number_at(to, out, i);
              expected.raised += y > in[i] ? 1 : 0;
              expected.lowered += y < in[i] ? 1 : 0;
              const double wanted = is_floating(to) ? round_to<double>(number_of(to, nearest_element(to, z)))
                                                    : std::clamp(std::nearbyint(z), -32768.0, 32767.0);
              wrong += result == wanted ? 0 : 1;
              if (y != in[i]) continue;
              if (!is_floating(to)) {
                expected.raised += std::nearbyint(z) < result ? 1 : 0;
                expected.lowered += std::nearbyint(z) > result ? 1 : 0;
              }
              expected.became_infinite += std::isinf(result) ? 1 : 0;
              expected.became_zero += result == 0 && z != 0 ? 1 : 0;
            }
            REQUIRE(wrong == 0);
            REQUIRE(found(done.counts) == expected);
          }
        }
}

}  // namespace
}  // namespace clipper
