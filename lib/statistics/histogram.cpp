#include "statistics/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "element/element_key.hpp"
#include "element/half.hpp"

namespace clipper {
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

}  // namespace clipper
