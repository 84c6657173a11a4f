#include "compare/tolerance.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

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
  const auto* const row = std::ranges::find(kTorch, dtype, &TorchRow::dtype);
  return row != kTorch.end() ? row->tolerance : PresetTolerance{"0", "0"};
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
}

std::uint64_t Tolerance::whole_share(std::uint64_t magnitude) const noexcept {
  return digits_ == 0 ? 0 : saturated(digits_ * magnitude / divisor_);
}

}  // namespace clipper
