
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <type_traits>

#include "element/element.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "statistics/figure.hpp"
#include "statistics/statistics.hpp"

namespace clipper {
namespace {

using Name = Expression::Figure;

/// The percentiles that a figure is made of.
std::vector<Number> percentages_of(const Name& figure) {
  if (figure.percentage) return {*figure.percentage};
  switch (figure.statistic) {
    case Statistic::median:
    case Statistic::mad: return {50};
    case Statistic::iqr: return {25, 75};
    default: return {};
  }
}

/// Whether all elements are added or compared for it.
bool is_of_all(const Name& figure) {
  return percentages_of(figure).empty();
}

bool is_of_magnitudes(const Name& figure) {
  return !figure.percentage && figure.statistic == Statistic::norm_one;
}

bool is_mad(const Name& figure) {
  return !figure.percentage && figure.statistic == Statistic::mad;
}

std::optional<Number> absolute_maximum(const ElementStatistics& of) {
  if (!of.min()) return std::nullopt;
  Number least = number_of(of.dtype, *of.min());
  Number most = number_of(of.dtype, *of.max());
  least.negative = most.negative = false;
  return std::max(least, most, [](const Number& a, const Number& b) { return a < b; });
}

/// The root of the sum of squares over the count.
double root_of_squares(const ElementStatistics& of, std::uint64_t count) {
  Moments moments;  // of which the deviation from 0 is that from a mean of 0
  moments.squares = of.moments.squares;
  return moments.standard_deviation(count);
}

Int128 integer_of(const ExactSum& sum) {
  constexpr std::size_t kUnits = -ExactSum::kLowestExponent / ExactSum::kDigitBits;
  const auto [is_negative, digits] = sum.magnitude();
  UInt128 total = 0;
  for (std::size_t i = 4; i-- != 0;) total = total << ExactSum::kDigitBits | digits[kUnits + i];
  return is_negative ? -static_cast<Int128>(total) : static_cast<Int128>(total);
}

Found value_of(Statistic statistic, const ElementStatistics& of) {
  const auto element = [&](std::optional<ElementBits> bits) {
    return bits ? Found(Figure::of(of.dtype, *bits)) : std::nullopt;
  };
  const std::uint64_t count = of.finite_count();
  switch (statistic) {
    case Statistic::min: return element(of.min());
    case Statistic::max: return element(of.max());
    case Statistic::absmax: return absolute_maximum(of);
    default: break;
  }
  if (count == 0) return std::nullopt;
  switch (statistic) {
    case Statistic::mean:
      return is_floating(of.dtype) ? *of.mean() : mean_of_integers(integer_of(of.moments.sum), count);
    case Statistic::std: return *of.standard_deviation();
    case Statistic::rms: return root_of_squares(of, count);
    case Statistic::norm: return root_of_squares(of, 1);
    default: return of.moments.mean(1);
  }
}

/// What is known of groups before the figures are made of it.
struct Parts {
  std::vector<Percentiles> percentiles;  ///< for each group those of each figure, in order
  std::vector<ElementStatistics> statistics;
  std::vector<ElementStatistics> magnitudes;
  std::vector<std::optional<Number>> deviations;
};

GroupNumbers numbers_of(std::span<const Expression> expressions, const Needed& needed, const Parts& parts,
                        std::uint64_t group) {
  GroupNumbers numbers;
  if (!parts.statistics.empty()) {
    const ElementStatistics& statistics = parts.statistics[group];
    numbers.has_numbers = statistics.nan != statistics.count;
    numbers.statistics = &statistics;
  }
  std::size_t next = 0;
  std::vector<Found> found;
  for (const Name& figure : needed.names) {
    if (is_of_all(figure)) {
      found.push_back(value_of(figure.statistic,
                               (is_of_magnitudes(figure) ? parts.magnitudes : parts.statistics)[group]));
      continue;
    }
    const auto of_figure = [&](std::size_t i) { return parts.percentiles[group][next + i]; };
    numbers.has_numbers |= of_figure(0).has_value();
    if (!of_figure(0))
      found.emplace_back();
    else if (is_mad(figure))
      found.emplace_back(parts.deviations[group]);
    else if (percentages_of(figure).size() == 2)
      found.emplace_back(difference(*of_figure(1), *of_figure(0)));
    else
      found.emplace_back(of_figure(0));
    next += percentages_of(figure).size();
  }
  evaluate(expressions, needed, found, numbers);
  return numbers;
}

/// The numbers of a group of few elements: to sort them, and to add them as integers, takes less time than to
/// begin the passes over many.
class FewNumbers {
 public:
  FewNumbers(const ElementSource& source, std::span<const Expression> expressions)
      : source_(source),
        expressions_(expressions),
        needed_(expressions),
        quartiles_{Share{25}, Share{50}, Share{75}} {
    for (const Name& figure : needed_.names) centers_.push_back({figure.percentage.value_or(50)});
  }

