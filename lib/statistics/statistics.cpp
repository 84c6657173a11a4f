// Two passes over a block that stays in the cache. The first finds the range of the elements, their sum and
// the sum of their squares. The range determines the rows of the histogram. The second pass counts the
// elements below each row's begin, below the bounds and, if there are any, below the infinities and NaNs:
// README.md says why.

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <string_view>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "element/element.hpp"
#include "element/small_floats.hpp"
#include "statistics/moment_loops.hpp"
#include "statistics/statistics_loop.hpp"

namespace clipper {
namespace {

/// The arguments of a kernel. A block is small enough for add_integers() and for the second-level cache.
struct Block {
  DType dtype;
  std::optional<Bounds> bounds;
  const std::byte* elements;
  std::size_t count;
};

constexpr std::size_t kBlockSize = 256UL * 1024;

/// The limits of the second pass, and for each the number of elements whose keys are less.
struct Limits {
  static constexpr std::size_t kMax = 4 + 2 + Histogram::kMaxRows - 1;

  /// Adds a limit. Returns its position in `keys` and `below`.
  std::size_t add(std::int64_t key) noexcept {
    keys[size] = key;
    return size++;
  }

  std::size_t size = 0;
  std::array<std::int64_t, kMax> keys{};
  std::array<std::uint64_t, kMax> below{};
};

// The key of a bound as a limit. -0 and 0 are equal, although their keys differ.

template <class T>
Key<T> lower_limit(ElementBits bound) noexcept {
  const Key<T> key = key_of(from_bits<T>(bound));
  return !std::is_integral_v<T> && key == 0 ? Key<T>{-1} : key;
}

template <class T>
Key<T> upper_limit(ElementBits bound) noexcept {
  const Key<T> key = key_of(from_bits<T>(bound));
  return !std::is_integral_v<T> && key == -1 ? Key<T>{0} : key;
}

/// The first pass. Returns the range of the finite elements.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline KeyRange<T> find_range_and_moments(const T* elements,
                                                                 ElementStatistics& result) noexcept {
  const KeyRange<T> range = key_range(elements, result.count);
  if constexpr (std::is_integral_v<T>)
    add_integers(elements, result.count, result.moments);
  else
    add_floats<kBytes>(elements, result.count, range.all, result.moments);
  if (range.any)
    result.finite = {to_bits(element_of<T>(range.lowest)), to_bits(element_of<T>(range.highest))};
  return range;
}

/// The second pass for the rows, if their numbers can be calculated. Returns whether it has counted.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline bool counts_rows(const T* elements, const KeyRange<T>& range,
                                               const ElementStatistics& result,
                                               std::span<std::uint64_t> below) noexcept {
  if constexpr (sizeof(T) > 1 && !HalfType<T>) {
    if (const RowNumber<T> row_of(result.histogram); range.all && row_of.is_exact()) {
      if (result.histogram.rows > 1)
        count_rows<kBytes>(elements, result.count, row_of, result.histogram.rows, below);
      return true;
    }
  }
  return false;
}

/// The rest of the second pass.
template <std::size_t kBytes, class T>
[[gnu::always_inline]] inline void count_elements(const T* elements, const KeyRange<T>& range,
                                                  const std::optional<Bounds>& bounds,
                                                  ElementStatistics& result) noexcept {
  if (bounds && range.any)
    result.histogram = histogram_for(result.dtype, result.finite->lowest, result.finite->highest);
  Limits limits;
  if (!range.all)
    for (const Key<T> key : kInfinityLimits<T>) limits.add(key);
  const Key<T> lo = bounds ? lower_limit<T>(bounds->lo) : Key<T>{};
  const Key<T> hi = bounds ? upper_limit<T>(bounds->hi) : Key<T>{};
  const bool any_below = bounds && (!range.all || lo > range.lowest);
  const bool any_above = bounds && (!range.all || hi < range.highest);
  const std::size_t lo_at = any_below ? limits.add(lo) : 0;
  const std::size_t hi_at = any_above ? limits.add(std::int64_t{hi} + 1) : 0;
  const std::size_t rows_at = limits.size;
  Histogram& histogram = result.histogram;
  const bool numbered =
      counts_rows<kBytes>(elements, range, result, std::span(limits.below).subspan(rows_at));
  for (std::size_t row = 1; row < histogram.rows && !numbered; ++row)
    limits.add(first_key(result.dtype, histogram, row));

  count_below<kBytes>(elements, result.count, std::span(limits.keys).first(limits.size), limits.below);

  // Elements before -inf, before the finite ones, before inf, and before the NaNs above inf.
  std::array<std::uint64_t, 4> ends{0, 0, result.count, result.count};
  if (!range.all) std::copy_n(limits.below.begin(), ends.size(), ends.begin());
  result.nan = ends[0] + result.count - ends[3];
  result.negative_infinite = ends[1] - ends[0];
  result.positive_infinite = ends[3] - ends[2];
  if (any_below) result.below = limits.below[lo_at] - ends[0];
  if (any_above) result.above = ends[3] - limits.below[hi_at];
  std::uint64_t before = ends[1];
  for (std::size_t row = 0; row < histogram.rows; ++row) {
    const std::uint64_t end = row + 1 < histogram.rows ? limits.below[rows_at + row] : ends[2];
    histogram.counts[row] = end - before;
    before = end;
  }
}

