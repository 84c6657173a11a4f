#include "element/number.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "element/small_floats.hpp"

namespace clipper {
namespace {

// Exponents saturate here: far beyond every dtype, far below the overflow of int64.
constexpr std::int64_t kExponentLimit = 100'000'000'000'000'000;

// Hexadecimal numbers are exact to this many bits and saturate at 2^-kBinaryLimit and 2^kBinaryLimit, the
// range of binary128, because the conversion to decimal digits takes quadratic time.
constexpr std::int64_t kBinaryLimit = 16384;

constexpr int kNotADigit = 16;

constexpr int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = c | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : kNotADigit;
}

bool is_letter(char c, char lower) {
  return (c | 0x20) == lower;
}

bool equals_lower(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, is_letter);
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool take_letter(std::string_view& text, char lower) {
  if (text.empty() || !is_letter(text.front(), lower)) return false;
  text.remove_prefix(1);
  return true;
}

/// Removes an optional sign. Returns whether it is a minus.
bool take_sign(std::string_view& text) {
  const bool negative = take(text, '-');
  if (!negative) take(text, '+');
  return negative;
}

std::string_view take_digits(std::string_view& text, int base) {
  const auto end = std::ranges::find_if(text, [base](char c) { return digit_value(c) >= base; });
  const std::string_view digits(text.begin(), end);
  text.remove_prefix(digits.size());
  return digits;
}

std::optional<std::int64_t> take_exponent(std::string_view& text) {
  const bool negative = take_sign(text);
  const std::string_view digits = take_digits(text, 10);
  if (digits.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) value = std::min(value * 10 + digit_value(c), kExponentLimit);
  return negative ? -value : value;
}

/// Removes the zeros at both ends. Returns how many were at the front.
std::int64_t trim_zeros(std::string& digits) {
  digits.erase(digits.find_last_not_of('0') + 1);
  const std::size_t leading = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, leading);
  return static_cast<std::int64_t>(leading);
}

/// (-1)^negative * 0.DIGITS * 10^exponent
Number finite_number(bool negative, std::string digits, std::int64_t exponent) {
  exponent -= trim_zeros(digits);
  Number number;
  number.negative = negative;
  number.exponent = digits.empty() ? 0 : exponent;
  number.digits = std::move(digits);
  return number;
}

/// An infinity or NaN.
Number special_number(Number::Kind kind, bool negative) {
  Number number;
  number.kind = kind;
  number.negative = negative;
  return number;
}

