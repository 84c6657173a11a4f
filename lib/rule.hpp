#pragma once

#include <cstdint>
#include <type_traits>

#include "dtype.hpp"

/// What a clipped element is: decided here and nowhere else.
namespace clipper {

/// y = x < lo ? lo : x; y = y > hi ? hi : y; then NaN becomes `nan`, if it is replaced. NaN is neither below
/// nor above anything, and lo > hi gives hi. T: integers, float, double.
template <class T>
struct Rule {
  T lo;
  T hi;
  T nan;
  bool replace_nan;

  [[gnu::always_inline]] T operator()(T x) const noexcept {
    T y = x < lo ? lo : x;
    y = y > hi ? hi : y;
    if constexpr (std::is_floating_point_v<T>) y = replace_nan && y != y ? nan : y;
    return y;
  }
};

/// The same for float16 and bfloat16, without any arithmetic on the values. The bit patterns of the elements
/// below a bound are one interval, or two if positive and negative ones are below it; NaN is in none.
template <HalfType T>
class HalfRule {
 public:
  HalfRule(T lo, T hi, T nan, bool replace_nan) noexcept
      : lo_(lo), hi_(hi), nan_(nan), replace_nan_(replace_nan) {
    constexpr std::uint16_t kNegativeInfinity = kSign | T::kInfinity;
    if (value(lo) > 0) {
      negative_below_ = {kSign, kNegativeInfinity};
      positive_below_ = {0, static_cast<std::uint16_t>(lo.bits - 1)};
    } else {
      negative_below_ = {static_cast<std::uint16_t>((lo.bits | kSign) + 1), kNegativeInfinity};
    }
    if (value(lo) > value(hi)) {
      negative_above_ = {kSign, kNegativeInfinity};
      positive_above_ = {0, T::kInfinity};
    } else if (value(hi) < 0) {
      negative_above_ = {kSign, static_cast<std::uint16_t>(hi.bits - 1)};
      positive_above_ = {0, T::kInfinity};
    } else {
      positive_above_ = {static_cast<std::uint16_t>((hi.bits & ~kSign) + 1), T::kInfinity};
    }
  }

  [[gnu::always_inline]] T operator()(T x) const noexcept {
    std::uint16_t y =
        negative_below_.contains(x.bits) || positive_below_.contains(x.bits) ? lo_.bits : x.bits;
    y = negative_above_.contains(x.bits) || positive_above_.contains(x.bits) ? hi_.bits : y;
    y = replace_nan_ && (y & 0x7fff) > T::kInfinity ? nan_.bits : y;
    return {y};
  }

 private:
  static constexpr std::uint16_t kSign = 0x8000;

  /// Bit patterns from first to last, none if first > last. Moved so that `last` is the largest int16, the
  /// test is one addition that wraps and one comparison.
  class Interval {
   public:
    Interval() = default;
    Interval(std::uint16_t first, std::uint16_t last) noexcept
        : shift_(static_cast<std::uint16_t>(kLargest - last)),
          before_first_(static_cast<std::int16_t>(kLargest - (last - first) - 1)) {}

    [[nodiscard, gnu::always_inline]] bool contains(std::uint16_t bits) const noexcept {
      return static_cast<std::int16_t>(static_cast<std::uint16_t>(bits + shift_)) > before_first_;
    }

   private:
    static constexpr int kLargest = 0x7fff;
    std::uint16_t shift_ = 0;
    std::int16_t before_first_ = kLargest;
  };

  /// The element's place among all; both zeros at 0.
  static int value(T x) noexcept { return (x.bits & kSign) != 0 ? -(x.bits & ~kSign) : x.bits; }

  T lo_;
  T hi_;
  T nan_;
  bool replace_nan_;
  Interval negative_below_;
  Interval positive_below_;
  Interval negative_above_;
  Interval positive_above_;
};

}  // namespace clipper
