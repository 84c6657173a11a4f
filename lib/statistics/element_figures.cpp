#include "statistics/element_figures.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <string>

#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "statistics/rank_kernels.hpp"
#include "statistics/rank_search.hpp"
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
    if (figure.spread) {
      const auto& [times, statistic] = *figure.spread;
      const std::optional<Number> spread =
          number_of(statistic, next(percentages_of(statistic).size()), parts, group);
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

namespace {

/// Deviations in float64 have keys, their bits, which grow with them. They are off by a few units at most.
constexpr std::uint64_t kUnits = 8;
constexpr std::uint64_t kInfinity = 0x7ff0'0000'0000'0000;

constexpr std::uint64_t kMaxCollected = 128UL * 1024;
constexpr std::size_t kBlock = 1024;  // elements

/// |x - center| in float64, from an exact or correctly rounded difference.
class Distance {
 public:
  explicit Distance(const Number& center)
      : high_(round_to<double>(center)),
        low_(round_to<double>(difference(center, high_))),
        whole_(to_integer(center, Rounding::down)),
        half_(is_integer(center) ? 0 : 0.5) {}

  template <class T>
  [[gnu::always_inline]] double operator()(T x) const {
    if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(double)) {
      const Int128 difference = Int128{x} - whole_;  // less than 2^64
      return difference > 0 ? static_cast<double>(static_cast<std::uint64_t>(difference)) - half_
                            : static_cast<double>(static_cast<std::uint64_t>(-difference)) + half_;
    } else {
      return std::fabs((static_cast<double>(x) - high_) - low_);
    }
  }

 private:
  double high_;  ///< high_ + low_ is the center, or near enough
  double low_;
  Int128 whole_;  ///< of integers, with a half or without
  double half_;
};

/// Elements and how often they occur.
using Elements = std::map<ElementBits, std::uint64_t>;

/// Finds the median deviation of a group: counts keys in parts of a range that has the lower one of the two
/// middle elements, then collects the elements in a part with few of them, and those next above it. Small
/// dtypes have so few elements that each is counted.
class DeviationSearch {
 public:
  DeviationSearch(const ElementSource& source, const Number& center)
      : dtype_(source.dtype), is_small_(traits(dtype_).size <= 2), center_(center), distance_(center) {
    if (source.count > RankSearch::kFew) begin_count();
  }

  [[nodiscard]] bool is_open() const { return !result_; }
  [[nodiscard]] const Number& result() const { return *result_; }

  void look_at(std::span<const std::byte> elements, SimdLevel level) {
    if (is_small_ && tables_) {
      const CounterTables::Taken table(*tables_);
      count_first_digits(traits(dtype_).size, elements, table.counters(), level);
      table.add_increments(elements.size() / traits(dtype_).size);
    } else if (is_small_) {
      collect_small(elements);
    } else {
      with_type(dtype_, [&]<class T>() {
        if constexpr (sizeof(T) > 2) tables_ ? count<T>(elements) : collect<T>(elements);
      });
    }
  }

  /// False if the pass has not seen the elements of the one before.
  [[nodiscard]] bool end_pass() {
    if (tables_ && !is_small_) return end_count();
    if (tables_) take_counted();
    return end_collect();
  }

 private:
  struct Entry {
    std::uint64_t key;
    ElementBits element;
    std::uint64_t count;
  };

  void begin_count() {
    const int bits = static_cast<int>(std::bit_width(last_ - first_));
    shift_ = static_cast<unsigned>(std::max(bits - static_cast<int>(kDigitBits), 0));
    tables_.emplace(is_small_ ? kInterleaved * kDigits : kDigits + 2, CounterTables::kMemory / kGroupsAtOnce);
  }

  void collect_small(std::span<const std::byte> elements) {
    const std::lock_guard lock(mutex_);
    with_size(traits(dtype_).size, [&]<std::size_t kSize>() {
      for (std::size_t at = 0; at < elements.size(); at += kSize)
        ++collected_[load_element<UnsignedOfSize<kSize>>(elements.data() + at)];
    });
  }

  void take_counted() {
    const std::vector<std::uint64_t>& totals = tables_->totals();
    for (std::size_t element = 0; element < kDigits; ++element)
      if (const std::uint64_t count = totals[element] + totals[kDigits + element])
        collected_[element] = count;
  }

  /// Calls use(keys, elements, count) for blocks; the key of a NaN is above kInfinity.
  template <class T, class Use>
  void for_each_block(std::span<const std::byte> elements, const Use& use) const {
    std::array<T, kBlock> block;
    std::array<double, kBlock> distances;
    for (std::size_t at = 0; at < elements.size(); at += sizeof(block)) {
      const std::size_t bytes = std::min(sizeof(block), elements.size() - at);
      std::memcpy(block.data(), elements.data() + at, bytes);
      const std::size_t count = bytes / sizeof(T);
      for (std::size_t i = 0; i < count; ++i) distances[i] = distance_(block[i]);
      use(std::bit_cast<std::array<std::uint64_t, kBlock>>(distances), block, count);
    }
  }

  /// After the counters of the parts are those of what is below the range, and above it.
  template <class T>
  void count(std::span<const std::byte> elements) {
    const CounterTables::Taken table(*tables_);
    std::uint32_t* const counters = table.counters();
    for_each_block<T>(elements, [&](const auto& keys, const auto& /*block*/, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t key = keys[i];
        if (key > kInfinity) continue;
        ++counters[key < first_ ? kDigits : key > last_ ? kDigits + 1 : (key - first_) >> shift_];
      }
    });
    table.add_increments(elements.size() / sizeof(T));
  }

  template <class T>
  void collect(std::span<const std::byte> elements) {
    const std::uint64_t first = first_ - std::min(first_, kUnits);
    const std::uint64_t last = std::min(last_ + kUnits, kInfinity);
    std::uint64_t next = kInfinity;  // the least key above the range
    std::uint64_t below = 0;
    std::uint64_t numbers = 0;
    Elements found;
    for_each_block<T>(elements, [&](const auto& keys, const auto& block, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t key = keys[i];
        numbers += key <= kInfinity ? 1 : 0;
        below += key < first ? 1 : 0;
        if (key < first || key > std::max(last, next + kUnits) || key > kInfinity) continue;
        ++found[to_bits(block[i])];
        if (key > last) next = std::min(next, key);
      }
    });
    const std::lock_guard lock(mutex_);
    below_ += below;
    seen_ += numbers;
    for (const auto& [element, times] : found) collected_[element] += times;
  }

  bool end_count() {
    const std::vector<std::uint64_t>& totals = tables_->totals();
    const std::uint64_t numbers = std::accumulate(totals.begin(), totals.end(), std::uint64_t{0});
    const std::uint64_t rank = (numbers - 1) / 2;
    std::uint64_t before = totals[kDigits];
    std::size_t part = 0;
    while (part < kDigits && before + totals[part] <= rank) before += totals[part++];
    if (numbers == 0 || rank < before || part == kDigits || numbers_.value_or(numbers) != numbers)
      return false;
    numbers_ = numbers;
    first_ += static_cast<std::uint64_t>(part) << shift_;
    last_ = std::min(first_ + (std::uint64_t{1} << shift_) - 1, last_);
    const bool is_narrow = totals[part] <= kMaxCollected || last_ - first_ <= kUnits;
    tables_.reset();
    if (!is_narrow) begin_count();
    return true;
  }

  bool end_collect() {
    if (is_small_) {
      std::erase_if(collected_, [&](const auto& entry) {
        return number_of(dtype_, entry.first).kind == Number::Kind::nan;
      });
      for (const auto& [element, count] : collected_) seen_ += count;
    }
    if (seen_ == 0 || numbers_.value_or(seen_) != seen_) return false;
    std::vector<Entry> entries;
    for (const auto& [element, count] : collected_)
      entries.push_back({key_of_element(element), element, count});
    // Exactly where float64 may not tell: keys are off by less than half of kUnits.
    std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
      const std::uint64_t apart = a.key > b.key ? a.key - b.key : b.key - a.key;
      return apart > kUnits ? a.key < b.key : deviation(a.element) < deviation(b.element);
    });
    const auto at = [&](std::uint64_t rank) -> std::optional<Number> {
      std::uint64_t before = below_;
      for (const Entry& entry : entries) {
        if (rank < before) break;
        if (rank < before + entry.count) return deviation(entry.element);
        before += entry.count;
      }
      return std::nullopt;
    };
    const std::optional<Number> lower = at((seen_ - 1) / 2);
    const std::optional<Number> upper = at(seen_ / 2);
    if (!lower || !upper) return false;
    const bool is_between = *lower != *upper && upper->kind == Number::Kind::finite;
    result_ = is_between ? interpolate(*lower, *upper, kFractionOne / 2) : *upper;
    return true;
  }

  [[nodiscard]] Number deviation(ElementBits element) const {
    Number result = difference(number_of(dtype_, element), center_);
    result.negative = false;
    return result;
  }

  [[nodiscard]] std::uint64_t key_of_element(ElementBits element) const {
    if (is_small_) return to_bits(round_to<double>(deviation(element)));
    return with_type(dtype_, [&]<class T>() -> std::uint64_t {
      if constexpr (sizeof(T) > 2) return to_bits(distance_(from_bits<T>(element)));
      __builtin_unreachable();
    });
  }

  DType dtype_;
  bool is_small_;
  Number center_;
  Distance distance_;
  std::uint64_t first_ = 0;  ///< the range of keys
  std::uint64_t last_ = kInfinity;
  unsigned shift_ = 0;
  std::optional<CounterTables> tables_;  ///< of a pass that counts
  std::optional<std::uint64_t> numbers_;
  std::mutex mutex_;
  std::uint64_t below_ = 0;  ///< elements whose keys are below the range
  std::uint64_t seen_ = 0;
  Elements collected_;
  std::optional<Number> result_;
};

