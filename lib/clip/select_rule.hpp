#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "clip/bounds_rule.hpp"
#include "clip/clip.hpp"
#include "clip/parameters.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

namespace clipper {

/// Whether SelectRule clips faster than BoundsRule: if the instruction set lacks the minimum of T.
template <class T, std::size_t kBytes>
[[nodiscard]] constexpr bool selects() noexcept {
  if (!std::is_integral_v<T>) return false;
  if (sizeof(T) == sizeof(std::uint64_t)) return kBytes < vector_bytes(SimdLevel::v4);
  return kIsX86 && sizeof(T) == sizeof(std::uint32_t) && kBytes == vector_bytes(SimdLevel::baseline);
}

/// BoundsRule for integers, without minimum and maximum: the comparisons with the bounds select the result
/// and are counted.
template <std::size_t kVectorBytes, class T>
class SelectRule {
  /// SSE2 cannot compare 64-bit integers. A vector of one element is a scalar, and there are scalar moves
  /// under a condition.
  static constexpr bool kScalar =
      kIsX86 && sizeof(T) == sizeof(std::uint64_t) && kVectorBytes == vector_bytes(SimdLevel::baseline);

 public:
  static constexpr std::size_t kBytes = kScalar ? sizeof(T) : kVectorBytes;
  static constexpr std::size_t kFactorSize = 0;
  static constexpr std::size_t kKept = 0;
  static constexpr bool kCalculates = false;
  static constexpr bool kReplacesNan = false;
  using Number = T;
  using Elements = Vector<T, kBytes>;
  using Parameter = Elements;
  using Lane = UnsignedOfSize<sizeof(T)>;

  /// With lo > hi both bounds become hi.
  [[gnu::always_inline]] explicit SelectRule(const Parameters<Parameter>& parameters) noexcept
      : lo_(parameters.hi < parameters.lo ? parameters.hi : parameters.lo), hi_(parameters.hi) {}

  template <class AnyTally>
  [[gnu::always_inline]] Elements operator()(const Elements& x, AnyTally& tally) const noexcept {
    const auto below = ordered<AnyTally>(x) < ordered<AnyTally>(lo_);
    const auto above = ordered<AnyTally>(x) > ordered<AnyTally>(hi_);
    tally.moved(below, above);
    const Elements raised = below ? lo_ : x;
    return above ? hi_ : raised;
  }

 private:
  /// Elements in the order of T. The carry flag counts unsigned scalars in one instruction.
  template <class AnyTally>
  [[gnu::always_inline]] static auto ordered(const Elements& elements) noexcept {
    if constexpr (kScalar && AnyTally::kCounts)
      return __builtin_bit_cast(Vector<Lane, kBytes>, elements) +
             static_cast<Lane>(std::numeric_limits<T>::lowest());
    else
      return elements;
  }

  Elements lo_;
  Elements hi_;
};

}  // namespace clipper
