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
#include "clip/rule.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

/// The loop over vectors and a rule (bounds_rule.hpp) are compiled once for every level. The
/// last elements go through the same loop, in a padded vector. The code that clips an element therefore
/// exists once and cannot differ between instruction sets or between the first elements and the last. Vectors
/// is NoVectors or ParameterVectors.
namespace clipper {

// The loop over the vectors of elements in memory: a template over the rule, its parameters and the
// tally. All of it must be inlined into a function compiled for the instruction set.

/// `count` elements to read, where to write them (in == out or no overlap), and their vectors of parameters.
template <class T, class Vectors>
struct InOut {
  const T* in;
  T* out;
  std::size_t count;
  [[no_unique_address]] Vectors vectors;
};

/// How many vectors an iteration clips: several if the loop counts or clips scalars. Other loops wait for
/// memory or for a calculation. Padding the parameters of several vectors would take longer than short
/// tensors.
template <class R, class AnyTally, class Vectors>
inline constexpr std::size_t kUnrolled = (AnyTally::kCounts ||
                                          sizeof(typename R::Elements) == sizeof(typename R::Number)) &&
                                                 !R::kCalculates && std::is_same_v<Vectors, NoVectors>
                                             ? 4
                                             : 1;

template <class T, class Rules, class AnyTally>
[[gnu::always_inline]] inline void clip_block(const Rules& rules,
                                              const InOut<T, typename Rules::Vectors>& block,
                                              AnyTally& tally) noexcept {
  using R = typename Rules::Of;
  using V = typename R::Elements;
  constexpr std::size_t kLanes = sizeof(V) / sizeof(T);
  constexpr std::size_t kGroup = kLanes * kUnrolled<R, AnyTally, typename Rules::Vectors>;
  constexpr bool kSums = AnyTally::kDefersNan && std::is_floating_point_v<T>;
  for (std::size_t begin = 0; begin != block.count; begin += kGroup) {
    V sum;
    for (std::size_t i = begin; i != begin + kGroup; i += kLanes) {
      V x;
      std::memcpy(&x, block.in + i, sizeof(V));
      const V y = rules.at(i, block.vectors)(x, tally);
      if constexpr (R::kCalculates) tally.compare(x, y);
      if constexpr (kSums) sum = i == begin ? y : sum + y;
      std::memcpy(block.out + i, &y, sizeof(V));
    }
    if constexpr (kSums) tally.may_be_nan(sum);
  }
}

/// The NaNs among the elements of whole iterations of clip_block().
template <class R, std::size_t kGroup, class T>
[[gnu::always_inline]] inline std::uint64_t count_nan(const T* elements, std::size_t count) noexcept {
  using V = typename R::Elements;
  Vector<typename R::Lane, sizeof(V)> lanes{};
  for (std::size_t begin = 0; begin != count; begin += kGroup)
    for (std::size_t i = begin; i != begin + kGroup; i += sizeof(V) / sizeof(T)) {
      V x;
      std::memcpy(&x, elements + i, sizeof(V));
      lanes = one_added<R::kBytes>(R::is_nan(x), lanes);
    }
  return sum_of_lanes<sizeof(V), typename R::Lane>(lanes);
}

/// Clips whole iterations of clip_block(), in blocks that the tally can count.
template <class AnyTally, std::size_t kGroup, class T, class Rules>
[[gnu::always_inline]] inline ElementCounts clip_range(const Rules& rules,
                                                       InOut<T, typename Rules::Vectors> left) noexcept {
  using R = typename Rules::Of;
  constexpr std::size_t kLanes = sizeof(typename R::Elements) / sizeof(T);
  ElementCounts counts;
  while (left.count != 0) {
    const std::size_t vectors = std::min(left.count / kLanes, AnyTally::kMaxVectors);
    const std::size_t count = vectors * kLanes;
    AnyTally tally;
    clip_block(rules, InOut<T, typename Rules::Vectors>{left.in, left.out, count, left.vectors}, tally);
    if constexpr (AnyTally::kCounts) tally.add_to(counts, vectors);
    if constexpr (AnyTally::kDefersNan)
      if (tally.found_nan()) counts.nan += count_nan<R, kGroup>(left.out, count);
    left = {left.in + count, left.out + count, left.count - count, left.vectors.after(count * sizeof(T))};
  }
  return counts;
}

/// `padding` fills the last vectors. The tally does not count an integer; padding NaNs are subtracted.
template <class AnyTally, class T, class Rules>
[[gnu::always_inline]] inline ElementCounts clip_all(const Rules& rules,
                                                     const InOut<T, typename Rules::Vectors>& all,
                                                     T padding) noexcept {
  using R = typename Rules::Of;
  using Range = InOut<T, typename Rules::Vectors>;
  constexpr std::size_t kLanes = sizeof(typename R::Elements) / sizeof(T);
  constexpr std::size_t kGroup = kLanes * kUnrolled<R, AnyTally, typename Rules::Vectors>;
  const std::size_t rest = all.count % kGroup;
  const std::size_t whole = all.count - rest;
  std::array<T, kGroup> last;
  last.fill(padding);
  if (rest != 0) std::memcpy(last.data(), all.in + whole, rest * sizeof(T));
  typename Rules::Vectors::Memory memory;
  const auto last_vectors = all.vectors.after(whole * sizeof(T));

  // One loop over both ranges, so that the code inlined into it exists once.
  std::array<ElementCounts, 2> counts;
  const std::array<Range, 2> ranges{
      {{all.in, all.out, whole, all.vectors},
       {last.data(), last.data(), rest == 0 ? 0 : kGroup,
        rest == 0 ? all.vectors : last_vectors.padded(memory, rest * sizeof(T))}}};
  for (std::size_t i = 0; i < ranges.size(); ++i) counts[i] = clip_range<AnyTally, kGroup>(rules, ranges[i]);

  if constexpr (AnyTally::kCounts) {
    if constexpr (!R::kCalculates) counts[0].changed = counts[0].raised != 0 || counts[0].lowered != 0;
    if constexpr (!std::is_integral_v<T>) counts[1].nan -= rest == 0 ? 0 : kGroup - rest;
    counts[1].changed = rest != 0 && std::memcmp(last.data(), all.in + whole, rest * sizeof(T)) != 0;
  }
  if (rest != 0) std::memcpy(all.out + whole, last.data(), rest * sizeof(T));
  return counts[0] += counts[1];
}

template <Counting kCounting, Rule R>
using TallyIf = std::conditional_t<kCounting == Counting::on, Tally<R>, NoTally>;

/// What fills the last vector: NaN, or an integer within the bounds.
template <class T, class Vectors>
[[gnu::always_inline]] inline T padding(const Operation& operation) noexcept {
  if constexpr (!std::is_integral_v<T>)
    return from_bits<T>(~ElementBits{0});
  else if constexpr (std::is_same_v<Vectors, NoVectors>)
    return from_bits<T>(operation.hi);
  else
    return 0;  // the padding of the bounds
}

/// Clips elements by a rule; ignores scale and bias. With Counting::on it returns what it did;
/// with NoVectors the counts are wrong if lo > hi or if NaN becomes another NaN.
template <Rule R, class T, Counting kCounting, class Vectors>
[[gnu::always_inline]] inline ElementCounts clip_by(const Operation& operation, const Vectors& vectors,
                                                    const std::byte* in, std::byte* out,
                                                    std::size_t count) noexcept {
  return clip_all<TallyIf<kCounting, R>>(
      RulesOf<R, T, Vectors>(operation),
      InOut<T, Vectors>{reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out), count, vectors},
      padding<T, Vectors>(operation));
}

