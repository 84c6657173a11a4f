#include "statistics/figure.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

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

}  // namespace clipper
