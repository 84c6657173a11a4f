#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "compare/comparison.hpp"
#include "element/dtype.hpp"

/// Elements of two dtypes, compared as numbers.
namespace clipper {

/// The dtypes as which the elements of a pair are compared.
struct PairDTypes {
  DType actual;
  DType expected;
};

/// int64, uint64 or float64, the first that has all values of both dtypes. If none has, for int64 and uint64
/// and for 64-bit integers and floats, each is what has all of its own.
[[nodiscard]] PairDTypes common_dtypes(DType actual, DType expected);

/// Elements of a dtype, at any address.
struct RawElements {
  DType dtype;
  const std::byte* data;
};

/// Converts at most kPairBlock elements to a dtype of common_dtypes().
void widen(const RawElements& elements, DType dtype, std::span<std::uint64_t> result);

// Comparisons of elements of two dtypes: see MixedPair.

/// Compares pairs with ElementPairs::actual_dtype, and adds them to the result.
void compare_mixed(const ElementPairs& pairs, const ComparisonRule& rule, SimdLevel level,
                   ElementComparison& result);

/// difference_of() and ulps_between() of a mismatch of such pairs.
[[nodiscard]] std::optional<Difference> mixed_difference(const ElementComparison& comparison,
                                                         const Mismatch& mismatch);
[[nodiscard]] std::optional<std::uint64_t> mixed_ulps(const ElementComparison& comparison,
                                                      const Mismatch& mismatch);

}  // namespace clipper
