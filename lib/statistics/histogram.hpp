#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "element/dtype.hpp"
#include "element/number.hpp"

namespace clipper {

/// How many finite elements are in each of at most kMaxRows ranges of equal width, a power of two
/// 2^exponent. Range i goes from (first + i) * 2^exponent, which belongs to it, to the next one's begin,
/// which does not.
///
/// The width is the least with which kMaxRows ranges hold all elements (but not beyond the precision of
/// float64, and at least 1 for integers): it follows from the lowest and the highest one alone. Widths divide
/// each other and ranges begin at multiples of them, so that histograms can be added without any loss.
struct Histogram {
  static constexpr std::size_t kMaxRows = 20;

  int exponent = 0;
  Int128 first = 0;
  std::size_t rows = 0;  ///< 0: there are no elements
  std::array<std::uint64_t, kMaxRows> counts{};

  Histogram& operator+=(Histogram other) noexcept;
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// The ranges for elements from `lowest` to `highest`, both finite, with counts of 0.
[[nodiscard]] Histogram histogram_for(DType dtype, ElementBits lowest, ElementBits highest) noexcept;

/// The key (element_key.hpp) of the first element that is not below the begin of row 1 to rows - 1.
[[nodiscard]] std::int64_t first_key(DType dtype, const Histogram& histogram, std::size_t row) noexcept;

/// The begin of a range, exactly; row `rows` begins where the last one ends. As text, with `digits`
/// significant digits if it is a float's; 0 stands for as many as give the float64 back.
[[nodiscard]] std::string edge_text(DType dtype, const Histogram& histogram, std::size_t row, int digits = 0);

}  // namespace clipper
