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
  [[nodiscard, gnu::always_inline]] NoVectors after(std::size_t /*elements*/,
                                                    std::size_t /*factors*/) const noexcept {
    return *this;
  }
  [[gnu::always_inline]] NoVectors padded(Memory& /*memory*/, std::size_t /*elements*/,
                                          std::size_t /*factors*/) const noexcept {
    return *this;
  }
};

/// The parameters of consecutive elements. `elements` and `factors` are bytes.
struct ParameterVectors {
  static constexpr std::size_t kMaxSize = 2 * vector_bytes(SimdLevel::v4);  // factors of halves: two vectors
  using Memory = std::array<std::array<std::byte, kMaxSize>, 5>;

  const std::byte* lo;
  const std::byte* hi;
  const std::byte* nan;
  const std::byte* scale;
  const std::byte* bias;

  [[gnu::always_inline]] explicit ParameterVectors(const Operands& operands) noexcept
      : lo(operands[Slot::lo].data),
        hi(operands[Slot::hi].data),
        nan(operands[Slot::nan].data),
        scale(operands[Slot::scale].data),
        bias(operands[Slot::bias].data) {}

  [[nodiscard, gnu::always_inline]] ParameterVectors after(std::size_t elements,
                                                           std::size_t factors) const noexcept {
    ParameterVectors result = *this;
    result.lo += elements;
    result.hi += elements;
    if (nan != nullptr) result.nan += elements;
    if (scale != nullptr) result.scale += factors;
    if (bias != nullptr) result.bias += factors;
    return result;
  }

  /// Those of the last elements, fewer than a vector's: in `memory`, followed by zeros, because they end with
  /// the last element. Not inlined, because it would be more than half of a kernel.
  [[nodiscard, gnu::noinline]] ParameterVectors padded(Memory& memory, std::size_t elements,
                                                       std::size_t factors) const noexcept {
    memory = {};
    ParameterVectors result = *this;
    const std::byte** const all[] = {&result.lo, &result.hi, &result.nan, &result.scale, &result.bias};
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::size_t size = i < 3 ? elements : factors;
      if (size != 0 && *all[i] != nullptr) std::memcpy(memory[i].data(), *all[i], size);
      *all[i] = memory[i].data();
    }
    return result;
  }
};

/// What a Rule takes: the parameters of one vector of elements. V: a Vector, or a FloatPair for halves.
template <class V>
struct Parameters {
  V lo{};
  V hi{};
  V nan{};    ///< for NanElements::replace
  V scale{};  ///< for ScaledRule
  V bias{};
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
///     Number        the type of a parameter in the vectors that the rule's constructor takes
///     Parameter     these vectors: a Vector, or a FloatPair for halves
///     Lane          the unsigned integer of a mask's lanes
///     kBytes        the size of the instruction set's vectors, and of masks
///     kFactorSize   the size of a scale or bias; 0 for a rule without them
///     kKept         how often the rule calls Tally::kept for a vector
///     kCalculates   whether elements that the bounds did not move may change
///     kReplacesNan  whether NaN becomes another element
/// Members that a rule may have:
///     kDefersNan    whether it tells Tally::may_be_nan() instead of Tally::nan(); with is_nan() of a vector
template <class R>
concept Rule = requires(const R& rule, const typename R::Elements& x, NoTally& tally) {
  requires std::unsigned_integral<typename R::Lane>;
  requires sizeof(typename R::Elements) <= std::size_t{R::kBytes};
  requires R::kFactorSize <= sizeof(double);
  requires R::kKept <= 2;
  requires R::kCalculates || !R::kCalculates;
  requires R::kReplacesNan || !R::kReplacesNan;
  R(Parameters<typename R::Parameter>{});
  { rule(x, tally) } -> std::same_as<typename R::Elements>;
};

// Where kernel.hpp finds the rule of a vector of elements: SameRule or RuleOfEach.

// The same number in all lanes of a Rule's Parameter.

template <class T, class V>
[[gnu::always_inline]] inline void fill(T number, V& lanes) noexcept {
  lanes = broadcast<sizeof(V)>(number);
}

template <std::size_t kBytes>
[[gnu::always_inline]] inline void fill(float number, FloatPair<kBytes>& lanes) noexcept {
  lanes.even = broadcast<kBytes>(number);
  lanes.odd = lanes.even;
}

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
  using Number = typename R::Number;

