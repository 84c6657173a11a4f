#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "element/number.hpp"

namespace clipper {

/// Whether the number can be A or R: 0 or more, and finite as a double.
[[nodiscard]] bool is_tolerance(const Number& number);

/// A and R of the rule |a - e| <= A + R * |e|, prepared for elements of any dtype.
///
/// For floats everything is float64: A and R, the difference, the product and the sum are each rounded to
/// nearest. Without tolerances nothing is rounded. For integers A and R * |e| lose their fractions; the
/// product is exact for the first 19 digits of R.
class Tolerance {
 public:
  Tolerance() = default;

  /// is_tolerance() must be true for both.
  Tolerance(const Number& absolute, const Number& relative);

  [[nodiscard]] double absolute() const noexcept { return absolute_; }
  [[nodiscard]] double relative() const noexcept { return relative_; }

  /// A without its fraction, at most 2^64 - 1.
  [[nodiscard]] std::uint64_t whole() const noexcept { return whole_; }

  /// R * magnitude without its fraction, at most 2^64 - 1.
  [[nodiscard]] std::uint64_t whole_share(std::uint64_t magnitude) const noexcept;

 private:
  double absolute_ = 0;
  double relative_ = 0;
  std::uint64_t whole_ = 0;
  UInt128 digits_ = 0;  ///< R = digits / divisor
  UInt128 divisor_ = 1;
};

/// The tolerances that another library's assertion has if none are given: torch.testing.assert_close() of
/// PyTorch 2, numpy.testing.assert_allclose().
enum class TolerancePreset : std::uint8_t { torch, numpy };

/// The names of TolerancePreset, in the order of the enumerators.
inline constexpr std::array<std::string_view, 2> kPresetWords{"torch", "numpy"};

/// The preset's R and A for a dtype, as decimal numbers.
struct PresetTolerance {
  std::string_view relative;
  std::string_view absolute;
};
[[nodiscard]] PresetTolerance preset_tolerance(TolerancePreset preset, DType dtype);

/// Whether NaN matches NaN.
[[nodiscard]] constexpr bool nan_equal(TolerancePreset preset) {
  return preset == TolerancePreset::numpy;
}

}  // namespace clipper
