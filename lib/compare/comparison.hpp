#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compare/tolerance.hpp"
#include "element/dtype.hpp"

namespace clipper {

/// When an element matches the expected one. Unless `bits` is set, equal elements match, -0 and 0 among them;
/// of finite ones also those within the tolerance, and floats that are at most `ulps` apart. NaN never
/// matches a number, nor an infinity anything else.
struct ComparisonRule {
  bool bits = false;      ///< only elements with the same bits match; the rest but `listed` says nothing then
  bool nan_equal = true;  ///< whether any NaN matches any NaN
  Tolerance tolerance;
  std::optional<std::uint64_t> ulps;
  std::size_t listed = 1;  ///< how many mismatches are kept; at least 1
};

/// |a - e|, of integers itself, of floats the bits of its float64: the order is the same.
using Difference = std::uint64_t;

struct Mismatch {
  std::uint64_t position;
  ElementBits actual;
  ElementBits expected;

  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

/// What is known of a number of pairs of elements of one dtype. Those of a tensor's chunks can be added in
/// any order, with the same result.
struct ElementComparison {
  static constexpr std::uint64_t kNoUlps = std::numeric_limits<std::uint64_t>::max();

  DType dtype = DType::float32;
  std::size_t listed = 1;
  std::uint64_t compared = 0;
  std::uint64_t mismatches = 0;
  std::vector<Mismatch> first;   ///< the first `listed` mismatches
  Difference largest = 0;        ///< of all pairs without NaN
  std::uint64_t largest_at = 0;  ///< the first position with that difference, if it is not 0

  // What lets all mismatches pass, the rest of the rule being as it is.
  Difference absolute = 0;  ///< an A; of floats infinity if there is none
  std::uint64_t ulps = 0;   ///< of floats; kNoUlps if there is none

  /// `other` is of the same dtype and lists as many.
  ElementComparison& operator+=(const ElementComparison& other);
  friend bool operator==(const ElementComparison&, const ElementComparison&) = default;
};

/// The elements of two tensors at the same positions.
struct ElementPairs {
  DType dtype;
  ByteOrder actual_order;
  ByteOrder expected_order;
  std::byte* actual;  ///< aligned to the elements' size, as the other ones
  std::byte* expected;
  std::size_t count;
  std::uint64_t position;  ///< of the first pair
};

/// Compares all pairs. The elements may be in this machine's byte order afterwards.
[[nodiscard]] ElementComparison compare(const ElementPairs& pairs, const ComparisonRule& rule);

/// Nothing for NaN.
[[nodiscard]] std::optional<Difference> difference_of(DType dtype, ElementBits actual, ElementBits expected);

/// The steps from one float to the next that two are apart. Nothing for integers, NaN and infinities.
[[nodiscard]] std::optional<std::uint64_t> ulps_between(DType dtype, ElementBits actual,
                                                        ElementBits expected);

}  // namespace clipper
