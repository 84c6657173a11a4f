#pragma once

#include <cstddef>
#include <optional>

#include "clip/clip.hpp"
#include "clip/operation.hpp"
#include "simd/levels.hpp"

/// What clip.cpp leaves to others: elements of another dtype, that are rounded, replaced or scaled.
namespace clipper {

/// Converts `count` elements, which are aligned to their size. `in` and `out` do not overlap, or `out` begins
/// where `in` begins or, if elements become larger, both end at the same byte. If `out` is null, only the
/// result is returned. Every level gives the same bytes.
[[nodiscard]] Converted convert(const Operation& operation, const Operands& operands, const std::byte* in,
                                std::byte* out, std::size_t count, Counting counting, SimdLevel level,
                                const Losses* losses = nullptr) noexcept;

/// Whether convert() of numbers clips the elements as what they are, without a working dtype: integers that
/// are neither scaled nor replaced.
[[nodiscard]] bool is_native(const Operation& operation) noexcept;

/// convert() for an operation that is_native(); otherwise writes nothing and returns nothing.
[[nodiscard]] std::optional<Converted> convert_native(const Operation& operation, const std::byte* in,
                                                      std::byte* out, std::size_t count, Counting counting,
                                                      SimdLevel level) noexcept;

/// convert() for Arithmetic::integer, whose results may need 129 bits. `rests`, unless null, is for what they
/// exceed the doubles by that they become; `to` is float64 then.
[[nodiscard]] Converted convert_integers(const Operation& operation, const Operands& operands,
                                         const std::byte* in, std::byte* out, std::size_t count,
                                         double* rests = nullptr) noexcept;

/// Whether loops are used that do several steps at once, whose bytes are the same.
enum class Composing : std::uint8_t { off, on };

/// convert() for an operation with a normalization. Counts only if counting is on, also losses.
[[nodiscard]] Converted normalize(const Operation& operation, const Operands& operands, const std::byte* in,
                                  std::byte* out, std::size_t count, Counting counting, SimdLevel level,
                                  const Losses* losses = nullptr,
                                  Composing composing = Composing::on) noexcept;

/// Whether floats that keep their dtype are scaled.
[[nodiscard]] inline bool scales_floats(const Operation& operation) noexcept {
  return is_floating(operation.dtype) && operation.arithmetic != Arithmetic::none;
}

/// clip() or clip_and_count() for an operation that scales_floats().
ElementCounts scale_floats(const Operation& operation, const Operands& operands, const std::byte* in,
                           std::byte* out, std::size_t count, Counting counting, SimdLevel level,
                           const Losses* losses) noexcept;

}  // namespace clipper
