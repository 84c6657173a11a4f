#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "compare/tolerance.hpp"
#include "element/dtype.hpp"
#include "element/logical_type.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "simd/levels.hpp"

namespace clipper {

struct ElementComparison;

/// Called with all mismatches of a block of pairs: ElementComparison::first.
using EachMismatch = std::function<void(const ElementComparison& block)>;

/// Which elements match. Unless `bits` is set, equal elements match, including -0 and 0; finite elements
/// within the tolerance match; finite floats at most `ulps` apart match. NaN never matches a number, and an
/// infinity matches only itself. NaT is a NaN, and so is a complex number with a part that is NaN. The
/// relative tolerance does not apply to dates, because their zero is arbitrary.
struct ComparisonRule {
  bool bits = false;      ///< only identical bits match; nan_equal, tolerance and ulps are ignored
  bool nan_equal = true;  ///< whether any NaN matches any NaN
  Tolerance tolerance;
  std::optional<std::uint64_t> ulps;
  std::size_t listed = 1;                   ///< how many mismatches are listed; at least 1
  bool metrics = false;                     ///< whether to sum for metrics_of()
  bool exact_metrics = false;               ///< whether the sums of `metrics` are exact, as limits need them
  std::optional<TolerancePreset> preset{};  ///< for_dtype() sets `tolerance` to that of the preset
  const EachMismatch* each = nullptr;       ///< compare() of files calls it in order, in one thread
  std::optional<DType> widened{};           ///< set by compare(): floats are elements of this dtype, widened
};

/// The rule for tensors of this dtype.
[[nodiscard]] ComparisonRule for_dtype(ComparisonRule rule, DType dtype);

/// |a - e|: the value for integers, dates and durations; for floats and complex numbers, and for an integer
/// and a float, the bits of a float64, which have the same order.
using Difference = UInt128;

/// A difference that is the bits of a float64.
[[nodiscard]] inline double float_difference(Difference difference) noexcept {
  return from_bits<double>(static_cast<ElementBits>(difference));
}

struct Mismatch {
  std::uint64_t position;
  ElementBits actual;
  ElementBits expected;
  ElementBits actual_imaginary = 0;  ///< of complex numbers
  ElementBits expected_imaginary = 0;

  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

/// The result for any number of pairs of the same dtypes. Results of a tensor's chunks can be added in any
/// order.
struct ElementComparison {
  static constexpr std::uint64_t kNoUlps = std::numeric_limits<std::uint64_t>::max();
  static constexpr Difference kNoTicks = kNoUlps;  ///< `absolute` of dates: NaT has no difference

  DType dtype = DType::float32;  ///< of the expected elements
  std::size_t listed = 1;
  std::uint64_t compared = 0;
  std::uint64_t mismatches = 0;
  std::vector<Mismatch> first;   ///< the first `listed` mismatches
  Difference largest = 0;        ///< over all pairs without NaN
  std::uint64_t largest_at = 0;  ///< the first position with the largest difference, if that is not 0

  // The limits with which all mismatches would match, if the rest of the rule stays.
  Difference absolute = 0;  ///< of Tolerance; infinity if there is none for floats
  std::uint64_t ulps = 0;   ///< for floats; kNoUlps if there is none
  double relative = 0;      ///< of Tolerance, or slightly more; infinity if there is none

  // Of the mismatches.
  std::uint64_t nan = 0;        ///< those in which an element is NaN or NaT
  std::uint64_t nan_at = 0;     ///< the first of them, if there is one
  double largest_relative = 0;  ///< |a - e| / |e| of the others, infinity if e is 0; of dates 0

  std::optional<MetricSums> metrics{};  ///< only if the rule asks for it
  LogicalType meaning{};                ///< of the elements
  std::optional<DType> actual_dtype{};  ///< of the actual elements, if it is another

  /// Whether differences are bits of float64.
  [[nodiscard]] bool has_float_differences() const {
    return is_floating(dtype) || (actual_dtype && is_floating(*actual_dtype));
  }

  /// `other` must have the same dtypes, meaning and `listed`.
  ElementComparison& operator+=(const ElementComparison& other);
  friend bool operator==(const ElementComparison&, const ElementComparison&) = default;
};

/// How many pairs are compared and summed at a time.
inline constexpr std::size_t kPairBlock = 1024;

/// The elements of two tensors at the same positions, in this machine's byte order.
struct ElementPairs {
  DType dtype;
  std::byte* actual;  ///< aligned to the element's size, like `expected`
  std::byte* expected;
  std::size_t count;
  std::uint64_t position;  ///< of the first pair
  LogicalType meaning{};

  /// Of the actual elements, if it is another. Both are then int64, uint64 or float64.
  std::optional<DType> actual_dtype{};
};

/// Compares all pairs. The digits of metrics depend on the positions of the calls' first pairs, unless these
/// are multiples of kPairBlock; nothing depends on `level`.
[[nodiscard]] ElementComparison compare(const ElementPairs& pairs, const ComparisonRule& rule,
                                        SimdLevel level = simd_levels().back());

/// |a - e|; nothing if one of the two is NaN or NaT.
[[nodiscard]] std::optional<Difference> difference_of(const ElementComparison& comparison,
                                                      const Mismatch& mismatch);

/// The distance of two floats in representable values, of complex numbers the larger of both parts. Nothing
/// for other elements, NaN and infinities.
[[nodiscard]] std::optional<std::uint64_t> ulps_between(const ElementComparison& comparison,
                                                        const Mismatch& mismatch);

// Elements of two dtypes, compared as numbers.

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

}  // namespace clipper
