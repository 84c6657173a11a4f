#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

/// The loop over vectors of elements, what it requires of a rule, and what it gives the rule: the parameters
/// of a vector, and a tally. The loop and a rule (bounds_rule.hpp) are compiled once for every level. The
/// last elements go through the same loop, in a padded vector. The code that clips an element therefore
/// exists once and cannot differ between instruction sets or between the first elements and the last. Vectors
/// is NoVectors or ParameterVectors.
namespace clipper {

/// The parameters of all elements are those of the operation.
struct NoVectors {
  struct Memory {};

  [[gnu::always_inline]] explicit NoVectors(const Operands& /*operands*/ = kNumbers) noexcept {}
  [[nodiscard, gnu::always_inline]] NoVectors after(std::size_t /*size*/) const noexcept { return *this; }
  [[gnu::always_inline]] NoVectors padded(Memory& /*memory*/, std::size_t /*size*/) const noexcept {
    return *this;
  }
};

/// The parameters of consecutive elements; `size` is in bytes.
struct ParameterVectors {
  using Memory = std::array<std::array<std::byte, vector_bytes(SimdLevel::v4)>, 3>;

  const std::byte* lo;
  const std::byte* hi;
  const std::byte* nan;

  [[gnu::always_inline]] explicit ParameterVectors(const Operands& operands) noexcept
      : lo(operands[Slot::lo].data), hi(operands[Slot::hi].data), nan(operands[Slot::nan].data) {}

  [[nodiscard, gnu::always_inline]] ParameterVectors after(std::size_t size) const noexcept {
    ParameterVectors result = *this;
    result.lo += size;
    result.hi += size;
    if (nan != nullptr) result.nan += size;
    return result;
  }

  /// Those of the last elements, fewer than a vector's: in `memory`, followed by zeros, because they end with
  /// the last element. Not inlined, because it would be more than half of a kernel.
  [[nodiscard, gnu::noinline]] ParameterVectors padded(Memory& memory, std::size_t size) const noexcept {
    memory = {};
    ParameterVectors result = *this;
    const std::byte** const all[] = {&result.lo, &result.hi, &result.nan};
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (size != 0 && *all[i] != nullptr) std::memcpy(memory[i].data(), *all[i], size);
      *all[i] = memory[i].data();
    }
    return result;
  }
};

/// What a Rule takes: the parameters of one vector of elements.
template <class V>
struct Parameters {
  V lo{};
  V hi{};
  V nan{};  ///< for NanElements::replace
};

// Counts what a rule did to the elements of a block, in lanes as wide as the elements. For each vector a
// rule calls moved() or kept() with masks, whichever it can at no cost.

/// Counts nothing, at no cost.
struct NoTally {
  static constexpr bool kCounts = false;
  static constexpr bool kDefersNan = false;
  static constexpr std::size_t kMaxVectors = std::numeric_limits<std::size_t>::max();

  template <class... Any>
  [[gnu::always_inline]] void moved(const Any&... /*masks*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void kept(const Any&... /*masks*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void nan(const Any&... /*mask*/) noexcept {}
  template <class... Any>
  [[gnu::always_inline]] void compare(const Any&... /*vectors*/) noexcept {}
};

template <class R>
[[nodiscard]] constexpr bool defers_nan() noexcept {
  if constexpr (requires { R::kDefersNan; }) return R::kDefersNan;
  return false;
}

template <class R>
class Tally {
  using Lane = typename R::Lane;
  using Lanes = Vector<Lane, R::kBytes>;
  using Elements = typename R::Elements;
  using Bits = Vector<std::uint64_t, sizeof(Elements)>;

 public:
  static constexpr bool kCounts = true;

  /// Whether NaNs are counted only in blocks that have some, by reading the block's results again. To find
  /// out takes half as many instructions as to count them.
  static constexpr bool kDefersNan = defers_nan<R>();

