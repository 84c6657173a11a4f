#include "compare/tolerance.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace clipper {
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

}  // namespace clipper
