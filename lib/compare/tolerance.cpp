#include "compare/tolerance.hpp"

#include <charconv>
#include <cstddef>
#include <limits>

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

namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

/// torch.testing.assert_close() compares integers exactly.
struct TorchRow {
  DType dtype;
  PresetTolerance tolerance;
};
constexpr std::array kTorch{
    TorchRow{DType::float16, {"1e-3", "1e-5"}}, TorchRow{DType::bfloat16, {"1.6e-2", "1e-5"}},
    TorchRow{DType::float32, {"1.3e-6", "1e-5"}}, TorchRow{DType::float64, {"1e-7", "1e-7"}}};

std::uint64_t saturated(UInt128 value) {
  return static_cast<std::uint64_t>(std::min<UInt128>(value, kMax));
}

}  // namespace

bool is_tolerance(const Number& number) {
  return std::isfinite(round_to<double>(number)) && number >= Number();
}

PresetTolerance preset_tolerance(TolerancePreset preset, DType dtype) {
  if (preset == TolerancePreset::numpy) return {"1e-7", "0"};
  if (preset == TolerancePreset::allclose) return {"1e-5", "1e-8"};
  const auto* const row = std::ranges::find(kTorch, dtype, &TorchRow::dtype);
  return row != kTorch.end() ? row->tolerance : PresetTolerance{"0", "0"};
}

Tolerance::Exact::Exact(const Number& a, const Number& r) {
  const Decimal first(a);
  const Decimal second(r);
  const std::int64_t places = -std::min({first.power, second.power, std::int64_t{0}});
  absolute = first.shifted(places);
  relative = second.shifted(places);
  scale = Natural("1", static_cast<std::uint64_t>(places));
}

Tolerance::Tolerance(const Number& absolute, const Number& relative)
    : absolute_(round_to<double>(absolute)),
      relative_(round_to<double>(relative)),
      whole_(saturated(static_cast<UInt128>(to_integer(absolute, Rounding::down)))) {
  constexpr std::size_t kDigits = 19;  // of which the product with any element fits 128 bits
  const std::string_view text = std::string_view(relative.digits).substr(0, kDigits);
  std::uint64_t digits = 0;
  std::from_chars(text.data(), text.data() + text.size(), digits);
  digits_ = digits;
  std::int64_t power = relative.exponent - static_cast<std::int64_t>(text.size());
  for (; power > 0 && digits_ != 0 && digits_ < kMax; --power) digits_ = saturated(digits_ * 10);
  constexpr std::int64_t kLowest = -38;  // with a smaller R, no product reaches 1
  if (power < kLowest) digits_ = 0;
  for (; power < 0 && digits_ != 0; ++power) divisor_ *= 10;

  exact_ = mixed_ = std::make_shared<const Exact>(absolute, relative);
  constexpr std::size_t kFloat64Digits = std::numeric_limits<double>::max_digits10;
  const bool is_long = is_integer(absolute) && absolute.digits.size() > kFloat64Digits;
  if (const Number as_float64(absolute_); !is_long && absolute < as_float64)
    mixed_ = std::make_shared<const Exact>(as_float64, relative);
  const std::optional<UInt128> scale = exact_->scale.value();
  const std::optional<UInt128> share = exact_->relative.value();
  if (!scale || !share || *scale > kMax || *share > kMax) return;
  short_absolute_ = exact_->absolute.value().value_or(~UInt128{0});
  short_relative_ = static_cast<std::uint64_t>(*share);
  scale_ = static_cast<std::uint64_t>(*scale);
}

std::uint64_t Tolerance::whole_share(std::uint64_t magnitude) const noexcept {
  return digits_ == 0 ? 0 : saturated(digits_ * magnitude / divisor_);
}

bool Tolerance::allows(UInt128 difference, std::uint64_t magnitude) const {
  if (scale_ != 0 && difference <= kMax) {
    const UInt128 scaled = difference * scale_;
    const UInt128 share = UInt128{magnitude} * short_relative_;
    return scaled <= share || scaled - share <= short_absolute_;
  }
  if (const auto verdict = clear_verdict(static_cast<double>(difference), static_cast<double>(magnitude)))
    return *verdict;
  return allows_exactly(*exact_, Natural(difference), Natural(magnitude), 0);
}

