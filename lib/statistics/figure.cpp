
#include "statistics/figure.hpp"

#include <bit>
#include <cmath>

#include "element/element.hpp"
#include "element/small_floats.hpp"

namespace clipper {
namespace {

constexpr int kPrecision = 53;          // of a float64
constexpr int kLowestExponent = -1074;  // of a float64
constexpr int kBits = 126;              // of a numerator

constexpr auto kPowersOfTen = [] {
  std::array<std::int64_t, kFactorDigits + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

int bit_width(UInt128 x) noexcept {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<std::uint64_t>(x));
}

UInt128 magnitude_of(Int128 x) noexcept {
  return static_cast<UInt128>(x < 0 ? -x : x);
}

/// The product if a numerator has room for it.
std::optional<Int128> numerator_of(Int128 a, Int128 b) noexcept {
  Int128 x = 0;
  const bool overflows = __builtin_mul_overflow(a, b, &x);
  return overflows || bit_width(magnitude_of(x)) > kBits ? std::nullopt : std::optional(x);
}

}  // namespace

void UInt256::add(UInt128 x) noexcept {
  low += x;
  high += low < x ? 1 : 0;
}

void UInt256::add_product(UInt128 a, UInt128 b) noexcept {
  constexpr auto kLow = std::numeric_limits<std::uint64_t>::max();
  if ((a | b) <= kLow) return add(a * b);
  for (const auto& [x, y] : {std::pair(a >> 64, b & kLow), std::pair(a & kLow, b >> 64)}) {
    const UInt128 middle = x * y;
    add(middle << 64);
    high += middle >> 64;
  }
  add((a & kLow) * (b & kLow));
  high += (a >> 64) * (b >> 64);
}

Truncated quotient(UInt256 dividend, int exponent, std::uint64_t divisor) noexcept {
  auto& [high, low] = dividend;
  if (high == 0) {
    std::swap(high, low);
    exponent -= 128;
  }
  if (high == 0) return {};
  if (const int shift = 128 - bit_width(high); shift != 0) {
    high = high << shift | low >> (128 - shift);
    low <<= shift;
    exponent -= shift;
  }
  const int zeros = std::countr_zero(divisor);
  divisor >>= zeros;
  exponent -= zeros;
  // Of the first 192 bits, which are more than the divisor has by 129 or more.
  auto begin = static_cast<std::uint64_t>(high >> 64);
  UInt128 rest = high << 64 | low >> 64;
  bool is_exact = static_cast<std::uint64_t>(low) == 0;
  if (divisor != 1) {
    UInt128 part = UInt128{begin % divisor} << 64 | rest >> 64;
    begin /= divisor;
    const UInt128 middle = part / divisor;
    part = part % divisor << 64 | static_cast<std::uint64_t>(rest);
    rest = middle << 64 | part / divisor;
    is_exact &= part % divisor == 0;
  }
  int dropped = 65 - std::countl_zero(begin);
  if ((exponent + dropped) % 2 != 0) ++dropped;
  return {.leading = UInt128{begin} << (128 - dropped) | rest >> dropped,
          .exponent = exponent + 64 + dropped,
          .exact = is_exact && rest << (128 - dropped) == 0};
}

Truncated square_root(const Truncated& x) noexcept {
  if (x.leading == 0) return x;
  UInt128 root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(x.leading)));
  root = (root + x.leading / root) / 2;
  while (root * root > x.leading) --root;
  while ((root + 1) * (root + 1) <= x.leading) ++root;
  return {root, x.exponent / 2, x.exact && root * root == x.leading};
}

double rounded(const Truncated& x) noexcept {
  if (x.leading == 0) return 0;
  const int dropped = std::max(bit_width(x.leading) - kPrecision, kLowestExponent - x.exponent);
  if (dropped >= 128) return 0;
  UInt128 kept = x.leading >> dropped;
  const UInt128 tail = x.leading - (kept << dropped);
  const UInt128 half = UInt128{1} << (dropped - 1);
  if (tail > half || (tail == half && (!x.exact || kept % 2 != 0))) ++kept;
  return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(kept)), x.exponent + dropped);
}

