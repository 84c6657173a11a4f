#pragma once

#include <cstddef>
#include <optional>

#include "clip/clip.hpp"
#include "clip/operation.hpp"
#include "simd/levels.hpp"

/// Clips elements and writes them as elements of another dtype, or rounds or replaces them.
namespace clipper {

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
};

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

/// clip() or clip_and_count() for an operation that scales_floats(). Of integers, whose results are not
/// truncated, `out` is null, and only what is lost is counted right.
[[nodiscard]] ElementCounts scale_in_floats(const Operation& operation, const Operands& operands,
                                            const std::byte* in, std::byte* out, std::size_t count,
                                            Counting counting, SimdLevel level,
                                            const Losses* losses = nullptr) noexcept;

/// normalize() or convert() if the operation has a cast; otherwise clip() or clip_and_count(), of which only
/// the counts are known. `losses` are counted unless null.
[[nodiscard]] Converted apply(const Operation& operation, const Operands& operands, const std::byte* in,
                              std::byte* out, std::size_t count, Counting counting, SimdLevel level,
                              const Losses* losses = nullptr) noexcept;

}  // namespace clipper
