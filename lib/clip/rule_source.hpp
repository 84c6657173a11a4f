#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "clip/clip.hpp"
#include "clip/clip_vectors.hpp"
#include "clip/parameters.hpp"
#include "clip/rule.hpp"
#include "element/dtype.hpp"
#include "element/half.hpp"
#include "simd/half_vector.hpp"
#include "simd/vector.hpp"

/// Where clip_loop.hpp finds the rule of a vector of elements: SameRule or RuleOfEach.
namespace clipper {

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