/// clip_by() for run_loop().
template <Rule R, class T, Counting kCounting, class Vectors>
struct ClipBy {
  [[gnu::always_inline]] static ElementCounts run(const Operation& operation, const Vectors& vectors,
                                                  const std::byte* in, std::byte* out,
                                                  std::size_t count) noexcept {
    return clip_by<R, T, kCounting>(operation, vectors, in, out, count);
  }
};

inline bool replaces_nan(const Operation& operation, const Operands& operands) noexcept {
  return operands.vary() ? operands[Slot::nan].data != nullptr : operation.nan.has_value();
}

/// Chooses the rule of an operation.
template <SimdLevel kLevel, class T, Counting kCounting, class Vectors>
class RuleChoice {
  static constexpr std::size_t kBytes = vector_bytes(kLevel);
  static constexpr bool kSame = std::is_same_v<Vectors, NoVectors>;
  static constexpr ExchangedBounds kExchanged =
      kSame ? ExchangedBounds::miscounted : ExchangedBounds::counted;

 public:
  [[nodiscard]] static ElementCounts clip(const Operation& operation, const Operands& operands,
                                          const std::byte* in, std::byte* out, std::size_t count) noexcept {
    const Vectors vectors(operands);
    if constexpr (!std::is_integral_v<T> && kCounting == Counting::off)
      if (replaces_nan(operation, operands))
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

/// clip() or clip_and_count() by kernels alone: as if nothing were scaled, or NaT, and without what
/// clip_edges() does.
ElementCounts clip_by_kernels(const Operation& operation, const Operands& operands, const std::byte* in,
                              std::byte* out, std::size_t count, SimdLevel level, Counting counting) noexcept;

/// Whether zero_tie or poisons can change a result.
[[nodiscard]] inline bool may_have_edges(const Operation& operation) noexcept {
  return operation.zero_tie != ZeroTie::element || operation.poisons;
}

/// clip() or clip_and_count() for an operation that may_have_edges(): kernels clip a block, then a loop mends
/// its results. Without counting, only `changed` is returned.
ElementCounts clip_edges(const Operation& operation, const Operands& operands, const std::byte* in,
                         std::byte* out, std::size_t count, SimdLevel level, Counting counting) noexcept;

}  // namespace clipper