  /// Null if passes must find them: of many elements, infinite ones, and of magnitudes far apart.
  [[nodiscard]] const GroupNumbers* figures_of(std::span<const std::byte> elements) {
    if (!load(elements)) return nullptr;
    result_.has_numbers = count_ != 0;
    std::vector<Found>& found = needed_.are_alone ? result_.figures : found_;
    found.resize(needed_.names.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Name& figure = needed_.names[i];
      if (count_ == 0)
        found[i].reset();
      else
        found[i] = figure.percentage ? percentile(centers_[i]) : value(figure.statistic);
      if (!found[i] && count_ != 0) return nullptr;
    }
    evaluate(expressions_, needed_, found, result_);
    return &result_;
  }

  [[nodiscard]] std::optional<double> norm_of(Norm norm, std::span<const std::byte> elements) {
    if (!load(elements)) return std::nullopt;
    if (count_ != elements.size() / traits(source_.dtype).size)
      return std::numeric_limits<double>::quiet_NaN();
    if (count_ == 0) return 0;
    if (norm == Norm::infinity) return value(Statistic::absmax)->nearest();
    if (!align()) return std::nullopt;
    return norm == Norm::two ? root_of_squares(1) : sum_of_magnitudes();
  }

 private:
  static constexpr std::size_t kMost = 4096;  // elements
  static constexpr int kBits = 100;           // of an integer: figures of kMost of them have room

  /// A percentage, and its position among the last number of elements.
  struct Share {
    Number percentage;
    std::size_t count = 0;
    Position position{};
  };

  /// Makes keys of the elements that are not NaN, in the order of the values: of floats, those of float64.
  [[nodiscard]] bool load(std::span<const std::byte> elements) {
    const std::size_t count = elements.size() / traits(source_.dtype).size;
    if (count > kMost) return false;
    if (keys_.size() < count) {
      keys_.resize(count);
      integers_.resize(count);
    }
    bool is_finite = true;
    count_ = 0;
    with_reader(source_.dtype, [&](auto at) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto x = comparable(at(elements.data(), i));
        if constexpr (std::is_integral_v<decltype(x)>) {
          keys_[count_++] = static_cast<std::int64_t>(static_cast<std::uint64_t>(x) ^ bias_);
        } else {
          keys_[count_] = key_of(static_cast<double>(x));
          count_ += is_nan(x) ? 0 : 1;
          is_finite &= std::isfinite(x) || is_nan(x);
        }
      }
    });
    is_sorted_ = is_aligned_ = false;
    return is_finite;
  }

  void sort() {
    if (!is_sorted_) std::sort(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(count_));
    is_sorted_ = true;
  }

