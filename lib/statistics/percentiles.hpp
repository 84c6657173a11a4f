#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "simd/levels.hpp"
#include "statistics/figure.hpp"
#include "statistics/groups.hpp"

namespace clipper {

/// Elements in this machine's byte order that can be read several times.
struct ElementSource {
  DType dtype = DType::float32;
  std::uint64_t count = 0;  ///< at least the number of elements of each group

  using Look = Groups::Look;

  /// Calls `look` with the number of a group in the range and parts that make up all its elements: in any
  /// order, from many threads, at most 2 GiB each. If at_once() is not 0, it calls `look` once for each
  /// group, in order.
  std::function<void(const GroupRange& groups, const Look& look)> read;

  std::string_view path = "";  ///< of the file, for errors; empty for elements in memory
  bool only_elements = false;  ///< between two elements, the percentile is the lower one
  std::uint64_t groups = 1;

  /// What the percentiles are of, if not of the elements: a number for each element that is not NaN, which
  /// grows with the element, or gets less.
  std::function<Figure(ElementBits)> value{};
  bool descends = false;

  /// In how many groups read() gathers the elements at once; 0 if they are too large for that.
  [[nodiscard]] std::uint64_t at_once() const noexcept {
    return groups == 1 ? 0 : gathered_at_once(count, traits(dtype).size);
  }

  /// Calls use(group, elements) for each group if read() gathers them; otherwise returns false.
  template <class Use>
  [[nodiscard]] bool for_each_gathered(const Use& use) const {
    const std::uint64_t most = at_once();
    for (std::uint64_t first = 0; most != 0 && first < groups; first += most)
      read({first, std::min(most, groups - first)},
           [&](std::size_t group, std::span<const std::byte> elements) { use(first + group, elements); });
    return most != 0;
  }
};

/// Between the elements of two neighbouring ranks.
struct Position {
  std::uint64_t rank = 0;      ///< of the lower element
  std::uint64_t fraction = 0;  ///< of the way to the upper one, in units of 1 / kFractionOne
};

/// percentage / 100 * (count - 1), or as far from the last element. Every percentage must be is_percentile().
[[nodiscard]] Position position_of(Number percentage, std::uint64_t count, bool from_end);

/// Whether percentiles_of() takes the number: from 0 to 100, with at most 16 decimal places.
[[nodiscard]] bool is_percentile(const Number& number);

using Percentiles = std::vector<std::optional<Number>>;

/// For each group of the source, and for each percentage, the exact value below which this share of the
/// group's elements lies; nothing if all of them are NaN. Of n elements that are not NaN, sorted by their
/// keys (small_floats.hpp), the position is exactly percentage / 100 * (n - 1); between two positions, the
/// value is linear between their elements. Between -inf and inf, it is NaN. numpy.percentile defines its
/// default method in the same way, but rounds the position and the value.
///
/// Error{io} if the elements changed between two passes. Every percentage must be is_percentile(). Needs a
/// few MiB. See RankSearch for the number of passes, which are as many again for each kGroupsAtOnce groups;
/// of smaller groups one for each at_once(). `found` is called for one group after the other.
void percentiles_of_groups(const ElementSource& source, std::span<const Number> percentages, SimdLevel level,
                           const std::function<void(std::uint64_t, const Percentiles&)>& found);

inline constexpr std::uint64_t kGroupsAtOnce = 8;

/// The elements of a group, as a source of their own.
[[nodiscard]] ElementSource group_of(const ElementSource& source, std::span<const std::byte> elements);

/// The same for the only group of the source.
[[nodiscard]] Percentiles percentiles_of(const ElementSource& source, std::span<const Number> percentages,
                                         SimdLevel level);

/// The percentile of elements of a dtype as a number that is written and read: of floats rounded once to the
/// dtype. Of integers an element, or if it has a fraction the nearest float64; from 2^53 on, where float64
/// has no fractions, the fraction is cut off.
[[nodiscard]] Scalar as_scalar(DType dtype, const Number& percentile);
[[nodiscard]] std::vector<std::optional<Scalar>> as_scalars(
    DType dtype, std::span<const std::optional<Number>> percentiles);

}  // namespace clipper
