#include "statistics/element_figures.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>

#include "element/element.hpp"
#include "element/number.hpp"
#include "statistics/moments.hpp"
#include "statistics/statistics.hpp"

namespace clipper {
namespace {

/// The percentiles that a figure is made of, which has one center, and may have a spread.
std::vector<Number> percentages_of(Statistic statistic) {
  switch (statistic) {
    case Statistic::median:
    case Statistic::mad: return {50};
    case Statistic::iqr: return {25, 75};
    default: return {};
  }
}

std::vector<Number> center_percentages(const Given& figure) {
  if (figure.percentage) return {*figure.percentage};
  return percentages_of(*figure.statistic);
}

std::vector<Number> percentages_of(const Given& figure) {
  std::vector<Number> percentages = center_percentages(figure);
  if (figure.spread)
    std::ranges::copy(percentages_of(figure.spread->statistic), std::back_inserter(percentages));
  return percentages;
}

/// Whether all elements are added or compared for it.
bool is_of_all(const Given& figure) {
  return center_percentages(figure).empty() || (figure.spread && figure.spread->statistic == Statistic::std);
}

bool has_mad(const Given& figure) {
  return figure.statistic == Statistic::mad || (figure.spread && figure.spread->statistic == Statistic::mad);
}

std::optional<Number> absolute_maximum(const ElementStatistics& of) {
  if (!of.min()) return std::nullopt;
  Number least = number_of(of.dtype, *of.min());
  Number most = number_of(of.dtype, *of.max());
  least.negative = most.negative = false;
  return std::max(least, most, [](const Number& a, const Number& b) { return a < b; });
}

std::optional<Number> value_of(Statistic statistic, const ElementStatistics& of) {
  const auto number = [](std::optional<double> value) {
    return value ? std::optional(Number(*value)) : std::nullopt;
  };
  const auto element = [&](std::optional<ElementBits> bits) {
    return bits ? std::optional(number_of(of.dtype, *bits)) : std::nullopt;
  };
  switch (statistic) {
    case Statistic::mean: return number(of.mean());
    case Statistic::std: return number(of.standard_deviation());
    case Statistic::min: return element(of.min());
    case Statistic::max: return element(of.max());
    default: return absolute_maximum(of);
  }
}

std::vector<ElementStatistics> statistics_of_groups(const ElementSource& source, SimdLevel level) {
  const Bounds none{lowest_element(source.dtype), highest_element(source.dtype)};
  std::vector<ElementStatistics> totals(source.groups);
  for (ElementStatistics& total : totals) total.dtype = source.dtype;
  std::mutex mutex;
  source.read({0, totals.size()}, [&](std::size_t group, std::span<const std::byte> elements) {
    const ElementStatistics part = statistics_of(source.dtype, none, elements.data(),
                                                 elements.size() / traits(source.dtype).size, level);
    const std::lock_guard lock(mutex);
    totals[group] += part;
  });
  return totals;
}

/// What is known of groups before the figures are made of it.
struct Parts {
  std::vector<Percentiles> percentiles;  ///< for each group those of each figure, in order
  std::vector<ElementStatistics> statistics;
  std::vector<std::optional<Number>> deviations;
};

/// The center of the figure, or its spread, of which these are the percentiles.
std::optional<Number> number_of(std::optional<Statistic> statistic,
                                std::span<const std::optional<Number>> found, const Parts& parts,
                                std::uint64_t group) {
  if (found.empty()) return value_of(*statistic, parts.statistics[group]);
  if (!found[0]) return std::nullopt;
  if (statistic == Statistic::mad) return parts.deviations[group];
  return statistic == Statistic::iqr ? difference(*found[1], *found[0]) : found[0];
}

GroupNumbers numbers_of(std::span<const Given> figures, const Parts& parts, std::uint64_t group) {
  GroupNumbers numbers;
  if (!parts.statistics.empty()) {
    const ElementStatistics& statistics = parts.statistics[group];
    numbers.has_numbers = statistics.nan != statistics.count;
    numbers.statistics = &statistics;
  }
  std::span<const std::optional<Number>> found;
  if (!parts.percentiles.empty()) found = parts.percentiles[group];
  numbers.has_numbers |= !found.empty() && found[0];
  const auto next = [&](std::size_t count) {
    const auto taken = found.first(count);
    found = found.subspan(count);
    return taken;
  };
  for (const Given& figure : figures) {
    std::optional<Number> number =
        number_of(figure.statistic, next(center_percentages(figure).size()), parts, group);
    numbers.are_flat.push_back(false);
    if (figure.spread) {
      const auto& [times, statistic] = *figure.spread;
      const std::optional<Number> spread =
          number_of(statistic, next(percentages_of(statistic).size()), parts, group);
      numbers.are_flat.back() = spread == Number(0);
      number = number && spread ? std::optional(sum(*number, product(*spread, times))) : std::nullopt;
    }
    numbers.figures.push_back(std::move(number));
  }
  return numbers;
}

}  // namespace

void figures_of_groups(const ElementSource& source, std::span<const Given> figures, SimdLevel level,
                       const std::function<void(std::uint64_t, const GroupNumbers&)>& found) {
  if (source.groups == 0) return;
  if (const std::uint64_t at_once = source.at_once()) {
    for (std::uint64_t first = 0; first < source.groups; first += at_once)
      source.read({first, std::min(at_once, source.groups - first)},
                  [&](std::size_t group, std::span<const std::byte> elements) {
                    figures_of_groups(group_of(source, elements), figures, level,
                                      [&](std::uint64_t /*only*/, const GroupNumbers& numbers) {
                                        found(first + group, numbers);
                                      });
                  });
    return;
  }
  Parts parts;
  std::vector<Number> percentages;
  for (const Given& figure : figures)
    std::ranges::copy(percentages_of(figure), std::back_inserter(percentages));
  if (!percentages.empty())
    percentiles_of_groups(
        source, percentages, level,
        [&](std::uint64_t /*group*/, const Percentiles& of_group) { parts.percentiles.push_back(of_group); });
  if (std::ranges::any_of(figures, is_of_all)) parts.statistics = statistics_of_groups(source, level);
  if (std::ranges::any_of(figures, has_mad)) {
    const auto median = std::ranges::find(percentages, Number(50)) - percentages.begin();
    for (const Percentiles& of_group : parts.percentiles)
      parts.deviations.push_back(of_group[static_cast<std::size_t>(median)]);
    parts.deviations = median_deviations(source, parts.deviations, level);
  }
  for (std::uint64_t group = 0; group < source.groups; ++group)
    found(group, numbers_of(figures, parts, group));
}

namespace {

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

double norm_of(Norm norm, const ElementStatistics& of) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (of.nan != 0) return std::numeric_limits<double>::quiet_NaN();
  if (of.positive_infinite + of.negative_infinite != 0) return kInfinity;
  if (norm == Norm::infinity) return round_to<double>(absolute_maximum(of).value_or(0));
  Moments moments;  // of which the deviation from 0 is that from a mean of 0
  moments.squares = of.moments.squares;
  return norm == Norm::one ? of.moments.mean(1) : moments.standard_deviation(1);
}

}  // namespace

void norms_of_groups(const ElementSource& source, Norm norm, SimdLevel level,
                     const std::function<void(std::uint64_t, double)>& found) {
  const Given of_all(Statistic::absmax);
  figures_of_groups(norm == Norm::one ? magnitudes_of(source) : source, {&of_all, 1}, level,
                    [&](std::uint64_t group, const GroupNumbers& numbers) {
                      found(group, norm_of(norm, *numbers.statistics));
                    });
}

}  // namespace clipper
