#include "statistics/percentiles.hpp"

#include <deque>
#include <limits>
#include <string>

#include "contract/exact_bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "statistics/rank_search.hpp"

namespace clipper {
namespace {

constexpr std::int64_t kDecimalPlaces = 16;

/// The value at a fraction of the way from a to b, which are equal if the fraction is 0.
Number between(const ElementSource& source, ElementBits a, ElementBits b, std::uint64_t fraction) {
  const auto value = [&](ElementBits element) -> Number {
    return source.value ? source.value(element) : Figure(number_of(source.dtype, element));
  };
  const Number low = value(a);
  if (a == b) return low;
  const Number high = value(b);
  const bool from_infinity = low.kind == Number::Kind::infinite;
  const bool to_infinity = high.kind == Number::Kind::infinite;
  if (from_infinity && to_infinity && low.negative != high.negative)
    return std::numeric_limits<double>::quiet_NaN();
  if (from_infinity || to_infinity) return from_infinity ? low : high;
  return interpolate(low, high, fraction);
}

/// Finds percentiles of some groups.
class GroupSearch {
 public:
  GroupSearch(const ElementSource& source, const GroupRange& groups, SimdLevel level)
      : source_(source), groups_(groups), positions_(groups.count) {
    for (std::size_t i = 0; i < groups.count; ++i)
      searches_.emplace_back(source.dtype, source.count, level, groups.count);
    if (source.count != 0) pass();
  }

  void want(std::size_t group, std::span<const Number> percentages) {
    RankSearch& search = searches_[group];
    std::vector<std::uint64_t> ranks;
    for (const Number& percentage : percentages) {
      std::optional<Position>& position = positions_[group].emplace_back();
      if (search.numbers() == 0) continue;
      position = position_of(percentage, search.numbers(), source_.descends);
      if (source_.only_elements) position->fraction = 0;
      ranks.push_back(position->rank);
      ranks.push_back(position->rank + (position->fraction == 0 ? 0 : 1));
    }
    search.want(ranks);
  }

  void finish() {
    while (std::ranges::any_of(searches_, &RankSearch::is_open)) pass();
  }

  [[nodiscard]] Percentiles percentiles(std::size_t group) const {
    const RankSearch& search = searches_[group];
    Percentiles result;
    for (std::size_t i = 0; i < positions_[group].size(); ++i) {
      const std::optional<Position>& position = positions_[group][i];
      result.push_back(position ? std::optional(between(source_, search.element(2 * i),
                                                        search.element(2 * i + 1), position->fraction))
                                : std::nullopt);
    }
    return result;
  }

 private:
  void pass() {
    source_.read(groups_, [&](std::size_t group, std::span<const std::byte> elements) {
      if (searches_[group].is_open()) searches_[group].look_at(elements);
    });
    for (RankSearch& search : searches_) {
      if (search.is_open()) search.end_pass();
      if (!search.is_consistent())
        throw Error(ErrorKind::io, std::string(source_.path.empty() ? "the tensor" : source_.path) +
                                       ": changed while it was read");
    }
  }

  const ElementSource& source_;
  GroupRange groups_;
  std::deque<RankSearch> searches_;
  std::vector<std::vector<std::optional<Position>>> positions_;
};

}  // namespace

/// The product has less than 124 bits, because a tensor has less than 2^63 elements.
Position position_of(Number percentage, std::uint64_t count, bool from_end) {
  percentage.exponent += kDecimalPlaces;
  UInt128 share = static_cast<UInt128>(to_integer(percentage, Rounding::toward_zero));
  if (from_end) share = kFractionOne - share;
  const UInt128 position = share * (count - 1);
  return {static_cast<std::uint64_t>(position / kFractionOne),
          static_cast<std::uint64_t>(position % kFractionOne)};
}

bool is_percentile(const Number& number) {
  return is_percentage(number) && std::ssize(number.digits) - number.exponent <= kDecimalPlaces;
}

void percentiles_of_groups(const ElementSource& source, std::span<const Number> percentages, SimdLevel level,
                           const std::function<void(std::uint64_t, const Percentiles&)>& found) {
  if (source.for_each_gathered([&](std::uint64_t group, std::span<const std::byte> elements) {
        found(group, percentiles_of(group_of(source, elements), percentages, level));
      }))
    return;
  for (std::uint64_t first = 0; first < source.groups; first += kGroupsAtOnce) {
    const GroupRange range{first, std::min(kGroupsAtOnce, source.groups - first)};
    GroupSearch search(source, range, level);
    for (std::size_t group = 0; group < range.count; ++group) search.want(group, percentages);
    search.finish();
    for (std::size_t group = 0; group < range.count; ++group) found(first + group, search.percentiles(group));
  }
}

ElementSource group_of(const ElementSource& source, std::span<const std::byte> elements) {
  return {.dtype = source.dtype,
          .count = elements.size() / traits(source.dtype).size,
          .read = [=](const GroupRange& /*only*/, const ElementSource::Look& look) { look(0, elements); },
          .path = source.path,
          .only_elements = source.only_elements,
          .value = source.value,
          .descends = source.descends};
}

Percentiles percentiles_of(const ElementSource& source, std::span<const Number> percentages,
                           SimdLevel level) {
  GroupSearch search(source, {}, level);
  search.want(0, percentages);
  search.finish();
  return search.percentiles(0);
}

Scalar as_scalar(DType dtype, const Number& percentile) {
  if (is_floating(dtype)) return {dtype, nearest_element(dtype, percentile)};
  const Number bound = found_bound(percentile);
  if (!is_integer(bound)) return {DType::float64, to_bits(round_to<double>(bound))};
  return {dtype, with_type(dtype, [&]<class T>() -> ElementBits {
            if constexpr (std::is_integral_v<T>)
              return to_bits(static_cast<T>(to_integer(bound, Rounding::toward_zero)));
            else
              __builtin_unreachable();
          })};
}

std::vector<std::optional<Scalar>> as_scalars(DType dtype,
                                              std::span<const std::optional<Number>> percentiles) {
  std::vector<std::optional<Scalar>> scalars;
  for (const std::optional<Number>& percentile : percentiles)
    scalars.push_back(percentile ? std::optional(as_scalar(dtype, *percentile)) : std::nullopt);
  return scalars;
}

}  // namespace clipper
