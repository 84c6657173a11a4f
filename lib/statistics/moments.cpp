#include "statistics/moments.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "statistics/figure.hpp"

namespace clipper {
namespace {

/// Of a digit of an ExactSum.
constexpr std::int64_t kDigitMask = 0xffff'ffff;

constexpr int kPrecision = 53;          // of a float64
constexpr int kLowestExponent = -1074;  // of a float64

/// A natural number; the least significant digit first.
constexpr std::size_t kWideDigits = ExactSum::kDigits + 2;  // for a sum of squares times a 64-bit count
using Wide = std::array<std::uint32_t, kWideDigits>;

/// Leaves out `skipped` digits, which are 0.
Wide wide_of(const ExactSum::Magnitude& magnitude, std::size_t skipped = 0) noexcept {
  Wide result{};
  std::copy(magnitude.digits.begin() + static_cast<std::ptrdiff_t>(skipped), magnitude.digits.end(),
            result.begin());
  return result;
}

/// The number of digits up to the last one that is not 0.
std::size_t size_of(const Wide& x) noexcept {
  std::size_t size = kWideDigits;
  while (size != 0 && x[size - 1] == 0) --size;
  return size;
}

/// The product must fit. Most numbers have few digits that are not 0.
Wide product(const Wide& a, const Wide& b) noexcept {
  Wide result{};
  const std::size_t size = size_of(b);
  for (std::size_t i = 0; i < kWideDigits; ++i) {
    if (a[i] == 0) continue;
    std::uint64_t carry = 0;
    for (std::size_t j = 0; i + j < kWideDigits && (j < size || carry != 0); ++j) {
      carry += std::uint64_t{a[i]} * b[j] + result[i + j];
      result[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= ExactSum::kDigitBits;
    }
  }
  return result;
}

/// a must be at least b.
Wide difference(const Wide& a, const Wide& b) noexcept {
  Wide result{};
  std::int64_t carry = 0;
  for (std::size_t i = 0; i < kWideDigits; ++i) {
    carry += std::int64_t{a[i]} - b[i];
    result[i] = static_cast<std::uint32_t>(carry);
    carry >>= ExactSum::kDigitBits;
  }
  return result;
}

/// dividend * 2^ExactSum::kLowestExponent / divisor, by long division, with at least 125 bits and an even
/// exponent. The divisor is less than 2^127.
Truncated quotient(const Wide& dividend, UInt128 divisor) noexcept {
  Truncated result;
  const std::size_t size = size_of(dividend);
  if (size == 0) return result;
  UInt128 rest = 0;
  int place = static_cast<int>(size) * ExactSum::kDigitBits;
  const auto next_bit = [&]() -> std::uint32_t {
    if (--place < 0) return 0;
    const auto at = static_cast<unsigned>(place);
    return dividend[at / ExactSum::kDigitBits] >> (at % ExactSum::kDigitBits) & 1;
  };
  while (result.leading >> 124 == 0 || place % 2 != 0) {
    rest = rest << 1 | next_bit();
    const bool bit = rest >= divisor;
    if (bit) rest -= divisor;
    result.leading = result.leading << 1 | static_cast<UInt128>(bit);
  }
  result.exponent = ExactSum::kLowestExponent + place;
  while (place > 0 && place % ExactSum::kDigitBits != 0) rest |= next_bit();
  for (; place > 0; place -= ExactSum::kDigitBits)
    rest |= dividend[static_cast<std::size_t>(place) / ExactSum::kDigitBits - 1];
  result.exact = rest == 0;
  return result;
}

}  // namespace

void ExactSum::add(Int128 x, int exponent) noexcept {
  const int place = exponent - kLowestExponent;
  const int shift = place % kDigitBits;
  auto digit = digits_.begin() + place / kDigitBits;
  *digit += static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << shift) & kDigitMask;
  x >>= kDigitBits - shift;
  for (int i = 0; i < 3; ++i, x >>= kDigitBits) *++digit += static_cast<std::int64_t>(x) & kDigitMask;
  *++digit += static_cast<std::int64_t>(x);
}

ExactSum& ExactSum::operator+=(const ExactSum& other) noexcept {
  for (std::size_t i = 0; i < kDigits; ++i) digits_[i] += other.digits_[i];
  carry();
  return *this;
}

ExactSum& ExactSum::operator-=(const ExactSum& other) noexcept {
  for (std::size_t i = 0; i < kDigits; ++i) digits_[i] -= other.digits_[i];
  carry();
  return *this;
}

void ExactSum::carry() noexcept {
  for (std::size_t i = 0; i + 1 < kDigits; ++i) {
    digits_[i + 1] += digits_[i] >> kDigitBits;
    digits_[i] &= kDigitMask;
  }
}

ExactSum::Magnitude ExactSum::magnitude() const noexcept {
  ExactSum sum = *this;
  sum.carry();
  Magnitude result;
  result.negative = sum.digits_.back() < 0;
  if (result.negative) {
    for (std::int64_t& digit : sum.digits_) digit = -digit;
    sum.carry();
  }
  std::transform(sum.digits_.begin(), sum.digits_.end(), result.digits.begin(),
                 [](std::int64_t digit) { return static_cast<std::uint32_t>(digit); });
  return result;
}

void Moments::add(double x) noexcept {
  constexpr std::uint64_t kHidden = std::uint64_t{1} << (kPrecision - 1);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto field = static_cast<int>(bits >> (kPrecision - 1) & 0x7ff);
  const int exponent = std::max(field, 1) - 1 + kLowestExponent;
  const auto magnitude = static_cast<std::int64_t>((bits & (kHidden - 1)) | (field != 0 ? kHidden : 0));
  if (magnitude == 0) return;
  sum.add(x < 0 ? -magnitude : magnitude, exponent);
  squares.add(Int128{magnitude} * magnitude, 2 * exponent);
}

Moments& Moments::operator+=(const Moments& other) noexcept {
  sum += other.sum;
  squares += other.squares;
  return *this;
}

double Moments::mean(std::uint64_t count) const noexcept {
  const ExactSum::Magnitude magnitude = sum.magnitude();
  const double result = rounded(quotient(wide_of(magnitude), count));
  return magnitude.negative ? -result : result;
}

/// The square root of (count * squares - sum^2) / count^2.
double Moments::standard_deviation(std::uint64_t count) const noexcept {
  // The sum is a multiple of 2^-1074. Without these digits its square has the exponent kLowestExponent.
  constexpr std::size_t kEmptyDigits = -ExactSum::kLowestExponent / 2 / ExactSum::kDigitBits;
  const Wide own_sum = wide_of(sum.magnitude(), kEmptyDigits);
  const Wide own_count{static_cast<std::uint32_t>(count),
                       static_cast<std::uint32_t>(count >> ExactSum::kDigitBits)};
  const Wide scaled = difference(product(own_count, wide_of(squares.magnitude())), product(own_sum, own_sum));
  return rounded(square_root(quotient(scaled, UInt128{count} * count)));
}

}  // namespace clipper