bool Tolerance::allows(const ExactElement& a, const ExactElement& e, double rounded) const {
  if (const auto verdict = clear_verdict(rounded, std::ldexp(static_cast<double>(e.magnitude), e.exponent)))
    return *verdict;
  const int lowest = std::min({a.exponent, e.exponent, 0});
  const auto shifted = [&](const ExactElement& x) {
    Natural magnitude(x.magnitude);
    return magnitude <<= static_cast<unsigned>(x.exponent - lowest);
  };
  Natural difference = shifted(a);
  Natural magnitude = shifted(e);
  if (a.negative != e.negative)
    difference += magnitude;
  else if (difference >= magnitude)
    difference -= magnitude;
  else
    difference = Natural(magnitude) -= difference;
  return allows_exactly(*mixed_, difference, magnitude, static_cast<unsigned>(-lowest));
}

std::optional<bool> Tolerance::clear_verdict(double difference, double magnitude) const noexcept {
  const double allowed = absolute_ + relative_ * magnitude;
  const double error = 0x1p-49 * (difference + allowed) + 0x1p-1000;
  if (allowed - difference > error) return true;
  if (difference - allowed > error) return false;
  return std::nullopt;
}

bool Tolerance::allows_exactly(const Exact& exact, const Natural& difference, const Natural& magnitude,
                               unsigned halvings) {
  Natural allowed = exact.absolute;
  allowed <<= halvings;
  allowed += exact.relative * magnitude;
  return exact.scale * difference <= allowed;
}

namespace {

/// A number as mantissa * 2^exponent.
struct Scaled {
  long double mantissa = 0;
  int exponent = 0;
};

Scaled scaled(const ExactSum& sum) noexcept {
  const ExactSum::Magnitude magnitude = sum.magnitude();
  std::size_t top = magnitude.digits.size();
  while (top > 0 && magnitude.digits.at(top - 1) == 0) --top;
  constexpr std::size_t kUsed = 4;  // more than long double holds
  const std::size_t bottom = top - std::min(top, kUsed);
  Scaled result{0, ExactSum::kLowestExponent + ExactSum::kDigitBits * static_cast<int>(bottom)};
  for (std::size_t i = top; i > bottom; --i)
    result.mantissa = std::ldexp(result.mantissa, ExactSum::kDigitBits) + magnitude.digits.at(i - 1);
  if (magnitude.negative) result.mantissa = -result.mantissa;
  return result;
}

/// sqrt(x) of a number that is not negative.
Scaled root(Scaled x) noexcept {
  if (x.exponent % 2 != 0) {
    x.mantissa *= 2;
    --x.exponent;
  }
  return {std::sqrt(x.mantissa), x.exponent / 2};
}

double rounded(const Scaled& x) noexcept {
  return static_cast<double>(std::ldexp(x.mantissa, x.exponent));
}

void add(double x, ExactSum& sum) noexcept {
  const auto [negative, magnitude, exponent] = exact_element(x);
  sum.add(negative ? -Int128{magnitude} : Int128{magnitude}, exponent);
}

/// Adds a * b.
void add_product(const ExactElement& a, const ExactElement& b, ExactSum& sum) noexcept {
  constexpr int kBits = 64;  // of each half of the product
  UInt128 product = UInt128{a.magnitude} * b.magnitude;
  const int exponent = a.exponent + b.exponent;
  const auto add = [&](UInt128 part, int power) {
    const auto value = static_cast<Int128>(part);
    if (part != 0) sum.add(a.negative == b.negative ? value : -value, power);
  };
  if (product >> 127 != 0) {  // more than ExactSum::add() takes
    add(product >> kBits, exponent + kBits);
    product = static_cast<std::uint64_t>(product);
  }
  add(product, exponent);
}

/// |sum| * 2^-ExactSum::kLowestExponent.
Natural natural(const ExactSum& sum) {
  return Natural(sum.magnitude().digits);
}

Natural square(const Natural& x) {
  return x * x;
}

Natural power_of_ten(std::int64_t exponent) {
  return {"1", static_cast<std::uint64_t>(exponent)};
}

/// A limit as numerator / denominator.
struct Ratio {
  Natural numerator;
  Natural denominator;

  explicit Ratio(const Number& number) {
    const Decimal decimal(number);
    const std::int64_t places = std::max<std::int64_t>(-decimal.power, 0);
    numerator = decimal.shifted(places);
    denominator = power_of_ten(places);
  }
};

}  // namespace

MetricSums& MetricSums::operator+=(const MetricSums& other) noexcept {
  actual += other.actual;
  expected += other.expected;
  product += other.product;
  difference += other.difference;
  relative = std::max(relative, other.relative);
  finite = finite && other.finite;
  return *this;
}

bool operator==(const MetricSums& a, const MetricSums& b) noexcept {
  const auto is_same = [](const ExactSum& x, const ExactSum& y) {
    return x.magnitude().negative == y.magnitude().negative && x.magnitude().digits == y.magnitude().digits;
  };
  if (!a.finite || !b.finite) return a.finite == b.finite;
  return is_same(a.actual, b.actual) && is_same(a.expected, b.expected) && is_same(a.product, b.product) &&
         is_same(a.difference, b.difference) && a.relative == b.relative;
}

