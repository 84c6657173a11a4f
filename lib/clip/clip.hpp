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

  // Of elements that are not beyond a bound; see LossCounter.
  std::uint64_t became_infinite = 0;  ///< finite ones whose result is infinite
  std::uint64_t became_zero = 0;      ///< those whose g is not 0, or underflowed, and whose result is 0

  std::uint64_t nodata = 0;         ///< which no other count includes
  std::uint64_t became_nodata = 0;  ///< others whose result marks elements that are no data

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
    changed |= times != 0 && other.changed;
    return *this;
  }
  friend bool operator==(const ElementCounts&, const ElementCounts&) = default;
};

/// Whether a kernel counts what it does.
enum class Counting : std::uint8_t { off, on };

/// Applies the operation to `count` elements in this machine's byte order. `in` and `out` are aligned to the
/// element's size, and are equal or do not overlap. Every level gives the same bytes. The level must be one
/// of simd_levels().
void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept;

/// Applies the operation like clip(), and returns what it did.
[[nodiscard]] ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                                           std::size_t count, SimdLevel level) noexcept;

/// The position of the first NaN among `count` elements; nothing for integer dtypes.
[[nodiscard]] std::optional<std::size_t> find_nan(DType dtype, const std::byte* elements,
                                                  std::size_t count) noexcept;

/// The same among the results of an operation, which may have NaT.
[[nodiscard]] std::optional<std::size_t> find_nan(const Operation& operation, const std::byte* elements,
                                                  std::size_t count) noexcept;

// The same for parameters that differ from element to element.

/// One value per element of each parameter, aligned to its size. Replaces the numbers of an
/// Operation, of which dtype and arithmetic still count.
struct ParameterVectors {
  const std::byte* lo = nullptr;   ///< of the operation's dtype
  const std::byte* hi = nullptr;   ///< of the operation's dtype
  const std::byte* nan = nullptr;  ///< of the operation's dtype: what replaces NaN; null: NaN stays

  /// Unless Arithmetic::none. Finite float for Arithmetic::float32, finite double for ::float64,
  /// Operation::Integer for ::integer.
  const std::byte* scale = nullptr;
  const std::byte* bias = nullptr;

  const std::byte* factor = nullptr;  ///< double, of a Normalization; null: that of the operation
  const std::byte* a = nullptr;       ///< double, of a Normalization
  const std::byte* b = nullptr;
  const std::byte* a_rest = nullptr;  ///< double; null: 0
  const std::byte* b_rest = nullptr;

  const ElementBits* min = nullptr;  ///< Cast::min and max; null: those of the operation
  const ElementBits* max = nullptr;
  const WideBound* wide_lo = nullptr;  ///< for Arithmetic::integer in place of lo and hi, unless null
  const WideBound* wide_hi = nullptr;
  const ElementBits* nan_result = nullptr;  ///< Cast::nan; null: that of the operation
};

/// In place of ParameterVectors: the numbers of the operation hold for all elements.
struct NoVectors {};

/// clip() with one value of each parameter per element.
void clip(const Operation& operation, const ParameterVectors& parameters, const std::byte* in, std::byte* out,
          std::size_t count, SimdLevel level) noexcept;

/// clip_and_count() with one value of each parameter per element.
[[nodiscard]] ElementCounts clip_and_count(const Operation& operation, const ParameterVectors& parameters,
                                           const std::byte* in, std::byte* out, std::size_t count,
                                           SimdLevel level) noexcept;

/// The size of a scale or bias in ParameterVectors.
[[nodiscard]] constexpr std::size_t factor_size(Arithmetic arithmetic) noexcept {
  switch (arithmetic) {
    case Arithmetic::none: return 0;
    case Arithmetic::float32: return sizeof(float);
    case Arithmetic::float64: return sizeof(double);
    case Arithmetic::integer: return sizeof(Operation::Integer);
  }
  __builtin_unreachable();
}

/// The parameters of the elements after the first `count`.
[[gnu::always_inline]] inline ParameterVectors after(std::size_t count, const ParameterVectors& vectors,
                                                     std::size_t element_size,
                                                     std::size_t factor_size) noexcept {
  const auto moved = [](const std::byte* vector, std::size_t size) __attribute__((always_inline)) {
    return vector == nullptr ? nullptr : vector + size;
  };
  return {moved(vectors.lo, count * element_size),
          moved(vectors.hi, count * element_size),
          moved(vectors.nan, count * element_size),
          moved(vectors.scale, count * factor_size),
          moved(vectors.bias, count * factor_size),
          moved(vectors.factor, count * sizeof(double)),
          moved(vectors.a, count * sizeof(double)),
          moved(vectors.b, count * sizeof(double)),
          moved(vectors.a_rest, count * sizeof(double)),
          moved(vectors.b_rest, count * sizeof(double)),
          vectors.min == nullptr ? nullptr : vectors.min + count,
          vectors.max == nullptr ? nullptr : vectors.max + count,
          vectors.wide_lo == nullptr ? nullptr : vectors.wide_lo + count,
          vectors.wide_hi == nullptr ? nullptr : vectors.wide_hi + count,
          vectors.nan_result == nullptr ? nullptr : vectors.nan_result + count};
}

/// Whether of `count` pairs of bounds no min exceeds its max and none is NaN. Both are aligned to the size of
/// an element, in this machine's byte order. The level must be one of simd_levels().
[[nodiscard]] bool are_ordered_bounds(DType dtype, const std::byte* min, const std::byte* max,
                                      std::size_t count, SimdLevel level) noexcept;

}  // namespace clipper
