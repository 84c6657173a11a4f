#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"

/// Numbers that come from the elements: "median+3*1.4826*mad", "absmax/127", "95%-5%".
#pragma GCC visibility push(default)
namespace clipper {

/// A number that is calculated from the elements of a tensor: the exact mean or population standard deviation
/// (divisor n) of the finite ones, rounded once to float64; of all that are not NaN the least, the greatest,
/// the median (50%), the median of |x - median|, 75% - 25%, and the greatest absolute value; of the finite
/// ones the root of the mean of their squares, the norm that Request::norm says, and the sum of their
/// absolute values. A mean of 64-bit integers is exact.
enum class Statistic : std::uint8_t { mean, std, min, max, median, mad, iqr, absmax, rms, norm, norm_one };

/// The names of the enumerators, in their order; the last one has none.
inline constexpr std::array<std::string_view, 10> kStatisticWords{"mean", "std", "min",    "max", "median",
                                                                  "mad",  "iqr", "absmax", "rms", "norm"};

/// An expression = [-] term {(+|-) term}, a term = number, or {number [*]} figure {/ number}. It has one
/// figure at least.
struct Expression {
  /// A percentile or a statistic.
  struct Figure {
    std::optional<Number> percentage{};  ///< from 0 to 100: below the percentile lies this share
    Statistic statistic = Statistic::median;

    friend bool operator==(const Figure&, const Figure&) = default;
  };

  struct Term {
    std::optional<Figure> figure{};  ///< nothing for a number, which is the factor
    double factor = 1;               ///< negative after a minus
    std::vector<double> divisors{};
  };

  std::vector<Term> terms{};

  /// Of a rule, "mean-3std": the factor of its spread, of at most 18 digits. The sum of the center and this
  /// product is exact; all other expressions are calculated in float64, as Python does.
  std::optional<Number> times{};

  /// What the expression is, if that is a figure alone.
  [[nodiscard]] const Figure* alone() const noexcept {
    const bool is_alone = terms.size() == 1 && terms[0].factor == 1 && terms[0].divisors.empty();
    return is_alone && terms[0].figure ? &*terms[0].figure : nullptr;
  }
  [[nodiscard]] bool is_percentile() const noexcept { return alone() != nullptr && alone()->percentage; }
  [[nodiscard]] bool is_only(Statistic statistic) const noexcept {
    return alone() != nullptr && !alone()->percentage && alone()->statistic == statistic;
  }
};

/// The expression that a text is; nothing for other texts, also for those without a figure.
[[nodiscard]] std::optional<Expression> expression_in(std::string_view text);

/// The expression that a text such as "Mean-3sigma", "p99" or "mean+-3std" means in other words: "99%".
[[nodiscard]] std::optional<std::string> expression_meant_by(std::string_view text);

}  // namespace clipper
#pragma GCC visibility pop
