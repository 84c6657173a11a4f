#include "statistics/interpolate.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace clipper {
namespace {

// Decimal digits are in strings, with the lowest first: float64 has numbers of 767 digits.

/// The power of ten of the last digit.
std::int64_t last_place(const Number& x) {
  return x.exponent - std::ssize(x.digits);
}

/// |x| * factor / 10^place, for a place not above the last one of x. The factor is at most kFractionOne.
std::string product(const Number& x, std::uint64_t factor, std::int64_t place) {
  if (x.digits.empty()) return "";
  std::string digits(static_cast<std::size_t>(last_place(x) - place), '0');
  std::uint64_t carry = 0;
  for (auto digit = x.digits.rbegin(); digit != x.digits.rend(); ++digit) {
    carry += static_cast<std::uint64_t>(*digit - '0') * factor;
    digits += static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  for (; carry != 0; carry /= 10) digits += static_cast<char>('0' + carry % 10);
  return digits;
}

/// a + sign * b, for numbers of equal length. The result must not be negative. The sum has a digit more.
void add(std::string& a, const std::string& b, int sign) {
  int carry = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int digit = a[i] - '0' + sign * (b[i] - '0') + carry + 10;
    a[i] = static_cast<char>('0' + digit % 10);
    carry = digit / 10 - 1;
  }
  a += static_cast<char>('0' + carry);
}

bool is_less(const std::string& a, const std::string& b) {
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

}  // namespace

Number interpolate(const Number& a, const Number& b, std::uint64_t fraction) {
  constexpr int kFractionDigits = 18;
  const std::int64_t place = std::min(last_place(a), last_place(b));
  std::string sum = product(a, kFractionOne - fraction, place);
  std::string other = product(b, fraction, place);
  const std::size_t size = std::max({sum.size(), other.size(), std::size_t{1}});
  sum.resize(size, '0');
  other.resize(size, '0');
  bool negative = a.negative;
  if (a.negative == b.negative) {
    add(sum, other, 1);
  } else {
    if (is_less(sum, other)) {
      std::swap(sum, other);
      negative = b.negative;
    }
    add(sum, other, -1);
    if (sum.find_first_not_of('0') == std::string::npos) negative = false;
  }
  std::ranges::reverse(sum);
  return *parse_number((negative ? "-" : "") + sum + "e" + std::to_string(place - kFractionDigits));
}

}  // namespace clipper
