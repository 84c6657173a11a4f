#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// Elements in this machine's byte order that can be read several times.
struct ElementSource {
  DType dtype = DType::float32;
  std::uint64_t count = 0;  ///< at most

  using Look = std::function<void(std::span<const std::byte>)>;

  /// Calls `look` with parts that make up all elements: in any order, from many threads, at most 2 GiB each.
  std::function<void(const Look& look)> read;

  std::string_view path = "";  ///< of the file, for errors; empty for elements in memory
  bool only_elements = false;  ///< between two elements, the percentile is the lower one
};

/// The denominator of fractions between two elements.
inline constexpr std::uint64_t kFractionOne = 1'000'000'000'000'000'000;

/// a + (b - a) * fraction / kFractionOne, exactly. Both must be finite, and the fraction at most
/// kFractionOne.
[[nodiscard]] Number interpolate(const Number& a, const Number& b, std::uint64_t fraction);

/// Whether percentiles_of() takes the number: from 0 to 100, with at most 16 decimal places.
[[nodiscard]] bool is_percentile(const Number& number);

/// For each percentage the exact value below which this share of the elements lies; nothing if all elements
/// are NaN. Of n elements that are not NaN, sorted by their keys (element_key.hpp), the position is exactly
/// percentage / 100 * (n - 1); between two positions, the value is linear between their elements. Between
/// -inf and inf, it is NaN. numpy.percentile defines its default method in the same way, but rounds the
/// position and the value.
///
/// Error{io} if the elements changed between two passes. Every percentage must be is_percentile(). Needs a
/// few MiB; see RankSearch for the number of passes.
[[nodiscard]] std::vector<std::optional<Number>> percentiles_of(const ElementSource& source,
                                                                std::span<const Number> percentages,
                                                                SimdLevel level);

/// Percentiles as elements: rounded once to floats, truncated toward zero to integers.
[[nodiscard]] std::vector<std::optional<ElementBits>> as_elements(
    DType dtype, std::span<const std::optional<Number>> percentiles);

}  // namespace clipper
