#pragma once

#include "clip/reference_clip.hpp"
#include "statistics/statistics.hpp"

/// Elements and the edges of a histogram's rows as exact numbers.
namespace clipper::reference {

/// A type that holds every element of every dtype exactly.
inline long double number(DType dtype, ElementBits bits) {
  return is_floating(dtype) ? static_cast<long double>(value(dtype, bits))
                            : static_cast<long double>(integer(dtype, bits));
}

/// The begin of a row; exact, because both factors are.
inline long double edge(const Histogram& histogram, std::size_t row) {
  return std::ldexp(static_cast<long double>(histogram.first + static_cast<Int128>(row)), histogram.exponent);
}

}  // namespace clipper::reference
