#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "clip/convert.hpp"
#include "clip/reference_clip.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "support/catch.hpp"

/// The composed loops of normalize(), which multiply in place of dividing, beside a loop for each step.
namespace clipper {
namespace {

constexpr std::size_t kCount = 3000;  // not whole blocks

/// (x - a) / b, or if `stretches` from a to b, of elements from -limit to limit.
Operation normalizing(DType from, DType to, bool stretches, double a, double b) {
  Operation operation;
  operation.from = from;
  operation.dtype = working_dtype(from);
  operation.to = DType::float64;
  const auto element = [&](double bound) {
    return is_floating(from) ? nearest_element(operation.dtype, bound)
                             : to_bits(static_cast<std::int64_t>(bound));
  };
  const auto end = [&](ElementBits each) { return working_element(from, each, operation.dtype); };
  operation.lo = stretches ? element(a) : end(lowest_element(from));
  operation.hi = stretches ? element(b) : end(highest_element(from));
  operation.cast.emplace();
  set_limits(operation);
  Normalization& step = operation.normalization.emplace();
  step.stretches = stretches;
  step.a = a;
  step.b = b;
  step.low = stretches ? 255 : 0;
  step.high = stretches ? 2 : 1;
  step.to = to;
  step.cast.saturates = !is_floating(to);
  if (!is_floating(to)) step.cast.round = Round::half_even;
  set_limits(step);
  return operation;
}

struct Results {
  std::vector<std::byte> bytes;
  ElementCounts counts;
  std::optional<std::size_t> first_nan;

  friend bool operator==(const Results&, const Results&) = default;
};

/// With and without composed loops, and counts.
Results normalized(const Operation& operation, const std::vector<std::byte>& in, std::size_t count,
                   SimdLevel level, const Operands& operands = kNumbers) {
  const std::size_t size = count * traits(operation.normalization->to).size;
  std::vector<std::byte> out(size);
  std::vector<ElementCounts> counts;
  std::optional<std::size_t> first_nan;
  for (const Composing composing : {Composing::on, Composing::off})
    for (const Counting counting : {Counting::off, Counting::on}) {
      std::vector<std::byte> other(size);
      const Converted done =
          normalize(operation, operands, in.data(), other.data(), count, counting, level, nullptr, composing);
      if (counting == Counting::on) counts.push_back(done.counts);
      if (composing == Composing::on && counting == Counting::off) out = other, first_nan = done.first_nan;
      REQUIRE(done.first_nan == first_nan);
      REQUIRE(out == other);
    }
  REQUIRE(counts[0] == counts[1]);
  return {out, counts[0], first_nan};
}

/// Makes the step x * factor.
void scale_alone(Operation& operation, double factor) {
  operation.normalization->a = 0;
  operation.normalization->b = 1;
  operation.normalization->factor = factor;
}

/// By the divisions of vectors, in which each element has the same parameters.
Results divided(const Operation& operation, const std::vector<std::byte>& in, SimdLevel level) {
  const std::vector<double> a(kCount, operation.normalization->a.head);
  const std::vector<double> b(kCount, operation.normalization->b.head);
  const std::vector<double> factor(kCount, operation.normalization->factor);
  const std::size_t size = traits(operation.dtype).size;
  std::vector<std::byte> lo(kCount * size);
  std::vector<std::byte> hi(kCount * size);
  for (std::size_t i = 0; i < kCount; ++i) {
    reference::store(operation.dtype, kNativeOrder, operation.lo, &lo[i * size]);
    reference::store(operation.dtype, kNativeOrder, operation.hi, &hi[i * size]);
  }
  Operands operands;
  operands[Slot::lo] = {lo.data(), size};
  operands[Slot::hi] = {hi.data(), size};
  operands.set(Slot::factor, factor.data());
  operands.set(Slot::a, a.data());
  operands.set(Slot::b, b.data());
  return normalized(operation, in, kCount, level, operands);
}

/// The nearest element of a number, after the others.
void append_element(std::vector<std::byte>& bytes, DType dtype, double number) {
  const ElementBits bits =
      is_floating(dtype) ? nearest_element(dtype, number) : to_bits(static_cast<std::int64_t>(number));
  bytes.resize(bytes.size() + traits(dtype).size);
  reference::store(dtype, kNativeOrder, bits, bytes.data() + bytes.size() - traits(dtype).size);
}

TEST_CASE("Multiplications with a rounded reciprocal give the bytes of a division at every level") {
  std::mt19937_64 random(57);
  std::vector<std::byte> in(kCount * sizeof(double));
  const auto factor = [&] {
    const auto integer = static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000);
    const double number = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 160) - 140);
    return random() % 2 == 0 ? integer : random() % 2 == 0 ? number : -number;
  };
  for (int i = 0; i < 3000 / static_cast<int>(kStep); ++i) {
    for (std::size_t at = 0; at < in.size(); at += sizeof(random())) {
      const std::uint64_t bits = random();
      std::memcpy(&in[at], &bits, sizeof bits);
    }
    const bool is_float = i % 3 != 0;
    const bool are_near = i / 2 % 2 == 0;  // numbers of one magnitude, also with a lasting NaN or infinity
    for (std::size_t at = 0; is_float && are_near && at + 64 < in.size(); at += sizeof(float)) {
      const float x = static_cast<float>(static_cast<std::int32_t>(random() % 65536)) / 64 - 500;
      std::memcpy(&in[at], &x, sizeof x);
    }
    const bool is_double = i % 7 == 3;
    for (std::size_t at = 0; is_double && are_near && at + 64 < in.size(); at += sizeof(double)) {
      const int exponent = static_cast<int>(random() % 2) * -(static_cast<int>(random() % 1100));
      const double x = std::ldexp(static_cast<double>(random() % 65536) - 32000, exponent);
      std::memcpy(&in[at], &x, sizeof x);
    }
    constexpr std::array kShort{DType::int16, DType::int32, DType::uint32};
    const DType from = is_double    ? DType::float64
                       : is_float   ? DType::float32
                       : i % 2 == 0 ? kShort.at(static_cast<std::size_t>(i) / 6 % kShort.size())
                                    : DType::float16;
    for (std::size_t at = 0; !is_float && are_near && at < in.size(); at += sizeof(std::int32_t)) {
      const auto x = static_cast<std::int32_t>(random() % 2000 - 500);
      std::memcpy(&in[at], &x, sizeof x);
    }
    const bool stretches = i % 5 == 0;
    double a = stretches ? static_cast<double>(random() % 1000) : factor();
    double b = stretches ? a + 1 + static_cast<double>(random() % 999) : factor();
    if (b == 0) b = 3;
    for (const DType to : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::uint8}) {
      Operation operation = normalizing(from, to, stretches, a, b);
      if (!stretches && i % 4 == 1) scale_alone(operation, 1 / (1 + std::fabs(a)));
      if (!stretches && i % 4 == 2)  // infinity is not clipped
        operation.lo =
            is_floating(from) ? nearest_element(operation.dtype, -100) : to_bits(std::int64_t{-100});
      if (stretches && i % 2 == 0) {
        operation.normalization->low = 0;
        operation.normalization->high = 1;
      }
      for (const SimdLevel level : simd_levels()) {
        CAPTURE(traits(from).name, traits(to).name, stretches, a, b, to_string(level));
        if (is_floating(to) || !is_floating(from) || are_near)
          REQUIRE(normalized(operation, in, kCount, level) == divided(operation, in, level));
      }
    }
  }
}