void find_deviations(const ElementSource& source, const GroupRange& range,
                     std::span<std::optional<Number>> deviations, SimdLevel level) {
  std::deque<std::optional<DeviationSearch>> searches(range.count);
  for (std::size_t i = 0; i < range.count; ++i) {
    std::optional<Number>& center = deviations[i];  // at first
    if (center && center->kind == Number::Kind::finite)
      searches[i].emplace(source, *center);
    else if (center)
      center = std::numeric_limits<double>::quiet_NaN();
  }
  const auto is_open = [](const auto& search) { return search && search->is_open(); };
  while (std::ranges::any_of(searches, is_open)) {
    source.read(range, [&](std::size_t group, std::span<const std::byte> elements) {
      if (is_open(searches[group])) searches[group]->look_at(elements, level);
    });
    for (auto& search : searches)
      if (is_open(search) && !search->end_pass())
        throw Error(ErrorKind::io, std::string(source.path.empty() ? "the tensor" : source.path) +
                                       ": changed while it was read");
  }
  for (std::size_t i = 0; i < range.count; ++i)
    if (searches[i]) deviations[i] = searches[i]->result();
}

}  // namespace

std::vector<std::optional<Number>> median_deviations(const ElementSource& source,
                                                     std::span<const std::optional<Number>> centers,
                                                     SimdLevel level) {
  std::vector<std::optional<Number>> deviations(centers.begin(), centers.end());
  for (std::uint64_t first = 0; first < source.groups; first += kGroupsAtOnce) {
    const GroupRange range{first, std::min(kGroupsAtOnce, source.groups - first)};
    find_deviations(source, range, std::span(deviations).subspan(first, range.count), level);
  }
  return deviations;
}

}  // namespace clipper