double nearest_quotient(UInt128 dividend, std::uint64_t divisor, int exponent) noexcept {
  constexpr int kFar = 900;  // further on, the result may be subnormal or infinite
  if (dividend >> kPrecision != 0 || std::abs(exponent) > kFar)
    return rounded(quotient({0, dividend}, exponent, divisor));
  const double power = std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << (kPrecision - 1));
  return static_cast<double>(static_cast<std::int64_t>(dividend)) / static_cast<double>(divisor) * power;
}

Figure::Figure(double value) : negative_(std::signbit(value)) {
  if (!std::isfinite(value)) {
    number_ = value;
    return;
  }
  const auto [mantissa, exponent] = parts_of(value);
  if (mantissa == 0) return;
  const int zeros = std::countr_zero(mantissa);
  numerator_ = static_cast<std::int64_t>(mantissa >> zeros);
  if (negative_) numerator_ = -numerator_;
  exponent_ = exponent + zeros;
}

Figure::Figure(const Number& number) : Figure(round_to<double>(number)) {
  constexpr std::int64_t kDigits = 30;  // of integers that to_integer() does not saturate
  if (number.kind != Number::Kind::finite || (!number_ && Number(*this) == number)) return;
  if (is_integer(number) && number.exponent <= kDigits)
    *this = Figure(to_integer(number, Rounding::toward_zero), 0);
  else
    number_ = number;
}

Figure Figure::of(DType dtype, ElementBits element) {
  return with_element(dtype, element, [](auto x) -> Figure {
    if constexpr (std::is_integral_v<decltype(x)>)
      return {Int128{x}, 0};
    else
      return as_double(x);
  });
}

/// In three pieces, each of which a float64 has.
Figure::operator Number() const {
  if (number_) return *number_;
  if (numerator_ == 0) return negative_ ? -0.0 : 0.0;
  constexpr int kFactorBits = 59;  // of at most kFactorDigits digits
  const UInt128 all = magnitude_of(numerator_);
  Number number;
  for (int bit = 0; bit < kBits; bit += kPrecision) {
    const auto piece = static_cast<std::uint64_t>(all >> bit) & ((std::uint64_t{1} << kPrecision) - 1);
    number = clipper::sum(number, std::ldexp(static_cast<double>(piece), bit + std::min(exponent_, 0)));
  }
  for (int rest = exponent_; rest > 0; rest -= kFactorBits)
    number = clipper::product(number, std::uint64_t{1} << std::min(rest, kFactorBits));
  number.exponent -= places_;
  number.negative = negative_;
  return number;
}

double Figure::nearest() const {
  if (number_) return round_to<double>(*number_);
  const auto divisor = static_cast<std::uint64_t>(kPowersOfTen[static_cast<std::size_t>(places_)]);
  const double nearest = nearest_quotient(magnitude_of(numerator_), divisor, exponent_);
  return negative_ ? -nearest : nearest;
}

/// The nearest one if it is near no shorter float and no middle of two, otherwise that rounded to odd: see
/// small_floats.hpp.
double Figure::odd() const {
  constexpr std::uint64_t kLastBits = (1U << 27) - 1;  // 0 in a float32 and in the middle of two
  const double value = nearest();
  if (!std::isfinite(value) || (to_bits(value) & kLastBits) != 0) return value;
  const Figure rest = sum(*this, -value);
  const double end = std::numeric_limits<double>::infinity();
  return rest.is_zero() ? value : std::nextafter(value, rest.negative_ ? -end : end);
}

Figure Figure::operator-() const {
  Figure result = *this;
  result.numerator_ = -numerator_;
  result.negative_ = !negative_;
  if (number_) result.number_->negative = !number_->negative;
  return result;
}

/// The product with factor / 10^places; nothing if it does not fit.
std::optional<Figure> Figure::times(Int128 factor, int places) const {
  places += places_;
  const auto product = numerator_of(numerator_, factor);
  if (number_ || !product || places < 0 || places > kFactorDigits) return std::nullopt;
  Figure result(*product, exponent_, places);
  result.negative_ = negative_ != (factor < 0);
  return result;
}