template <class T>
struct StatisticsOfBlock {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static ElementStatistics run(const Block& block) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    const T* const elements = reinterpret_cast<const T*>(block.elements);
    ElementStatistics result;
    result.dtype = block.dtype;
    result.count = block.count;
    const KeyRange<T> range = find_range_and_moments<kBytes>(elements, result);
    count_elements<kBytes>(elements, range, block.bounds, result);
    return result;
  }
};

/// The statistics of elements of a dtype without kernels, by blocks that are widened.
ElementStatistics statistics_of_widened(DType dtype, const std::optional<Bounds>& bounds,
                                        const std::byte* elements, std::size_t count,
                                        SimdLevel level) noexcept {
  const auto wide = [&](ElementBits element) -> ElementBits { return to_bits(widened(dtype, element)); };
  const auto narrow = [&](ElementBits element) -> ElementBits {
    return Narrowing(dtype)(from_bits<float>(element));
  };
  std::optional<Bounds> of_floats;
  if (bounds) of_floats = {wide(bounds->lo), wide(bounds->hi)};
  alignas(64) std::array<float, 16384> block;
  ElementStatistics total;
  total.dtype = dtype;
  for (std::size_t done = 0; done < count; done += block.size()) {
    const std::size_t length = std::min(count - done, block.size());
    widen(dtype, elements + done, block.data(), length);
    auto* const floats = reinterpret_cast<std::byte*>(block.data());
    ElementStatistics part = statistics_of(DType::float32, of_floats, floats, length, level);
    part.dtype = dtype;
    if (part.finite) part.finite = {narrow(part.finite->lowest), narrow(part.finite->highest)};
    total += part;
  }
  return total;
}

}  // namespace

ElementStatistics& ElementStatistics::operator+=(const ElementStatistics& other) noexcept {
  count += other.count;
  nan += other.nan;
  positive_infinite += other.positive_infinite;
  negative_infinite += other.negative_infinite;
  below += other.below;
  above += other.above;
  moments += other.moments;
  histogram += other.histogram;
  if (!finite) {
    finite = other.finite;
  } else if (other.finite) {
    const auto key = [&](ElementBits element) { return element_key(dtype, element); };
    if (key(other.finite->lowest) < key(finite->lowest)) finite->lowest = other.finite->lowest;
    if (key(other.finite->highest) > key(finite->highest)) finite->highest = other.finite->highest;
  }
  return *this;
}

std::optional<ElementBits> ElementStatistics::min() const noexcept {
  if (negative_infinite != 0) return lowest_element(dtype);
  if (finite) return finite->lowest;
  return positive_infinite != 0 ? std::optional(highest_element(dtype)) : std::nullopt;
}

std::optional<ElementBits> ElementStatistics::max() const noexcept {
  if (positive_infinite != 0) return highest_element(dtype);
  if (finite) return finite->highest;
  return negative_infinite != 0 ? std::optional(lowest_element(dtype)) : std::nullopt;
}

std::optional<double> ElementStatistics::mean() const noexcept {
  const std::uint64_t elements = finite_count();
  return elements == 0 ? std::nullopt : std::optional(moments.mean(elements));
}

std::optional<double> ElementStatistics::standard_deviation() const noexcept {
  const std::uint64_t elements = finite_count();
  return elements == 0 ? std::nullopt : std::optional(moments.standard_deviation(elements));
}