void add(const BlockSums& block, MetricSums& sums) noexcept {
  sums.finite = sums.finite && block.finite;
  if (!block.finite) return;
  add(block.actual, sums.actual);
  add(block.expected, sums.expected);
  add(block.product, sums.product);
  add(block.difference, sums.difference);
  sums.relative = std::max(sums.relative, block.relative);
}

void PairSums::add(const ExactElement& actual, const ExactElement& expected) noexcept {
  add_product(actual, actual, sums_.actual);
  add_product(expected, expected, sums_.expected);
  add_product(actual, expected, sums_.product);
}

void PairSums::note_relative(long double actual, long double expected) noexcept {
  if (actual != expected)
    note_relative(static_cast<double>(std::fabs(actual - expected) / std::fabs(expected)));
}

/// (a - e)^2 = a^2 + e^2 - 2ae
MetricSums PairSums::total() const noexcept {
  MetricSums result = sums_;
  result.difference += sums_.actual;
  result.difference += sums_.expected;
  result.difference -= sums_.product;
  result.difference -= sums_.product;
  return result;
}

Metrics metrics_of(const MetricSums& sums, std::uint64_t count) {
  Metrics metrics;
  if (!sums.finite || count == 0) return metrics;
  const Scaled actual = scaled(sums.actual);
  const Scaled expected = scaled(sums.expected);
  const Scaled difference = scaled(sums.difference);
  metrics.relative = sums.relative;
  metrics.rmse = rounded(root({difference.mantissa / static_cast<long double>(count), difference.exponent}));
  if (actual.mantissa > 0 && expected.mantissa > 0) {
    const Scaled product = scaled(sums.product);
    const Scaled lengths = root({actual.mantissa * expected.mantissa, actual.exponent + expected.exponent});
    const Scaled cosine{product.mantissa / lengths.mantissa, product.exponent - lengths.exponent};
    metrics.cosine = std::clamp(rounded(cosine), -1.0, 1.0);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (difference.mantissa == 0)
    metrics.sqnr = kInfinity;
  else if (expected.mantissa == 0)
    metrics.sqnr = -kInfinity;
  else
    metrics.sqnr = static_cast<double>(
        10 * (std::log10(expected.mantissa / difference.mantissa) +
              static_cast<long double>(expected.exponent - difference.exponent) * std::log10(2.0L)));
  return metrics;
}

/// product / sqrt(actual * expected) >= least, squared.
bool has_cosine_from(const Number& least, const MetricSums& sums, std::uint64_t count) {
  if (!metrics_of(sums, count).cosine) return false;
  const ExactSum::Magnitude product = sums.product.magnitude();
  const bool is_negative = product.negative;
  if (is_negative != (least < Number())) return !is_negative;
  const Ratio limit(least);
  const Natural cosine = square(Natural(product.digits)) * square(limit.denominator);
  const Natural bound = natural(sums.actual) * natural(sums.expected) * square(limit.numerator);
  return is_negative ? cosine <= bound : cosine >= bound;
}

/// sqrt(difference / count) <= most, squared.
bool has_rmse_to(const Number& most, const MetricSums& sums, std::uint64_t count) {
  if (!metrics_of(sums, count).rmse) return false;
  if (!std::isfinite(round_to<double>(most))) return true;
  const Ratio limit(most);
  Natural bound = square(limit.numerator) * Natural(count);
  bound <<= static_cast<unsigned>(-ExactSum::kLowestExponent);
  return natural(sums.difference) * square(limit.denominator) <= bound;
}

/// expected >= difference * 10^(least / 10): the power is irrational unless its exponent is an integer.
bool has_sqnr_from(const Number& least, const MetricSums& sums, std::uint64_t count) {
  const std::optional<double> sqnr = metrics_of(sums, count).sqnr;
  const auto limit = round_to<double>(least);
  constexpr double kFarther = 20'000;  // than any finite SQNR
  const bool is_tens = least.exponent > std::ssize(least.digits) || least.digits.empty();
  if (!sqnr || !std::isfinite(*sqnr) || !is_tens || std::fabs(limit) > kFarther)
    return sqnr && *sqnr >= limit;
  const auto exponent = static_cast<std::int64_t>(limit) / 10;
  const Natural expected = natural(sums.expected) * power_of_ten(std::max<std::int64_t>(-exponent, 0));
  return expected >= natural(sums.difference) * power_of_ten(std::max<std::int64_t>(exponent, 0));
}

}  // namespace clipper