  [[gnu::always_inline]] static Number number(ElementBits bits) noexcept {
    const T x = from_bits<T>(bits);
    if constexpr (std::is_same_v<Number, T>)
      return x;
    else if constexpr (std::is_same_v<Number, float>)
      return widen(x);
    else
      return static_cast<Number>(x.bits);
  }

  [[gnu::always_inline]] static Parameters<typename R::Parameter> parameters(
      const Operation& operation) noexcept {
    Parameters<typename R::Parameter> result;
    fill(number(operation.lo), result.lo);
    fill(number(operation.hi), result.hi);
    fill(number(operation.nan.value_or(0)), result.nan);
    if constexpr (R::kFactorSize != 0) {
      fill(static_cast<Number>(operation.scale), result.scale);
      fill(static_cast<Number>(operation.bias), result.bias);
    }
    return result;
  }

  R rule_;
};

// Parameters in memory, of as many elements as a Rule's Elements have.

/// lo, hi or nan: elements, which some rules clip as floats.
template <Rule R>
[[gnu::always_inline]] inline void load_elements(const std::byte* from,
                                                 typename R::Parameter& lanes) noexcept {
  typename R::Elements elements;
  std::memcpy(&elements, from, sizeof elements);
  if constexpr (std::is_same_v<typename R::Elements, typename R::Parameter>)
    lanes = elements;
  else
    R::widen_elements(elements, lanes);
}

/// scale or bias.
template <class V>
[[gnu::always_inline]] inline void load_factors(const std::byte* from, V& lanes) noexcept {
  std::memcpy(&lanes, from, sizeof lanes);
}

template <std::size_t kBytes, std::size_t... kIndex>
[[gnu::always_inline]] inline void separate(const Vector<float, kBytes>& low,
                                            const Vector<float, kBytes>& high, FloatPair<kBytes>& pair,
                                            std::index_sequence<kIndex...> /*of the lanes*/) noexcept {
  // widen() makes `even` of the lower halves of 32-bit lanes, which on big-endian machines are the odd
  // elements.
  constexpr std::size_t kEven = kNativeOrder == ByteOrder::little ? 0 : 1;
  pair.even = __builtin_shufflevector(low, high, (2 * kIndex + kEven)...);
  pair.odd = __builtin_shufflevector(low, high, (2 * kIndex + 1 - kEven)...);
}

template <std::size_t kBytes>
[[gnu::always_inline]] inline void load_factors(const std::byte* from, FloatPair<kBytes>& lanes) noexcept {
  Vector<float, kBytes> low;
  Vector<float, kBytes> high;
  std::memcpy(&low, from, kBytes);
  std::memcpy(&high, from + kBytes, kBytes);
  separate<kBytes>(low, high, lanes, std::make_index_sequence<kBytes / sizeof(float)>{});
}

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
    Parameters<typename R::Parameter> parameters;
    load_elements<R>(vectors.lo + position * sizeof(T), parameters.lo);
    load_elements<R>(vectors.hi + position * sizeof(T), parameters.hi);
    if constexpr (R::kReplacesNan) load_elements<R>(vectors.nan + position * sizeof(T), parameters.nan);
    if constexpr (R::kFactorSize != 0) {
      load_factors(vectors.scale + position * R::kFactorSize, parameters.scale);
      load_factors(vectors.bias + position * R::kFactorSize, parameters.bias);
    }
    return R(parameters);
  }
};

template <Rule R, class T, class Vectors>
using RulesOf = std::conditional_t<std::is_same_v<Vectors, NoVectors>, SameRule<R, T>, RuleOfEach<R, T>>;

}  // namespace clipper