TEST_CASE("Elements whose bounds are equal become the first end of a stretch, counted or not") {
  for (const DType from : {DType::int16, DType::float16, DType::float32, DType::float64})
    for (const DType to : {DType::float32, DType::float64, DType::uint8}) {
      const Operation operation = normalizing(from, to, true, 7, 7);
      std::vector<std::byte> in;
      for (std::size_t i = 0; i < kCount; ++i) append_element(in, from, 6 + static_cast<double>(i % 3));
      std::vector<std::byte> low;
      for (std::size_t i = 0; i < kCount; ++i) append_element(low, to, 255);
      for (const SimdLevel level : simd_levels()) {
        CAPTURE(traits(from).name, traits(to).name, to_string(level));
        REQUIRE(divided(operation, in, level).bytes == low);
      }
    }
}

TEST_CASE("Quotients of all integers of up to 16 bits are the same in float32 as in float64, which counts") {
  std::mt19937_64 random(59);
  for (const DType from : {DType::uint8, DType::int8, DType::uint16, DType::int16}) {
    const std::size_t count = std::size_t{1} << 8 * traits(from).size;
    std::vector<std::byte> in(count * traits(from).size);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&in[i * traits(from).size], &i, traits(from).size);
    for (int i = 0; i < 60; ++i) {
      const bool stretches = i % 3 == 0;
      const auto a = static_cast<double>(random() % 100) + (i % 20 == 19 ? 0.5 : 0);
      const auto fraction = static_cast<double>(static_cast<float>(random())) * 0x1p-60;
      const double b = stretches    ? a + 1 + static_cast<double>(random() % 27)
                       : i % 2 == 0 ? fraction
                                    : 3 - a * 2;
      Operation operation = normalizing(from, DType::float32, stretches, a, b);
      operation.normalization->low = 0;
      operation.normalization->high = 1;
      if (i % 4 == 1) operation.hi = to_bits(std::int32_t{i});
      for (const SimdLevel level : simd_levels()) {
        CAPTURE(traits(from).name, stretches, a, b, to_string(level));
        static_cast<void>(normalized(operation, in, count, level));
      }
    }
  }
}