  /// Makes integers of the elements, times 2^exponent_; false if they would have too many bits.
  [[nodiscard]] bool align() {
    if (is_aligned_) return true;
    if (!is_floating(source_.dtype)) {
      for (std::size_t i = 0; i < count_; ++i) integers_[i] = integer(keys_[i]);
      return is_aligned_ = true;
    }
    constexpr int kZero = 2000;  // the exponent of 0, whose place is that of all others
    int lowest = kZero;
    int highest = -kZero;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto [mantissa, exponent] = parts_of(element_of<double>(keys_[i]));
      if (mantissa == 0) continue;
      lowest = std::min(lowest, exponent + std::countr_zero(mantissa));
      highest = std::max(highest, exponent);
    }
    exponent_ = lowest;
    if (highest + std::numeric_limits<double>::digits - lowest > kBits) return false;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto [mantissa, exponent] = parts_of(element_of<double>(keys_[i]));
      const int shift = mantissa == 0 ? 0 : exponent - lowest;
      const Int128 x = shift < 0 ? Int128{mantissa >> -shift} : Int128{mantissa} << shift;
      integers_[i] = keys_[i] < 0 ? -x : x;
    }
    return is_aligned_ = true;
  }

  [[nodiscard]] Int128 integer(std::int64_t key) const noexcept {
    return bias_ == 0 ? Int128{key} : Int128{static_cast<std::uint64_t>(key) ^ bias_};
  }

  [[nodiscard]] std::span<Int128> integers() { return std::span(integers_).first(count_); }

  [[nodiscard]] Figure at(std::size_t rank) {
    sort();
    const std::int64_t key = keys_[rank];
    const bool is_float = is_floating(source_.dtype);
    Figure number = is_float ? Figure(element_of<double>(key)) : Figure(integer(key), 0);
    if (!source_.value) return number;
    const ElementBits all = ~ElementBits{0} >> (64 - 8 * traits(source_.dtype).size);
    return source_.value(is_float ? nearest_element(source_.dtype, number)
                                  : static_cast<ElementBits>(integer(key)) & all);
  }

  [[nodiscard]] std::optional<Figure> percentile(Share& share) {
    if (share.count != count_) {
      share.count = count_;
      share.position = position_of(share.percentage, count_, source_.descends);
    }
    const auto [rank, fraction] = share.position;
    Figure low = at(rank);
    if (fraction == 0 || source_.only_elements || keys_[rank] == keys_[rank + 1]) return low;
    const Figure high = at(rank + 1);
    if (!low.is_finite() || !high.is_finite()) return std::nullopt;
    return interpolate(low, high, fraction);
  }

  [[nodiscard]] std::optional<Figure> value(Statistic statistic) {
    switch (statistic) {
      case Statistic::min: return at(0);
      case Statistic::max: return at(count_ - 1);
      case Statistic::absmax: {
        const Figure least = at(0).magnitude();
        const Figure most = at(count_ - 1).magnitude();
        return compare(least, most) > 0 ? least : most;
      }
      case Statistic::median: return percentile(quartiles_[1]);
      case Statistic::iqr: {
        const auto low = percentile(quartiles_[0]);
        const auto high = percentile(quartiles_[2]);
        return low && high ? std::optional(sum(*high, -*low)) : std::nullopt;
      }
      case Statistic::mean: return align() ? std::optional(mean()) : std::nullopt;
      case Statistic::std: return align() ? std::optional<Figure>(deviation()) : std::nullopt;
      case Statistic::mad: return align() ? std::optional(median_deviation()) : std::nullopt;
      case Statistic::rms: return align() ? std::optional<Figure>(root_of_squares(count_)) : std::nullopt;
      case Statistic::norm: return align() ? std::optional<Figure>(root_of_squares(1)) : std::nullopt;
      case Statistic::norm_one: return align() ? std::optional<Figure>(sum_of_magnitudes()) : std::nullopt;
    }
    __builtin_unreachable();
  }

  [[nodiscard]] Int128 total() { return std::accumulate(integers().begin(), integers().end(), Int128{0}); }

  [[nodiscard]] Figure mean() {
    const Int128 total = this->total();
    if (!is_floating(source_.dtype)) return mean_of_integers(total, count_);
    const double mean = nearest_quotient(static_cast<UInt128>(total < 0 ? -total : total), count_, exponent_);
    return total < 0 ? -mean : mean;
  }

  [[nodiscard]] UInt256 squares() {
    UInt256 total;
    for (const Int128 x : integers()) {
      const auto magnitude = static_cast<UInt128>(x < 0 ? -x : x);
      total.add_product(magnitude, magnitude);
    }
    return total;
  }

  [[nodiscard]] double root_of_squares(std::uint64_t count) {
    return rounded(square_root(quotient(squares(), 2 * exponent_, count)));
  }

  [[nodiscard]] double sum_of_magnitudes() {
    UInt128 total = 0;
    for (const Int128 x : integers()) total += static_cast<UInt128>(x < 0 ? -x : x);
    return nearest_quotient(total, 1, exponent_);
  }

  /// The square root of (count * squares - total^2) / count^2.
  [[nodiscard]] double deviation() {
    const UInt256 squares = this->squares();
    UInt256 scaled{squares.high * count_, 0};
    scaled.add_product(squares.low, count_);
    const Int128 total = this->total();
    const auto magnitude = static_cast<UInt128>(total < 0 ? -total : total);
    UInt256 square;
    square.add_product(magnitude, magnitude);
    const UInt256 rest{scaled.high - square.high - (scaled.low < square.low ? 1 : 0),
                       scaled.low - square.low};
    return rounded(square_root(quotient(rest, 2 * exponent_, std::uint64_t{count_} * count_)));
  }

  /// The sum of the two middle ones.
  [[nodiscard]] Int128 middle() {
    const std::span<Int128> all = integers();
    const auto upper = all.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
    std::nth_element(all.begin(), upper, all.end());
    return *upper + (count_ % 2 != 0 ? *upper : *std::max_element(all.begin(), upper));
  }

  [[nodiscard]] Figure median_deviation() {
    const Int128 center = middle();
    for (Int128& x : integers()) x = 2 * x > center ? 2 * x - center : center - 2 * x;
    is_aligned_ = false;
    return {25 * middle(), exponent_, 2};
  }

  const ElementSource& source_;
  std::span<const Expression> expressions_;
  Needed needed_;
  std::vector<Share> centers_;
  std::vector<Found> found_;
  std::array<Share, 3> quartiles_;
  std::uint64_t bias_ = source_.dtype == DType::uint64 ? std::uint64_t{1} << 63 : 0;
  std::size_t count_ = 0;
  std::vector<std::int64_t> keys_;
  std::vector<Int128> integers_;
  int exponent_ = 0;
  bool is_sorted_ = false;
  bool is_aligned_ = false;
  GroupNumbers result_;
};