/// digits = digits * factor + summand, for decimal digits with the lowest first. The factor is at most 2^60.
void multiply_add(std::string& digits, std::uint64_t factor, std::uint64_t summand) {
  std::uint64_t carry = summand;
  for (char& digit : digits) {
    carry += static_cast<std::uint64_t>(digit - '0') * factor;
    digit = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  for (; carry != 0; carry /= 10) digits += static_cast<char>('0' + carry % 10);
}

/// (-1)^negative * 0.HEX * 2^exponent
Number binary_number(bool negative, std::string hex, std::int64_t exponent) {
  exponent -= 4 * trim_zeros(hex);
  if (hex.empty()) return finite_number(negative, {}, 0);
  exponent = std::clamp(exponent, -kBinaryLimit, kBinaryLimit);
  if (hex.size() > kBinaryLimit / 4) {
    hex.resize(kBinaryLimit / 4);
    hex += '1';  // stands for the nonzero digits cut off: puts the number on the right side of a tie
  }

  std::string digits;
  for (const char c : hex) multiply_add(digits, 16, static_cast<std::uint64_t>(digit_value(c)));
  // digits * 2^-n is digits * 5^n * 10^-n
  const std::int64_t power = exponent - 4 * std::ssize(hex);
  const std::uint64_t base = power < 0 ? 5 : 2;
  for (std::int64_t left = std::abs(power); left > 0;) {
    std::uint64_t factor = 1;
    for (int i = 0; i < 25 && left > 0; ++i, --left) factor *= base;
    multiply_add(digits, factor, 0);
  }
  std::ranges::reverse(digits);
  const std::int64_t point = std::ssize(digits) + std::min<std::int64_t>(power, 0);
  return finite_number(negative, std::move(digits), point);
}

std::strong_ordering compare_magnitudes(const Number& a, const Number& b) {
  if (a.kind != b.kind)
    return b.kind == Number::Kind::infinite ? std::strong_ordering::less : std::strong_ordering::greater;
  if (a.exponent != b.exponent) return a.exponent <=> b.exponent;
  return a.digits <=> b.digits;
}

int signum(const Number& number) {
  if (number.kind == Number::Kind::finite && number.digits.empty()) return 0;
  return number.negative ? -1 : 1;
}

template <class T>
T nearest_magnitude(const Number& number) {
  using Limits = std::numeric_limits<T>;
  if (number.kind == Number::Kind::nan) return Limits::quiet_NaN();
  if (number.kind == Number::Kind::infinite) return Limits::infinity();

  const std::int64_t exponent = std::clamp<std::int64_t>(number.exponent, -1000, 1000);
  const std::string text = "0." + number.digits + "e" + std::to_string(exponent);
  // The result if the value is out of range: from_chars leaves it unchanged or sets it to the same.
  T result = exponent > 0 ? Limits::infinity() : 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// Whether the fraction of the magnitude is more than a half, or a half after an odd integer.
bool rounds_up(const Number& number, bool is_odd) {
  const auto fractions = std::ssize(number.digits) - number.exponent;
  if (number.exponent < 0 || fractions <= 0) return false;
  const char first = number.digits[static_cast<std::size_t>(number.exponent)];
  return first > '5' || (first == '5' && (fractions > 1 || is_odd));
}

}  // namespace

std::optional<Number> parse_number(std::string_view text) {
  const bool negative = take_sign(text);
  if (equals_lower(text, "inf") || equals_lower(text, "infinity"))
    return special_number(Number::Kind::infinite, negative);
  if (equals_lower(text, "nan")) return special_number(Number::Kind::nan, negative);

  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  const int base = hexadecimal ? 16 : 10;

  std::string digits(take_digits(text, base));
  const std::int64_t point = std::ssize(digits);
  if (take(text, '.')) digits += take_digits(text, base);
  if (digits.empty()) return std::nullopt;

  std::int64_t exponent = 0;
  if (take_letter(text, hexadecimal ? 'p' : 'e')) {
    const std::optional<std::int64_t> written = take_exponent(text);
    if (!written) return std::nullopt;
    exponent = *written;
  }
  if (!text.empty()) return std::nullopt;

  return hexadecimal ? binary_number(negative, std::move(digits), 4 * point + exponent)
                     : finite_number(negative, std::move(digits), point + exponent);
}

Number::Number(bool is_negative, std::uint64_t magnitude) {
  *this = finite_number(is_negative, std::to_string(magnitude), std::ssize(std::to_string(magnitude)));
}

Number Number::of_double(double value) {
  if (std::isnan(value))  // libc++ writes some NaNs as nan(ind) and nan(snan)
    return special_number(Kind::nan, std::signbit(value));
  if (std::isinf(value)) return special_number(Kind::infinite, std::signbit(value));
  constexpr int kMantissa = std::numeric_limits<double>::digits;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, kMantissa));
  // Each bit after the point is one decimal digit after the point: 0 for whole numbers, up to 1074.
  const int places = mantissa == 0 ? 0 : std::max(0, kMantissa - exponent - std::countr_zero(mantissa));
  std::array<char, 1100> text;
  const auto result =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, places);
  return parse_number({text.data(), result.ptr}).value();
}

std::partial_ordering operator<=>(const Number& a, const Number& b) {
  if (a.kind == Number::Kind::nan || b.kind == Number::Kind::nan) return std::partial_ordering::unordered;
  if (const auto order = signum(a) <=> signum(b); std::is_neq(order)) return order;
  return a.negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

bool operator==(const Number& a, const Number& b) {
  return std::is_eq(a <=> b);
}

std::string decimal_text(const Number& number) {
  constexpr std::int64_t kMaxZeros = 20;  // written out; more of them become an exponent
  const std::string sign = number.negative ? "-" : "";
  if (number.kind == Number::Kind::nan) return "nan";
  if (number.kind == Number::Kind::infinite) return sign + "inf";
  const std::string& digits = number.digits;
  if (digits.empty()) return sign + "0";
  const std::int64_t zeros = number.exponent - std::ssize(digits);
  if (number.exponent <= -kMaxZeros || zeros > kMaxZeros)
    return sign + digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") +
           (number.exponent > 0 ? "e+" : "e") + std::to_string(number.exponent - 1);
  if (number.exponent <= 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-number.exponent), '0') + digits;
  if (zeros >= 0) return sign + digits + std::string(static_cast<std::size_t>(zeros), '0');
  const auto point = static_cast<std::size_t>(number.exponent);
  return sign + digits.substr(0, point) + "." + digits.substr(point);
}

bool is_integer(const Number& number) {
  return number.kind == Number::Kind::finite && std::ssize(number.digits) <= number.exponent;
}

float round_to_odd(const Number& number) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto nearest = round_to<float>(number);
  const std::partial_ordering side = number <=> Number(nearest);
  const bool odd = (to_bits(nearest) & 1) != 0;
  if (!odd && std::is_gt(side)) return std::nextafter(nearest, kInfinity);
  if (!odd && std::is_lt(side)) return std::nextafter(nearest, -kInfinity);
  return nearest;
}

template <class T>
T round_to(const Number& number) {
  if constexpr (HalfType<T>) {
    return narrow_half<T>(round_to_odd(number));
  } else {
    const T magnitude = nearest_magnitude<T>(number);
    return number.negative && number.kind != Number::Kind::nan ? -magnitude : magnitude;
  }
}

