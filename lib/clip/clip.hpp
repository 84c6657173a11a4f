#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "clip/operation.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"

/// The kernels: functions that clip elements in memory.
namespace clipper {

/// What an operation did, with g and y as in Operation, y before NaN is replaced. g is what the arithmetic
/// gives, in its precision: neither rounded to the dtype, nor truncated, nor saturated.
struct ElementCounts {
  std::uint64_t raised = 0;    ///< elements with y > g: without lo > hi, those with g < lo
  std::uint64_t lowered = 0;   ///< elements with y < g: those with g > hi
  std::uint64_t nan = 0;       ///< elements whose g is NaN
  bool changed = false;        ///< whether the bits of any element changed
  std::uint64_t replaced = 0;  ///< elements beyond a bound that the cast replaces by its below or above

  // Of elements that are not beyond a bound.
  std::uint64_t became_infinite = 0;  ///< finite ones whose result is infinite
  std::uint64_t became_zero = 0;      ///< those whose g is not 0, or underflowed, and whose result is 0

  std::uint64_t nodata = 0;         ///< which no other count includes
  std::uint64_t became_nodata = 0;  ///< others whose result marks elements that are no data
  std::uint64_t masked = 0;         ///< become Request::mask_to, and no other count includes them

  /// Those that no step changes: shares are of the others.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return nodata + masked; }

  ElementCounts& operator+=(const ElementCounts& other) noexcept { return add(other, 1); }

  /// Adds the counts of as many elements like those of `other`.
  ElementCounts& add(const ElementCounts& other, std::uint64_t times) noexcept {
    raised += times * other.raised;
    lowered += times * other.lowered;
    nan += times * other.nan;
    replaced += times * other.replaced;
    became_infinite += times * other.became_infinite;
    became_zero += times * other.became_zero;
    nodata += times * other.nodata;
    became_nodata += times * other.became_nodata;
    masked += times * other.masked;
    changed |= times != 0 && other.changed;
    return *this;
  }
  friend bool operator==(const ElementCounts&, const ElementCounts&) = default;
};

/// What convert() did, or another function with elements that may be refused.
struct Converted {
  ElementCounts counts;                  ///< `changed` is true if dtypes differ and there are elements
  std::optional<std::size_t> first_nan;  ///< the position of the first g that is NaN

  /// The position of the first y beyond the range of `to`, which has no infinity and does not saturate.
  std::optional<std::size_t> first_beyond;

  /// Adds what was done with the elements after the first `done`.
  void add(const Converted& part, std::size_t done) noexcept {
    counts += part.counts;
    if (part.first_nan && !first_nan) first_nan = done + *part.first_nan;
    if (part.first_beyond && !first_beyond) first_beyond = done + *part.first_beyond;
  }
  friend bool operator==(const Converted&, const Converted&) = default;
};

/// Whether a kernel counts what it does.
enum class Counting : std::uint8_t { off, on };

/// normalize() or convert() if the operation has a cast; otherwise clip() or clip_and_count(), of which only
/// the counts are known. `losses` are counted unless null.
[[nodiscard]] Converted apply(const Operation& operation, const Operands& operands, const std::byte* in,
                              std::byte* out, std::size_t count, Counting counting, SimdLevel level,
                              const Losses* losses = nullptr) noexcept;

/// Applies an operation without a cast to `count` elements in this machine's byte order. `in` and `out` are
/// aligned to the element's size, and are equal or do not overlap. Every level gives the same bytes. The
/// level must be one of simd_levels().
void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept;

/// Applies the operation like clip(), and returns what it did; of Losses only if they are given.
[[nodiscard]] ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                                           std::size_t count, SimdLevel level) noexcept;

/// The position of the first NaN among `count` elements; nothing for integer dtypes.
[[nodiscard]] std::optional<std::size_t> find_nan(DType dtype, const std::byte* elements,
                                                  std::size_t count) noexcept;

/// The same among the results of an operation, which may have NaT.
[[nodiscard]] std::optional<std::size_t> find_nan(const Operation& operation, const std::byte* elements,
                                                  std::size_t count) noexcept;

/// clip() for elements that may have numbers of their own.
void clip(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
          std::size_t count, SimdLevel level) noexcept;

/// clip_and_count() for elements that may have numbers of their own.
[[nodiscard]] ElementCounts clip_and_count(const Operation& operation, const Operands& operands,
                                           const std::byte* in, std::byte* out, std::size_t count,
                                           SimdLevel level, const Losses* losses = nullptr) noexcept;

/// Whether of `count` pairs of bounds no min exceeds its max and none is NaN. Both are aligned to the size of
/// an element, in this machine's byte order. The level must be one of simd_levels().
[[nodiscard]] bool are_ordered_bounds(DType dtype, const std::byte* min, const std::byte* max,
                                      std::size_t count, SimdLevel level) noexcept;

}  // namespace clipper
