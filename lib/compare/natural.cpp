#include "compare/natural.hpp"

#include <algorithm>
#include <cstddef>

namespace clipper {
namespace {

constexpr unsigned kBits = 32;  // of a digit

}  // namespace

Natural::Natural(UInt128 value) {
  for (; value != 0; value >>= kBits) digits_.push_back(static_cast<std::uint32_t>(value));
}

Natural::Natural(std::string_view digits, std::uint64_t power) {
  const auto append = [&](std::uint64_t digit) {
    for (std::uint32_t& each : digits_) {
      digit += std::uint64_t{each} * 10;
      each = static_cast<std::uint32_t>(digit);
      digit >>= kBits;
    }
    if (digit != 0) digits_.push_back(static_cast<std::uint32_t>(digit));
  };
  for (const char digit : digits) append(static_cast<std::uint64_t>(digit - '0'));
  for (; power > 0 && !digits_.empty(); --power) append(0);
}

Natural::Natural(std::span<const std::uint32_t> digits) : digits_(digits.begin(), digits.end()) {
  trim();
}

Natural& Natural::operator+=(const Natural& other) {
  digits_.resize(std::max(digits_.size(), other.digits_.size()) + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    carry += std::uint64_t{digits_[i]} + (i < other.digits_.size() ? other.digits_[i] : 0);
    digits_[i] = static_cast<std::uint32_t>(carry);
    carry >>= kBits;
  }
  trim();
  return *this;
}

Natural& Natural::operator-=(const Natural& other) {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    carry += std::int64_t{digits_[i]} - (i < other.digits_.size() ? other.digits_[i] : 0);
    digits_[i] = static_cast<std::uint32_t>(carry);
    carry >>= kBits;
  }
  trim();
  return *this;
}

Natural& Natural::operator<<=(unsigned bits) {
  if (digits_.empty()) return *this;
  std::uint64_t carry = 0;
  for (std::uint32_t& digit : digits_) {
    carry |= std::uint64_t{digit} << bits % kBits;
    digit = static_cast<std::uint32_t>(carry);
    carry >>= kBits;
  }
  digits_.push_back(static_cast<std::uint32_t>(carry));
  digits_.insert(digits_.begin(), bits / kBits, 0);
  trim();
  return *this;
}

Natural Natural::operator*(const Natural& other) const {
  Natural result;
  result.digits_.resize(digits_.size() + other.digits_.size());
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < other.digits_.size(); ++j) {
      carry += std::uint64_t{digits_[i]} * other.digits_[j] + result.digits_[i + j];
      result.digits_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= kBits;
    }
    result.digits_[i + other.digits_.size()] = static_cast<std::uint32_t>(carry);
  }
  result.trim();
  return result;
}

std::optional<UInt128> Natural::value() const {
  if (digits_.size() > sizeof(UInt128) / sizeof(std::uint32_t)) return std::nullopt;
  UInt128 value = 0;
  for (std::size_t i = digits_.size(); i-- > 0;) value = value << kBits | digits_[i];
  return value;
}

std::strong_ordering operator<=>(const Natural& a, const Natural& b) {
  if (a.digits_.size() != b.digits_.size()) return a.digits_.size() <=> b.digits_.size();
  return std::lexicographical_compare_three_way(a.digits_.rbegin(), a.digits_.rend(), b.digits_.rbegin(),
                                                b.digits_.rend());
}

void Natural::trim() {
  while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
}

Decimal::Decimal(const Number& number) : digits(number.digits) {
  constexpr std::int64_t kPlaces = 1100;
  const std::int64_t kept = std::clamp<std::int64_t>(number.exponent + kPlaces, 0, std::ssize(digits));
  digits = digits.substr(0, static_cast<std::size_t>(kept));
  if (!digits.empty()) power = number.exponent - kept;
}

Natural Decimal::shifted(std::int64_t places) const {
  return {digits, static_cast<std::uint64_t>(power + places)};
}

}  // namespace clipper