template <class T>
T narrow(double value) {
  if constexpr (HalfType<T>)
    return narrow_half<T>(round_to_odd(value));
  else
    return static_cast<T>(value);
}

Int128 to_integer(const Number& number, Rounding rounding) {
  constexpr Int128 kLimit = Int128{1} << 100;
  constexpr int kLimitDigits = 31;
  Int128 magnitude = 0;
  if (number.kind == Number::Kind::infinite || number.exponent > kLimitDigits) {
    magnitude = kLimit;
  } else {
    for (std::int64_t i = 0; i < number.exponent; ++i) {
      const auto place = static_cast<std::size_t>(i);
      magnitude = magnitude * 10 + (place < number.digits.size() ? number.digits[place] - '0' : 0);
    }
    const bool away_from_zero = rounding == (number.negative ? Rounding::down : Rounding::up);
    if (rounding == Rounding::half_even ? rounds_up(number, magnitude % 2 != 0)
                                        : away_from_zero && !is_integer(number))
      ++magnitude;
    magnitude = std::min(magnitude, kLimit);
  }
  return number.negative ? -magnitude : magnitude;
}

Number rounded(const Number& number, Round round) {
  if (number.kind != Number::Kind::finite || is_integer(number)) return number;
  const auto whole = static_cast<std::size_t>(std::max<std::int64_t>(number.exponent, 0));
  std::string digits = "0" + number.digits.substr(0, whole);
  const bool is_odd = (digits.back() - '0') % 2 != 0;
  const bool goes_away = round == Round::half_even ? rounds_up(number, is_odd)
                         : round == Round::half_away
                             ? rounds_up(number, true)
                             : round == (number.negative ? Round::floor : Round::ceil);
  for (auto digit = digits.rbegin(); goes_away && ++*digit > '9'; ++digit) *digit = '0';
  return finite_number(number.negative, std::move(digits), static_cast<std::int64_t>(whole) + 1);
}

namespace {

// Digits of sums and products are in strings, with the lowest first: float64 has numbers of 767 digits.

/// The power of ten of the last digit.
std::int64_t last_place(const Number& x) {
  return x.exponent - std::ssize(x.digits);
}

Number number_of(bool negative, std::string digits, std::int64_t place) {
  const std::int64_t exponent = place + std::ssize(digits);
  std::ranges::reverse(digits);
  return finite_number(negative, std::move(digits), exponent);
}

/// |x| / 10^place, of `size` digits.
std::string digits_from(const Number& x, std::int64_t place, std::size_t size) {
  std::string digits(static_cast<std::size_t>(last_place(x) - place), '0');
  digits.append(x.digits.rbegin(), x.digits.rend());
  digits.resize(size, '0');
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

}  // namespace

Number sum(const Number& a, const Number& b) {
  if (a.kind != Number::Kind::finite || b.kind != Number::Kind::finite)
    return round_to<double>(a) + round_to<double>(b);
  if (a.digits.empty() && b.digits.empty()) return a.negative ? b : a;
  if (a.digits.empty() || b.digits.empty()) return a.digits.empty() ? b : a;
  const std::int64_t place = std::min(last_place(a), last_place(b));
  const auto size = static_cast<std::size_t>(std::max(a.exponent, b.exponent) - place);
  std::string result = digits_from(a, place, size);
  std::string other = digits_from(b, place, size);
  if (a.negative == b.negative) {
    add(result, other, 1);
    return number_of(a.negative, std::move(result), place);
  }
  const bool is_less =
      std::lexicographical_compare(result.rbegin(), result.rend(), other.rbegin(), other.rend());
  if (is_less) std::swap(result, other);
  add(result, other, -1);
  const bool is_zero = result.find_first_not_of('0') == std::string::npos;
  return number_of(!is_zero && (is_less ? b : a).negative, std::move(result), place);
}

Number difference(const Number& a, Number b) {
  b.negative = !b.negative;
  return sum(a, b);
}

Number product(const Number& a, const Number& factor) {
  if (a.kind != Number::Kind::finite || factor.kind != Number::Kind::finite)
    return round_to<double>(a) * round_to<double>(factor);
  std::uint64_t times = 0;
  for (const char digit : factor.digits) times = times * 10 + static_cast<std::uint64_t>(digit - '0');
  std::string digits;
  std::uint64_t carry = 0;
  for (auto digit = a.digits.rbegin(); digit != a.digits.rend(); ++digit) {
    carry += static_cast<std::uint64_t>(*digit - '0') * times;
    digits += static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  for (; carry != 0; carry /= 10) digits += static_cast<char>('0' + carry % 10);
  return number_of(a.negative != factor.negative, std::move(digits), last_place(a) + last_place(factor));
}

template float round_to<float>(const Number&);
template double round_to<double>(const Number&);
template Float16 round_to<Float16>(const Number&);
template BFloat16 round_to<BFloat16>(const Number&);

template float narrow<float>(double);
template Float16 narrow<Float16>(double);
template BFloat16 narrow<BFloat16>(double);

}  // namespace clipper
