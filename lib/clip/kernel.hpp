#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/bounds_rule.hpp"
#include "clip/clip.hpp"
#include "clip/clip_loop.hpp"
#include "clip/scaled_rule.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"

/// The loop over vectors (clip_loop.hpp) and a rule (bounds_rule.hpp, scaled_rule.hpp) are compiled once for
/// every level. The last elements go through the same loop, in a padded vector. The code that clips an
/// element therefore exists once and cannot differ between instruction sets or between the first elements and
/// the last. Vectors is NoVectors or ParameterVectors.
namespace clipper {

/// clip_by() for run_loop().
template <Rule R, class T, Counting kCounting, class Vectors>
struct ClipBy {
  [[gnu::always_inline]] static ElementCounts run(const Operation& operation, const Vectors& vectors,
                                                  const std::byte* in, std::byte* out,
                                                  std::size_t count) noexcept {
    return clip_by<R, T, kCounting>(operation, vectors, in, out, count);
  }
};

/// Chooses the rule of an operation.
template <SimdLevel kLevel, class T, Counting kCounting, class Vectors>
class RuleChoice {
  static constexpr std::size_t kBytes = vector_bytes(kLevel);
  static constexpr bool kSame = std::is_same_v<Vectors, NoVectors>;
  static constexpr ExchangedBounds kExchanged =
      kSame ? ExchangedBounds::miscounted : ExchangedBounds::counted;

 public:
  [[nodiscard]] static ElementCounts clip(const Operation& operation, const Vectors& vectors,
                                          const std::byte* in, std::byte* out, std::size_t count) noexcept {
    if constexpr (!std::is_integral_v<T> && kCounting == Counting::off)
      if (replaces_nan(operation, vectors))
        return clip<NanElements::replace>(operation, vectors, in, out, count);
    return clip<NanElements::keep>(operation, vectors, in, out, count);
  }

 private:
  template <NanElements kNan>
  static ElementCounts clip(const Operation& operation, const Vectors& vectors, const std::byte* in,
                            std::byte* out, std::size_t count) noexcept {
    const auto by = [&]<Rule R>() {
      return run_loop<ClipBy<R, T, kCounting, Vectors>, kLevel>(operation, vectors, in, out, count);
    };
    if constexpr (!std::is_integral_v<T>)
      if (operation.arithmetic != Arithmetic::none)
        return by.template operator()<ScaledRule<kBytes, T, kNan, kExchanged>>();
    if constexpr (HalfType<T> && kSame && kNan == NanElements::keep)
      if (const std::optional<LowerBound> lower = straddling<T>(operation)) {
        if constexpr (kLevel == SimdLevel::v4)
          return by.template operator()<StraddlingSelectRule<kBytes, T>>();
        if (*lower == LowerBound::zero)
          return by.template operator()<StraddlingRule<kBytes, T, LowerBound::zero>>();
        return by.template operator()<StraddlingRule<kBytes, T, LowerBound::negative>>();
      }
    if constexpr (selects<T, kBytes>())
      return by.template operator()<SelectRule<kBytes, T>>();
    else
      return by.template operator()<BoundsRule<kBytes, T, kNan, kExchanged>>();
  }
};

/// Bytes of a block, which must fit the first-level cache.
inline constexpr std::size_t kBlockSize = 16384;

/// Whether what clips a block reads its input again after writing a part of the result.
enum class Input : std::uint8_t { read_once, read_again };

/// Calls clip_block(done, from, to, length) for each block of elements, after `done` elements: it writes the
/// result to `to`, which is `from` only with Input::read_once, and returns its counts.
template <Input kInput, class F>
ElementCounts for_each_block(const Operation& operation, const std::byte* in, std::byte* out,
                             std::size_t count, F clip_block) noexcept {
  const std::size_t size = traits(operation.dtype).size;
  alignas(64) std::array<std::byte, kBlockSize> block;
  ElementCounts counts;
  for (std::size_t done = 0; done < count;) {
    const std::size_t length = std::min(count - done, kBlockSize / size);
    const std::byte* const from = in + done * size;
    std::byte* const destination = out + done * size;
    const bool direct = in != out || (kInput == Input::read_once && counts.changed);
    std::byte* const to = direct ? destination : block.data();
    ElementCounts of_block = clip_block(done, from, to, length);
    of_block.changed = counts.changed || std::memcmp(to, from, length * size) != 0;
    counts += of_block;
    if (!direct) std::memcpy(destination, to, length * size);
    done += length;
  }
  return counts;
}

/// Whether a kernel alone does not do all of the operation: see scale_integers().
inline bool scales_integers(const Operation& operation) noexcept {
  return !is_floating(operation.dtype) && operation.arithmetic != Arithmetic::none;
}

/// All of an operation that does not scale integers; the counts are those of clip_by().
template <Counting kCounting, class Vectors>
ElementCounts clip_with(const Operation& operation, const Vectors& vectors, const std::byte* in,
                        std::byte* out, std::size_t count, SimdLevel level) noexcept {
  return with_type(operation.dtype, [&]<class T>() {
    return with_level(level, [&]<SimdLevel kLevel>() {
      return RuleChoice<kLevel, T, kCounting, Vectors>::clip(operation, vectors, in, out, count);
    });
  });
}

/// clip_with() that counts and replaces NaN. No kernel does both: NaNs pass a kernel that counts them, and
/// blocks that have any are clipped once more.
template <class Vectors>
ElementCounts clip_and_replace_nan(const Operation& operation, const Vectors& vectors, const std::byte* in,
                                   std::byte* out, std::size_t count, SimdLevel level) noexcept {
  if (!replaces_nan(operation, vectors))
    return clip_with<Counting::on>(operation, vectors, in, out, count, level);
  Operation replacing = operation;
  replacing.arithmetic = Arithmetic::none;
  return for_each_block<Input::read_once>(
      operation, in, out, count,
      [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
        const Vectors of_block =
            after(done, vectors, traits(operation.dtype).size, factor_size(operation.arithmetic));
        const ElementCounts counts = clip_with<Counting::on>(operation, of_block, from, to, length, level);
        if (counts.nan != 0) clip_with<Counting::off>(replacing, of_block, to, to, length, level);
        return counts;
      });
}

// Operations with Operation::zero_tie or Operation::poisons: the kernels clip a block as if it had neither,
// then a loop mends its results. Other operations do not come here.

/// Whether zero_tie or poisons can change a result.
[[nodiscard]] inline bool may_have_edges(const Operation& operation) noexcept {
  return operation.zero_tie != ZeroTie::element || operation.poisons;
}

/// clip() or clip_and_count(); `vectors` is null if the numbers of the operation hold for all elements.
/// Without counting, only `changed` is returned.
ElementCounts clip_edges(const Operation& operation, const ParameterVectors* vectors, const std::byte* in,
                         std::byte* out, std::size_t count, SimdLevel level, Counting counting) noexcept;

}  // namespace clipper
