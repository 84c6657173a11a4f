#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "element/dtype.hpp"
#include "element/number.hpp"

namespace clipper {

/// The number of finite elements in each of at most kMaxRows ranges of width 2^exponent. Row i is the range
/// from (first + i) * 2^exponent, inclusive, to (first + i + 1) * 2^exponent, exclusive.
///
/// The width is the least with which kMaxRows rows hold all elements (at least 1 for integers, and within the
/// precision of float64), so it depends only on the lowest and the highest element. Histograms can be added
/// exactly, because widths divide each other and rows begin at multiples of the width.
struct Histogram {
  static constexpr std::size_t kMaxRows = 20;

  int exponent = 0;
  Int128 first = 0;
  std::size_t rows = 0;  ///< 0 if there are no finite elements
  std::array<std::uint64_t, kMaxRows> counts{};

  Histogram& operator+=(Histogram other) noexcept;
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// The rows for elements from `lowest` to `highest`, both finite, with counts of 0.
[[nodiscard]] Histogram histogram_for(DType dtype, ElementBits lowest, ElementBits highest) noexcept;

/// The key (element_key.hpp) of the least element in or above `row`, which is from 1 to rows - 1.
[[nodiscard]] std::int64_t first_key(DType dtype, const Histogram& histogram, std::size_t row) noexcept;

/// The begin of a row as text; row `rows` begins where the last row ends. For floats with `digits`
/// significant digits, or if `digits` is 0 with as many as convert back to the same float64; for integers
/// exactly.
[[nodiscard]] std::string edge_text(DType dtype, const Histogram& histogram, std::size_t row, int digits = 0);

}  // namespace clipper