ElementStatistics statistics_of(DType dtype, const std::optional<Bounds>& bounds, const std::byte* elements,
                                std::size_t count, SimdLevel level) noexcept {
  if (!has_kernels(dtype)) return statistics_of_widened(dtype, bounds, elements, count, level);
  const std::size_t size = traits(dtype).size;
  ElementStatistics total;
  total.dtype = dtype;
  while (count != 0) {
    const std::size_t length = std::min(count, kBlockSize / size);
    const Block block{dtype, bounds, elements, length};
    total += with_type(dtype, [&]<class T>() { return run_loop<StatisticsOfBlock<T>>(level, block); });
    elements += length * size;
    count -= length;
  }
  return total;
}

std::vector<ElementStatistics> statistics_of_groups(const ElementSource& source,
                                                    const std::optional<Bounds>& bounds, SimdLevel level) {
  std::vector<ElementStatistics> totals(source.groups);
  for (ElementStatistics& total : totals) total.dtype = source.dtype;
  std::mutex mutex;
  source.read({0, totals.size()}, [&](std::size_t group, std::span<const std::byte> elements) {
    const ElementStatistics part = statistics_of(source.dtype, bounds, elements.data(),
                                                 elements.size() / traits(source.dtype).size, level);
    const std::lock_guard lock(mutex);
    totals[group] += part;
  });
  return totals;
}

namespace {

constexpr int kLowestRowExponent = -1074;  // of a float64
constexpr int kRowPrecision = 53;
constexpr int kMaxRowsBits = std::bit_width(Histogram::kMaxRows);

/// floor(x / 2^exponent) of an integer or a float64.
Int128 row_of(Int128 x, int exponent) noexcept {
  return x >> exponent;
}
Int128 row_of(double x, int exponent) noexcept {
  const auto row = static_cast<Int128>(std::floor(std::ldexp(x, -exponent)));
  return row == 0 && x < 0 ? -1 : row;  // x * 2^-exponent may be too small for a float64
}

Int128 edge_row(const Histogram& histogram, std::size_t row) noexcept {
  return histogram.first + static_cast<Int128>(row);
}
double edge(const Histogram& histogram, std::size_t row) noexcept {
  return std::ldexp(static_cast<double>(edge_row(histogram, row)), histogram.exponent);
}
Int128 integer_edge(const Histogram& histogram, std::size_t row) noexcept {
  return edge_row(histogram, row) * (Int128{1} << histogram.exponent);
}

template <class Value>
Histogram histogram_from(Value lowest, Value highest, int exponent) noexcept {
  constexpr Int128 kRows{Histogram::kMaxRows};
  while (row_of(highest, exponent) - row_of(lowest, exponent) >= kRows) ++exponent;
  Histogram result;
  result.exponent = exponent;
  result.first = row_of(lowest, exponent);
  result.rows = static_cast<std::size_t>(row_of(highest, exponent) - result.first + 1);
  return result;
}

void widen_rows(Histogram& histogram) noexcept {
  Histogram wide;
  wide.exponent = histogram.exponent + 1;
  wide.first = histogram.first >> 1;
  const auto shift = static_cast<std::size_t>(histogram.first & 1);
  wide.rows = (histogram.rows + shift + 1) / 2;
  for (std::size_t i = 0; i < histogram.rows; ++i) wide.counts[(i + shift) / 2] += histogram.counts[i];
  histogram = wide;
}

}  // namespace

void Histogram::merge_rows(std::size_t most) noexcept {
  while (rows > most) widen_rows(*this);
}

Histogram& Histogram::operator+=(Histogram other) noexcept {
  if (other.rows == 0) return *this;
  if (rows == 0) return *this = other;
  while (exponent < other.exponent) widen_rows(*this);
  while (other.exponent < exponent) widen_rows(other);
  const auto begin = [&] { return std::min(first, other.first); };
  const auto end = [&] {
    return std::max(first + static_cast<Int128>(rows), other.first + static_cast<Int128>(other.rows));
  };
  while (end() - begin() > static_cast<Int128>(kMaxRows)) {
    widen_rows(*this);
    widen_rows(other);
  }
  Histogram sum;
  sum.exponent = exponent;
  sum.first = begin();
  sum.rows = static_cast<std::size_t>(end() - begin());
  for (const Histogram* each : {static_cast<const Histogram*>(this), static_cast<const Histogram*>(&other)})
    for (std::size_t i = 0; i < each->rows; ++i)
      sum.counts[static_cast<std::size_t>(each->first - sum.first) + i] += each->counts[i];
  return *this = sum;
}

