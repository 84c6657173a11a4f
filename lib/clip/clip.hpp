#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "element/dtype.hpp"
#include "simd/levels.hpp"

/// The kernels: what is done to each of many elements in memory.
namespace clipper {

/// How x * scale + bias is calculated: two rounded operations, product then sum, never fused.
enum class Arithmetic : std::uint8_t {
  none,     ///< no scale, no bias: an element inside the bounds keeps its exact bits
  float32,  ///< float16, bfloat16 and float32 tensors; the clip happens in float32, then one rounding
  float64,  ///< float64 and integer tensors; integers are clipped, then truncated toward zero
  integer,  ///< int64 and uint64 tensors with integer scale and bias: exact, whatever the product
};

/// What happens to every element:
///     g = x * scale + bias;    (unless Arithmetic::none)
///     y = g < lo ? lo : g;
///     y = y > hi ? hi : y;     (so lo > hi gives hi, and NaN passes)
///     y = y is NaN ? nan : y;  (only if nan is given)
struct Operation {
  DType dtype = DType::float32;
  ByteOrder order = kNativeOrder;  ///< of the elements in memory, not of the fields below
  Arithmetic arithmetic = Arithmetic::none;

  ElementBits lo = 0;              ///< the bounds, elements of `dtype`; a side without bound has -inf or inf,
  ElementBits hi = 0;              ///< or an integer type's lowest or highest value
  std::optional<ElementBits> nan;  ///< what NaN elements become

  double scale = 1;  ///< Arithmetic::float64; also ::float32, where the value is a float's
  double bias = 0;

  /// Arithmetic::integer: sign and magnitude, which hold all of int64 and uint64.
  struct Integer {
    bool negative = false;
    std::uint64_t magnitude = 0;
  };
  Integer integer_scale{false, 1};
  Integer integer_bias{};
};

/// What an operation did, with g and y as above, y before NaN is replaced. An integer's g is saturated to its
/// type.
struct ElementCounts {
  std::uint64_t raised = 0;   ///< elements with y > g
  std::uint64_t lowered = 0;  ///< elements with y < g
  std::uint64_t nan = 0;      ///< elements whose g is NaN
  bool changed = false;       ///< whether the bits of any element are others than before

  ElementCounts& operator+=(const ElementCounts& other) noexcept {
    raised += other.raised;
    lowered += other.lowered;
    nan += other.nan;
    changed |= other.changed;
    return *this;
  }
  friend bool operator==(const ElementCounts&, const ElementCounts&) = default;
};

/// Whether it is counted what an operation does.
enum class Counting : std::uint8_t { off, on };

/// Applies the operation to `count` elements. `in` and `out` are aligned to the element's size and are the
/// same place or do not overlap. Every level gives the same bytes. The level must be one of simd_levels().
void clip(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
          SimdLevel level) noexcept;

/// Applies the operation as clip() does, and says what it did.
[[nodiscard]] ElementCounts clip_and_count(const Operation& operation, const std::byte* in, std::byte* out,
                                           std::size_t count, SimdLevel level) noexcept;

/// The position of the first NaN among `count` elements; nothing for integer dtypes.
[[nodiscard]] std::optional<std::size_t> find_nan(DType dtype, ByteOrder order, const std::byte* elements,
                                                  std::size_t count) noexcept;

}  // namespace clipper
