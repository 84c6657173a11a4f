#include "statistics/exact_sum.hpp"

#include <algorithm>

namespace clipper {

constexpr std::int64_t kDigitMask = 0xffff'ffff;

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

}  // namespace clipper
