#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "element/number.hpp"
#include "statistics/figure.hpp"

namespace clipper {

/// An integer from 0, of any size.
class Natural {
 public:
  Natural() = default;
  explicit Natural(UInt128 value);

  /// Of base 2^32, the lowest digit first.
  explicit Natural(std::span<const std::uint32_t> digits);

  /// The integer that decimal digits spell, times 10^power.
  Natural(std::string_view digits, std::uint64_t power);

  Natural& operator+=(const Natural& other);
  Natural& operator-=(const Natural& other);  ///< `other` must not be larger
  Natural& operator<<=(unsigned bits);
  [[nodiscard]] Natural operator*(const Natural& other) const;

  /// The value, if it is less than 2^128.
  [[nodiscard]] std::optional<UInt128> value() const;

  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b);
  friend bool operator==(const Natural& a, const Natural& b) = default;

 private:
  void trim();

  std::vector<std::uint32_t> digits_;  ///< of base 2^32, the lowest first; the last one is not 0
};

/// A finite element, exactly: (-1)^negative * magnitude * 2^exponent.
struct ExactElement {
  bool negative;
  std::uint64_t magnitude;
  int exponent;
};

/// The value of an integer.
[[nodiscard]] ExactElement exact_element(std::integral auto x) noexcept {
  const auto bits = static_cast<std::uint64_t>(x);
  return {x < 0, x < 0 ? 0 - bits : bits, 0};
}

/// The value of a finite float64.
[[nodiscard]] inline ExactElement exact_element(double x) noexcept {
  constexpr int kFractionBits = 52;
  constexpr int kBias = 1075;  // of an integer with kFractionBits + 1 bits
  constexpr std::uint64_t kHidden = std::uint64_t{1} << kFractionBits;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto field = static_cast<int>(bits >> kFractionBits & 0x7ff);
  return {std::signbit(x), (bits & (kHidden - 1)) | (field != 0 ? kHidden : 0), std::max(field, 1) - kBias};
}

/// The absolute value of a finite number without what lies beyond the 1,100th decimal place: digits *
/// 10^power.
struct Decimal {
  std::string_view digits;  ///< of the Number, which must live as long
  std::int64_t power = 0;

  explicit Decimal(const Number& number);

  /// The number times 10^places, which must be an integer.
  [[nodiscard]] Natural shifted(std::int64_t places) const;
};

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

/// The sums from which metrics are calculated: of the squares of the actual and of the expected elements, of
/// their products, and of the squares of their differences. Pairs are added one by one, exactly, or in blocks
/// whose sums are float64, and blocks exactly: the order of blocks does not matter.
struct MetricSums {
  ExactSum actual;
  ExactSum expected;
  ExactSum product;
  ExactSum difference;
  double relative = 0;  ///< the largest |a - e| / |e|, infinity if e is 0
  bool finite = true;   ///< whether all elements are; if not, the sums mean nothing

  MetricSums& operator+=(const MetricSums& other) noexcept;
  friend bool operator==(const MetricSums& a, const MetricSums& b) noexcept;
};

/// The sums of one block. Those of float64 elements may be too large for float64 although all are finite.
struct BlockSums {
  double actual = 0;
  double expected = 0;
  double product = 0;
  double difference = 0;
  double relative = 0;
  bool finite = true;
};

/// How far two tensors are apart as vectors. Nothing where a metric does not exist: if an element is not
/// finite, none does; there is no cosine of a zero vector.
struct Metrics {
  std::optional<double> relative;  ///< the largest |a - e| / |e|
  std::optional<double> rmse;      ///< the root of the mean square of a - e
  std::optional<double> cosine;    ///< of the angle between the vectors
  std::optional<double>
      sqnr;  ///< in dB, of the expected vector to the difference; infinity without a difference
};

/// Adds the sums of a block.
void add(const BlockSums& block, MetricSums& sums) noexcept;

/// Adds pairs without rounding.
class PairSums {
 public:
  /// Adds integers or float64.
  template <class A, class E>
  void add(A actual, E expected) noexcept {
    if (std::isfinite(static_cast<double>(actual)) && std::isfinite(static_cast<double>(expected)))
      add(exact_element(actual), exact_element(expected));
    else
      sums_.finite = false;
  }

  /// Notes |a - e| / |e| of a pair, or the largest of a block.
  void note_relative(double relative) noexcept { sums_.relative = std::max(sums_.relative, relative); }
  void note_relative(long double actual, long double expected) noexcept;

  /// Of at most 2^30 pairs.
  [[nodiscard]] MetricSums total() const noexcept;

 private:
  void add(const ExactElement& actual, const ExactElement& expected) noexcept;

  MetricSums sums_;  ///< without `difference`
};

/// Of `count` pairs.
[[nodiscard]] Metrics metrics_of(const MetricSums& sums, std::uint64_t count);

/// Limits of the metrics of `count` pairs, decided without rounding if the sums are exact; an SQNR is rounded
/// to float64 unless the limit is a multiple of 10 dB. False if the metric does not exist. The limit is not
/// NaN.
[[nodiscard]] bool has_cosine_from(const Number& least, const MetricSums& sums, std::uint64_t count);
[[nodiscard]] bool has_rmse_to(const Number& most, const MetricSums& sums, std::uint64_t count);
[[nodiscard]] bool has_sqnr_from(const Number& least, const MetricSums& sums, std::uint64_t count);

}  // namespace clipper