/// The same source of the elements without their signs, integers as unsigned ones.
ElementSource magnitudes_of(const ElementSource& source) {
  ElementSource magnitudes = source;
  const auto* const row = std::ranges::find_if(kDTypes, [&](const DTypeTraits& each) {
    return each.kind == NumberKind::unsigned_integer && each.size == traits(source.dtype).size;
  });
  if (!is_floating(source.dtype)) magnitudes.dtype = row->dtype;
  magnitudes.read = [read = source.read, dtype = source.dtype](const GroupRange& range,
                                                               const ElementSource::Look& look) {
    read(range, [&](std::size_t group, std::span<const std::byte> elements) {
      std::vector<std::byte> own(elements.begin(), elements.end());
      if (!has_kernels(dtype)) {
        const Narrowing narrow(dtype);
        for (std::byte& each : own)
          if (const float x = widened(dtype, std::to_integer<ElementBits>(each)); x < 0)
            each = std::byte{narrow(-x)};
        return look(group, own);
      }
      with_type(dtype, [&]<class T>() {
        using Bits = UnsignedOfSize<sizeof(T)>;
        constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
        auto* const x = reinterpret_cast<Bits*>(own.data());
        for (std::size_t i = 0; i < own.size() / sizeof(T) && !std::is_unsigned_v<T>; ++i)
          if constexpr (std::is_integral_v<T>)
            x[i] = static_cast<Bits>((x[i] & kSign) != 0 ? Bits{0} - x[i] : x[i]);
          else
            x[i] = static_cast<Bits>(x[i] & ~kSign);
      });
      look(group, own);
    });
  };
  return magnitudes;
}

}  // namespace

void figures_of_groups(const ElementSource& source, std::span<const Expression> expressions, SimdLevel level,
                       const std::function<void(std::uint64_t, const GroupNumbers&)>& found) {
  if (source.groups == 0) return;
  FewNumbers few(source, expressions);
  if (source.for_each_gathered([&](std::uint64_t group, std::span<const std::byte> elements) {
        if (const GroupNumbers* const numbers = few.figures_of(elements)) return found(group, *numbers);
        figures_of_groups(
            group_of(source, elements), expressions, level,
            [&](std::uint64_t /*only*/, const GroupNumbers& numbers) { found(group, numbers); });
      }))
    return;
  const Needed needed(expressions);
  Parts parts;
  std::vector<Number> percentages;
  for (const Name& figure : needed.names)
    std::ranges::copy(percentages_of(figure), std::back_inserter(percentages));
  if (!percentages.empty())
    percentiles_of_groups(
        source, percentages, level,
        [&](std::uint64_t /*group*/, const Percentiles& of_group) { parts.percentiles.push_back(of_group); });
  if (std::ranges::any_of(needed.names, is_of_all))
    parts.statistics = statistics_of_groups(source, std::nullopt, level);
  if (std::ranges::any_of(needed.names, is_of_magnitudes))
    parts.magnitudes = statistics_of_groups(magnitudes_of(source), std::nullopt, level);
  if (std::ranges::any_of(needed.names, is_mad)) {
    const auto median = std::ranges::find(percentages, Number(50)) - percentages.begin();
    for (const Percentiles& of_group : parts.percentiles)
      parts.deviations.push_back(of_group[static_cast<std::size_t>(median)]);
    parts.deviations = median_deviations(source, parts.deviations, level);
  }
  for (std::uint64_t group = 0; group < source.groups; ++group)
    found(group, numbers_of(expressions, needed, parts, group));
}

namespace {

double norm_of(Norm norm, const ElementStatistics& of) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (of.nan != 0) return std::numeric_limits<double>::quiet_NaN();
  if (of.positive_infinite + of.negative_infinite != 0) return kInfinity;
  if (norm == Norm::infinity) return round_to<double>(absolute_maximum(of).value_or(0));
  return norm == Norm::one ? of.moments.mean(1) : root_of_squares(of, 1);
}

}  // namespace

void norms_of_groups(const ElementSource& source, Norm norm, SimdLevel level,
                     const std::function<void(std::uint64_t, double)>& found) {
  FewNumbers few(source, {});
  if (source.for_each_gathered([&](std::uint64_t group, std::span<const std::byte> elements) {
        if (const auto number = few.norm_of(norm, elements)) return found(group, *number);
        norms_of_groups(group_of(source, elements), norm, level,
                        [&](std::uint64_t /*only*/, double number) { found(group, number); });
      }))
    return;
  const Expression of_all = Parameter(Statistic::absmax).expression;
  figures_of_groups(norm == Norm::one ? magnitudes_of(source) : source, {&of_all, 1}, level,
                    [&](std::uint64_t group, const GroupNumbers& numbers) {
                      found(group, norm_of(norm, *numbers.statistics));
                    });
}

}  // namespace clipper