  /// More vectors could overflow a lane, to which a rule may add twice per vector. With kDefersNan the block
  /// is still in the first-level cache when it is read again. A multiple of what an iteration clips.
  static constexpr std::size_t kMaxVectors =
      kDefersNan ? 16'384 / sizeof(Elements) : (sizeof(Lane) == 1 ? 252 : 65'532);

  /// Masks of the elements with y > g and with y < g.
  template <class Mask>
  [[gnu::always_inline]] void moved(const Mask& up, const Mask& down) noexcept {
    count(up, raised_);
    count(down, lowered_);
  }

  /// Masks of the elements for which y > g is false and for which y < g is false.
  template <class Mask>
  [[gnu::always_inline]] void kept(const Mask& not_up, const Mask& not_down) noexcept {
    count(not_up, raised_);
    count(not_down, lowered_);
  }

  /// A mask of the elements whose g is NaN.
  template <class Mask>
  [[gnu::always_inline]] void nan(const Mask& mask) noexcept {
    count(mask, nan_);
  }

  /// If kDefersNan: results that are floats, or sums of them; or the magnitudes of halves.
  [[gnu::always_inline]] void may_be_nan(const Elements& elements) noexcept {
    if constexpr (std::is_floating_point_v<typename R::Number>)
      suspect_ += elements;  // a sum of NaN and anything is NaN
    else
      suspect_ = elements > suspect_ ? elements : suspect_;
  }

  /// False only if no element was NaN. The sum of two infinities can be NaN, too.
  [[nodiscard, gnu::always_inline]] bool found_nan() const noexcept {
    using Counters = Vector<Lane, sizeof(Elements)>;
    return sum_of_lanes<sizeof(Elements), Lane>(one_added<R::kBytes>(R::is_nan(suspect_), Counters{})) != 0;
  }

  /// A vector of elements before and after the operation.
  [[gnu::always_inline]] void compare(const Elements& before, const Elements& after) noexcept {
    difference_ |= __builtin_bit_cast(Bits, before) ^ __builtin_bit_cast(Bits, after);
  }

  /// Adds the counts of `vectors` vectors to `counts`. Call it once.
  [[gnu::always_inline]] void add_to(ElementCounts& counts, std::size_t vectors) const noexcept {
    counts.raised += moves(raised_, vectors);
    counts.lowered += moves(lowered_, vectors);
    counts.nan += sum_of_lanes<R::kBytes, Lane>(nan_);
    for (std::size_t i = 0; i < sizeof(Bits) / sizeof(std::uint64_t); ++i)
      counts.changed = counts.changed || difference_[i] != 0;
  }

 private:
  template <class Mask>
  [[gnu::always_inline]] static void count(const Mask& mask, Lanes& lanes) noexcept {
    lanes = one_added<R::kBytes>(mask, lanes);
  }

  [[nodiscard, gnu::always_inline]] static std::uint64_t moves(const Lanes& lanes,
                                                               std::size_t vectors) noexcept {
    const std::uint64_t sum = sum_of_lanes<R::kBytes, Lane>(lanes);
    return R::kKept == 0 ? sum : R::kKept * vectors * (R::kBytes / sizeof(Lane)) - sum;
  }

  Lanes raised_{};
  Lanes lowered_{};
  Lanes nan_{};
  Elements suspect_{};
  Bits difference_{};
};

/// What the loop and Tally require of a rule: a function that takes a vector of elements, returns the
/// new elements and tells a tally which of them it moved.
///     Elements      the vector that the rule takes
///     Number        the type of a parameter in the vectors of that size that the rule's constructor takes
///     Lane          the unsigned integer of a mask's lanes
///     kBytes        the size of the instruction set's vectors, and of masks
///     kKept         how often the rule calls Tally::kept for a vector
///     kCalculates   whether elements that the bounds did not move may change
///     kReplacesNan  whether NaN becomes another element
/// Members that a rule may have:
///     kDefersNan    whether it tells Tally::may_be_nan() instead of Tally::nan(); with is_nan() of a vector
template <class R>
concept Rule = requires(const R& rule, const typename R::Elements& x, NoTally& tally) {
  requires std::unsigned_integral<typename R::Lane>;
  requires sizeof(typename R::Elements) <= std::size_t{R::kBytes};
  requires R::kKept <= 2;
  requires R::kCalculates || !R::kCalculates;
  requires R::kReplacesNan || !R::kReplacesNan;
  R(Parameters<typename R::Elements>{});
  { rule(x, tally) } -> std::same_as<typename R::Elements>;
};

// Where the loop finds the rule of a vector of elements: SameRule or RuleOfEach.

/// The rule of all elements, with the numbers of an operation.
template <Rule R, class T>
class SameRule {
 public:
  using Of = R;
  using Vectors = NoVectors;

  [[gnu::always_inline]] explicit SameRule(const Operation& operation) noexcept
      : rule_(parameters(operation)) {}

  [[nodiscard, gnu::always_inline]] const R& at(std::size_t /*position*/,
                                                const NoVectors& /*vectors*/) const noexcept {
    return rule_;
  }

 private:
  [[gnu::always_inline]] static typename R::Elements number(ElementBits bits) noexcept {
    const T x = from_bits<T>(bits);
    if constexpr (HalfType<T>)
      return broadcast<sizeof(typename R::Elements)>(static_cast<typename R::Number>(x.bits));
    else
      return broadcast<sizeof(typename R::Elements)>(x);
  }

  [[gnu::always_inline]] static Parameters<typename R::Elements> parameters(
      const Operation& operation) noexcept {
    return {number(operation.lo), number(operation.hi), number(operation.nan.value_or(0))};
  }

  R rule_;
};

/// A rule for each vector of elements, with their parameters.
template <Rule R, class T>
class RuleOfEach {
 public:
  using Of = R;
  using Vectors = ParameterVectors;

  [[gnu::always_inline]] explicit RuleOfEach(const Operation& /*operation*/) noexcept {}

  /// The rule for the vector whose first element has the parameters at `position`.
  [[nodiscard, gnu::always_inline]] R at(std::size_t position,
                                         const ParameterVectors& vectors) const noexcept {
    const auto load = [position](const std::byte* from, typename R::Elements& lanes)
        __attribute__((always_inline)) {
      std::memcpy(&lanes, from + position * sizeof(T), sizeof lanes);
    };
    Parameters<typename R::Elements> parameters;
    load(vectors.lo, parameters.lo);
    load(vectors.hi, parameters.hi);
    if constexpr (R::kReplacesNan) load(vectors.nan, parameters.nan);
    return R(parameters);
  }
};

template <Rule R, class T, class Vectors>
using RulesOf = std::conditional_t<std::is_same_v<Vectors, NoVectors>, SameRule<R, T>, RuleOfEach<R, T>>;

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