/// The numerator with another exponent, of which the own one is not less, and other places, which are not
/// fewer.
std::optional<Int128> Figure::in_units(int exponent, int places) const noexcept {
  const int shift = exponent_ - exponent;
  if (bit_width(magnitude_of(numerator_)) + shift > kBits) return std::nullopt;
  return numerator_of(numerator_ * (Int128{1} << shift),
                      kPowersOfTen[static_cast<std::size_t>(places - places_)]);
}

Figure sum(const Figure& a, const Figure& b) {
  if (!a.number_ && !b.number_) {
    if (a.is_zero() && b.is_zero()) return a.negative_ ? b : a;
    if (a.is_zero() || b.is_zero()) return a.is_zero() ? b : a;
    const int exponent = std::min(a.exponent_, b.exponent_);
    const int places = std::max(a.places_, b.places_);
    const auto x = a.in_units(exponent, places);
    const auto y = b.in_units(exponent, places);
    const auto total = x && y ? numerator_of(*x + *y, 1) : std::nullopt;
    if (total) return {*total, exponent, places};
  }
  return clipper::sum(Number(a), Number(b));
}

Figure product(const Figure& a, const Number& factor) {
  auto places = std::ssize(factor.digits) - factor.exponent;
  if (!a.number_ && factor.kind == Number::Kind::finite && places <= kFactorDigits &&
      factor.exponent <= kFactorDigits) {
    std::int64_t digits = 0;
    for (const char digit : factor.digits) digits = digits * 10 + (digit - '0');
    for (; places < 0; ++places) digits *= 10;
    if (auto product = a.times(factor.negative ? -digits : digits, static_cast<int>(places))) {
      product->negative_ = a.negative_ != factor.negative;
      return *product;
    }
  }
  return clipper::product(Number(a), factor);
}

Figure interpolate(const Figure& a, const Figure& b, std::uint64_t fraction) {
  int places = kFactorDigits;
  std::uint64_t one = kFractionOne;
  for (const int zeros : {16, 8, 4, 2, 1})
    if (const auto unit = static_cast<std::uint64_t>(kPowersOfTen[static_cast<std::size_t>(zeros)]);
        zeros <= places && fraction % unit == 0) {
      fraction /= unit;
      one /= unit;
      places -= zeros;
    }
  const auto x = a.times(one - fraction, places);
  const auto y = b.times(fraction, places);
  if (x && y) return sum(*x, *y);
  const auto share = [&](std::uint64_t of_one) {
    Number number = of_one;
    if (of_one != 0) number.exponent -= places;
    return number;
  };
  return clipper::sum(clipper::product(Number(a), share(one - fraction)),
                      clipper::product(Number(b), share(fraction)));
}

int compare(const Figure& a, const Figure& b) {
  if (a.number_ || b.number_) return Number(a) < Number(b) ? -1 : Number(a) > Number(b) ? 1 : 0;
  const Figure rest = sum(a, -b);
  return rest.is_zero() ? 0 : rest.negative_ ? -1 : 1;
}

ElementBits nearest_element(DType dtype, const Figure& figure) {
  if (!figure.is_finite()) return nearest_element(dtype, Number(figure));
  if (dtype == DType::float64) return to_bits(figure.nearest());
  const double odd = figure.odd();
  if (!has_kernels(dtype)) return Narrowing(dtype)(round_to_odd(odd));
  return with_type(dtype, [=]<class T>() -> ElementBits {
    if constexpr (HalfType<T>)
      return to_bits(narrow_half<T>(round_to_odd(odd)));
    else
      return to_bits(static_cast<T>(odd));
  });
}

Figure mean_of_integers(Int128 total, std::uint64_t count) {
  constexpr int kPlaces = 8;
  const auto magnitude = static_cast<UInt128>(total < 0 ? -total : total);
  const double nearest = nearest_quotient(magnitude, count, 0);
  if (nearest < kIntegersEnd) return total < 0 ? -nearest : nearest;
  const UInt128 rest = magnitude % count << kPlaces;
  const UInt128 scaled = magnitude / count << kPlaces | rest / count | (rest % count != 0 ? 1 : 0);
  const Figure mean(static_cast<Int128>(scaled), -kPlaces);
  return total < 0 ? -mean : mean;
}

namespace {

/// Of a digit of an ExactSum.
constexpr std::int64_t kDigitMask = 0xffff'ffff;

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