TEST_CASE(
    "64-bit integers that float64 has in a loop give the bytes of a division, beside others that it lacks") {
  std::mt19937_64 random(70);
  std::vector<std::byte> in(kCount * sizeof(std::int64_t));
  for (int i = 0; i < 1000 / static_cast<int>(kStep); ++i) {
    const DType from = i % 2 == 0 ? DType::int64 : DType::uint64;
    const int widest = i % 10 == 9 ? 64 : 52;  // bits; 51 are the limit of the loop
    for (std::size_t at = 0; at < in.size(); at += sizeof(std::uint64_t)) {
      const int bits = 1 + static_cast<int>(random()) % widest;
      std::uint64_t x = random() >> (64 - (bits < 1 ? 1 : bits));
      if (random() % 16 == 0) x = (std::uint64_t{1} << (widest - 1)) - random() % 3;
      if (from == DType::int64 && random() % 2 == 0) x = 0 - x;
      std::memcpy(&in[at], &x, sizeof x);
    }
    const bool stretches = i % 5 == 0;
    const double a = static_cast<double>(random() % 1'000'000) / (i % 3 == 0 ? 7 : 1);
    const double b = stretches ? a + 1 + static_cast<double>(random() % 999) : i % 7 == 0 ? -0.3 : 20;
    for (const DType to : {DType::float32, DType::float64, DType::float16, DType::uint8}) {
      Operation operation =
          normalizing(from, to, stretches, std::floor(a), std::floor(b) + (stretches ? 0 : 0.25));
      if (!stretches && i % 4 == 1) scale_alone(operation, 1 / (1 + a));
      for (const SimdLevel level : simd_levels()) {
        CAPTURE(traits(from).name, traits(to).name, stretches, a, b, to_string(level));
        REQUIRE(normalized(operation, in, kCount, level) == divided(operation, in, level));
      }
    }
  }
}

TEST_CASE("Quotients next to the middle between two numbers are rounded as by a division") {
  std::mt19937_64 random(58);
  const std::vector<std::byte> zero(sizeof(float));
  std::size_t tried = 0;
  for (int i = 0; i < 20'000; ++i) {
    // m / 2 has a half, and m * b is 1 or -1 more than a multiple of 2^54: that multiple / b is next to m
    // / 2.
    const std::uint64_t m = random() >> 10 | std::uint64_t{1} << 53 | 1;
    std::uint64_t inverse = m;
    for (int k = 0; k < 6; ++k) inverse *= 2 - m * inverse;
    const bool is_below = i % 2 == 0;
    const std::uint64_t b = (is_below ? inverse : 0 - inverse) & ((std::uint64_t{1} << 54) - 1);
    if (b >> 52 != 1) continue;
    ++tried;
    const auto x = static_cast<double>(
        static_cast<std::uint64_t>((UInt128{m} * b - (is_below ? 1 : 0) + (is_below ? 0 : 1)) >> 54));
    const auto divisor = static_cast<double>(b);
    const Operation operation = normalizing(DType::float32, DType::float64, false, -x, divisor);
    for (const SimdLevel level : simd_levels()) {
      const std::vector<std::byte> out = normalized(operation, zero, 1, level).bytes;
      double result = 0;
      std::memcpy(&result, out.data(), sizeof result);
      REQUIRE(result == x / divisor);
    }
  }
  CHECK(tried > 1000);
}

TEST_CASE("Subnormal halves are rounded once: next to the middle between two") {
  for (const auto& [to, exponent] : {std::pair{DType::float16, -24}, std::pair{DType::bfloat16, -133}}) {
    Operation operation = normalizing(DType::float32, to, false, 0, 1);
    scale_alone(operation, std::ldexp(1 + 0x1p-30, exponent));
    std::vector<std::byte> in;
    std::vector<std::byte> next;
    for (std::uint16_t i = 0; i < 126; ++i) {
      append_element(in, DType::float32, i + 0.5);
      const std::uint16_t above = i + 1;
      const auto* const bytes = reinterpret_cast<const std::byte*>(&above);
      next.insert(next.end(), bytes, bytes + sizeof above);
    }
    for (const SimdLevel level : simd_levels()) {
      CAPTURE(traits(to).name, to_string(level));
      REQUIRE(normalized(operation, in, 126, level).bytes == next);
    }
  }
}

}  // namespace
}  // namespace clipper
