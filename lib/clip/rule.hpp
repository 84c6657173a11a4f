#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "element/small_floats.hpp"
#include "simd/conversions.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

/// What the loop in kernel.hpp requires of a rule, and gives it: the parameters of a vector of elements, and
/// a tally.
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

/// What kernel.hpp and Tally require of a rule: a function that takes a vector of elements, returns the
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

// Where kernel.hpp finds the rule of a vector of elements: SameRule or RuleOfEach.

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

}  // namespace clipper
