#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "compare/natural.hpp"
#include "element/number.hpp"

namespace clipper {

/// Whether the number can be A or R: 0 or more, and finite as a double.
[[nodiscard]] bool is_tolerance(const Number& number);

/// A and R of the rule |a - e| <= A + R * |e|, prepared for elements of any dtype.
///
/// For floats everything is float64: A and R, the difference, the product and the sum are each rounded to
/// nearest. Without tolerances nothing is rounded. For integers, and for an integer and a float that float64
/// does not hold both, the rule is exact for the first 1,100 decimal places of A and R, more than any float64
/// has. Of an integer and a float, whose distance is printed as a float64, A is the float64 that it is for
/// floats if that is larger; but not an integer with more digits than a float64 needs.
class Tolerance {
 public:
  Tolerance() : Tolerance(Number(), Number()) {}

  /// is_tolerance() must be true for both.
  Tolerance(const Number& absolute, const Number& relative);

  [[nodiscard]] double absolute() const noexcept { return absolute_; }
  [[nodiscard]] double relative() const noexcept { return relative_; }

  /// A without its fraction, at most 2^64 - 1.
  [[nodiscard]] std::uint64_t whole() const noexcept { return whole_; }

  /// R * magnitude without its fraction, at most 2^64 - 1. The product is exact for the first 19 digits of R.
  [[nodiscard]] std::uint64_t whole_share(std::uint64_t magnitude) const noexcept;

  /// difference <= A + R * magnitude, for integers.
  [[nodiscard]] bool allows(UInt128 difference, std::uint64_t magnitude) const;

  /// |a - e| <= A + R * |e|. `rounded` is |a - e|, rounded to nearest.
  [[nodiscard]] bool allows(const ExactElement& a, const ExactElement& e, double rounded) const;

 private:
  /// A = absolute / scale, R = relative / scale.
  struct Exact {
    Exact(const Number& a, const Number& r);

    Natural absolute;
    Natural relative;
    Natural scale;
  };

  /// The rule where float64 decides it in spite of all that was rounded.
  [[nodiscard]] std::optional<bool> clear_verdict(double difference, double magnitude) const noexcept;

  /// The rule for difference / 2^halvings and magnitude / 2^halvings.
  [[nodiscard]] static bool allows_exactly(const Exact& exact, const Natural& difference,
                                           const Natural& magnitude, unsigned halvings);

  double absolute_ = 0;
  double relative_ = 0;
  std::uint64_t whole_ = 0;
  UInt128 digits_ = 0;  ///< R = digits / divisor
  UInt128 divisor_ = 1;
  std::shared_ptr<const Exact> exact_;
  std::shared_ptr<const Exact> mixed_;  ///< for an integer and a float

  // `exact_` if its numbers are short: a larger `absolute` is 2^128 - 1. Otherwise scale_ is 0.
  UInt128 short_absolute_ = 0;
  std::uint64_t short_relative_ = 0;
  std::uint64_t scale_ = 0;
};

/// The tolerances that another library's assertion has if none are given: torch.testing.assert_close() of
/// PyTorch 2, numpy.testing.assert_allclose(), numpy.allclose().
enum class TolerancePreset : std::uint8_t { torch, numpy, allclose };

/// The names of TolerancePreset, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> kPresetWords{"torch", "numpy", "allclose"};

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