Histogram histogram_for(DType dtype, ElementBits lowest, ElementBits highest) noexcept {
  return with_type(dtype, [=]<class T>() {
    const T low = from_bits<T>(lowest);
    const T high = from_bits<T>(highest);
    if constexpr (std::is_integral_v<T>) {
      return histogram_from<Int128>(low, high, 0);
    } else {
      const double largest = std::max(std::fabs(as_double(low)), std::fabs(as_double(high)));
      int exponent = largest == 0 ? kLowestRowExponent : std::ilogb(largest) - (kRowPrecision - 1);
      // Narrower rows would be more than kMaxRows.
      const double half_range = as_double(high) / 2 - as_double(low) / 2;
      if (half_range > 0) exponent = std::max(exponent, std::ilogb(half_range) - kMaxRowsBits);
      return histogram_from(as_double(low), as_double(high), std::max(exponent, kLowestRowExponent));
    }
  });
}

std::int64_t first_key(DType dtype, const Histogram& histogram, std::size_t row) noexcept {
  return with_type(dtype, [&]<class T>() -> std::int64_t {
    if constexpr (std::is_integral_v<T>) {
      return key_of(static_cast<T>(integer_edge(histogram, row)));
    } else {
      const double begin = edge(histogram, row);
      if (begin == 0) return -1;  // -0
      T x;
      if constexpr (std::is_same_v<T, double>)
        x = begin;
      else
        x = narrow<T>(begin);
      return key_of(x) + (as_double(x) < begin ? 1 : 0);
    }
  });
}

std::string edge_text(DType dtype, const Histogram& histogram, std::size_t row, int digits) {
  if (!is_floating(dtype)) return fmt::format("{}", integer_edge(histogram, row));
  if (digits == 0) return fmt::format("{}", edge(histogram, row));
  return fmt::format("{:.{}g}", edge(histogram, row), digits);
}

namespace {

/// What is said of a bound whose spread is 0.
std::string_view flat_text(const Expression::Figure& figure) {
  if (figure.percentage) return "";
  switch (figure.statistic) {
    case Statistic::std: return "the std is 0";
    case Statistic::mad: return "the mad is 0";
    case Statistic::iqr: return "the iqr is 0";
    default: return "";
  }
}

/// The value of an expression whose figures are found.
Found value_of(const Expression& expression, std::span<const std::size_t> places,
               std::span<const Found> found) {
  if (expression.alone() != nullptr) return found[places[0]];
  for (std::size_t i = 0; i < places.size(); ++i)
    if (expression.terms[i].figure && !found[places[i]]) return std::nullopt;
  if (expression.times) return sum(*found[places[0]], product(*found[places[1]], *expression.times));
  double total = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Expression::Term& term = expression.terms[i];
    double value = term.figure ? term.factor * found[places[i]]->nearest() : term.factor;
    for (const double divisor : term.divisors) value /= divisor;
    total = i == 0 ? value : total + value;
  }
  return total;
}

}  // namespace

Needed::Needed(std::span<const Expression> expressions) {
  for (const Expression& expression : expressions) {
    std::vector<std::size_t>& its = places.emplace_back();
    for (const Expression::Term& term : expression.terms) {
      std::size_t& place = its.emplace_back(kNoFigure);
      if (!term.figure) continue;
      place = static_cast<std::size_t>(std::ranges::find(names, *term.figure) - names.begin());
      if (place == names.size()) names.push_back(*term.figure);
      has_spread = has_spread || !flat_text(*term.figure).empty();
    }
    are_alone = are_alone && expression.alone() != nullptr;
  }
  are_alone = are_alone && names.size() == expressions.size();
}

void evaluate(std::span<const Expression> expressions, const Needed& needed, std::vector<Found>& found,
              GroupNumbers& numbers) {
  numbers.flat.resize(expressions.size());
  for (std::size_t i = 0; i < expressions.size() && needed.has_spread; ++i) {
    numbers.flat[i] = "";
    for (const std::size_t place : needed.places[i])
      if (place != kNoFigure && found[place] && found[place]->is_zero())
        numbers.flat[i] = flat_text(needed.names[place]);
  }
  if (&found == &numbers.figures) return;
  if (needed.are_alone) return numbers.figures.swap(found);
  numbers.figures.clear();
  for (std::size_t i = 0; i < expressions.size(); ++i)
    numbers.figures.push_back(value_of(expressions[i], needed.places[i], found));
}

}  // namespace clipper
