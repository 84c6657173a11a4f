#include "statistics/exact_sum.hpp"

#include <algorithm>
#include <cmath>

#include "element/number.hpp"

namespace clipper {

constexpr std::int64_t kDigitMask = 0xffff'ffff;

void ExactSum::add(double x) noexcept {
  if (x == 0) return;
  const int exponent = std::max(std::ilogb(x) - 52, kLowestExponent);
  add(static_cast<std::int64_t>(std::ldexp(x, -exponent)), exponent);
}

void ExactSum::add(std::int64_t x, int exponent) noexcept {
  const int place = exponent - kLowestExponent;
  const Int128 shifted = Int128{x} * (Int128{1} << (place % kDigitBits));
  const auto digit = static_cast<std::size_t>(place / kDigitBits);
  digits_[digit] += static_cast<std::int64_t>(shifted) & kDigitMask;
  digits_[digit + 1] += static_cast<std::int64_t>(shifted >> kDigitBits) & kDigitMask;
  digits_[digit + 2] += static_cast<std::int64_t>(shifted >> (2 * kDigitBits));
}

ExactSum& ExactSum::operator+=(const ExactSum& other) noexcept {
  for (std::size_t i = 0; i < kDigits; ++i) digits_[i] += other.digits_[i];
  carry();
  return *this;
}

void ExactSum::carry() noexcept {
  for (std::size_t i = 0; i + 1 < kDigits; ++i) {
    digits_[i + 1] += digits_[i] >> kDigitBits;
    digits_[i] &= kDigitMask;
  }
}

double ExactSum::mean(std::uint64_t count) const noexcept {
  ExactSum magnitude = *this;
  magnitude.carry();
  const bool negative = magnitude.digits_.back() < 0;
  if (negative) {
    for (std::int64_t& digit : magnitude.digits_) digit = -digit;
    magnitude.carry();
  }
  std::size_t last = kDigits - 1;
  while (last > 3 && magnitude.digits_[last] == 0) --last;
  UInt128 leading = 0;  // at least 97 bits of the sum, or all of them
  for (std::size_t i = 0; i < 4; ++i)
    leading = leading << kDigitBits | static_cast<std::uint64_t>(magnitude.digits_[last - i]);
  const double quotient = static_cast<double>(leading) / static_cast<double>(count);
  const int exponent = kLowestExponent + kDigitBits * static_cast<int>(last - 3);
  return std::ldexp(negative ? -quotient : quotient, exponent);
}

}  // namespace clipper
