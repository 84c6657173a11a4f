#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "clip/clip.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"

/// x * scale + bias of integers, and counts of what becomes of integers.
namespace clipper {

/// clip() or clip_and_count() of integer elements with an arithmetic: x * scale + bias, clipped to the bounds
/// and truncated toward zero. `losses` are counted unless null.
ElementCounts scale_integers(const Operation& operation, const Operands& operands, const std::byte* in,
                             std::byte* out, std::size_t count, SimdLevel level, Counting counting,
                             const Losses* losses) noexcept;

/// What scale_integers() does to integers of 16 bits, in float32, which takes half as long or less: only if
/// scale and bias have so few bits that no operation rounds. Otherwise it returns false and writes nothing.
/// Needs x86-64-v3.
[[nodiscard]] bool scale_16_bits(const Operation& operation, const std::byte* in, std::byte* out,
                                 std::size_t count) noexcept;

/// The least double above all values of T, which may be the double nearest to the highest ones.
template <class T>
inline constexpr double kBeyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;

/// Whether doubles lack some bounds of type T.
template <class G, class T>
inline constexpr bool kLacks = std::is_same_v<G, double>&& std::is_integral_v<T> && sizeof(T) == sizeof(G);

/// Whether g < bound. A 64-bit bound may have no double; a g equal to the double nearest to it is an integer.
template <class G, class T>
[[gnu::always_inline]] inline bool is_below(G g, T bound) noexcept {
  const auto near = static_cast<G>(bound);
  if constexpr (kLacks<G, T>) return g < near || (g == near && g < kBeyond<T> && static_cast<T>(g) < bound);
  return g < near;
}

/// Whether g > bound.
template <class G, class T>
[[gnu::always_inline]] inline bool is_above(G g, T bound) noexcept {
  const auto near = static_cast<G>(bound);
  if constexpr (kLacks<G, T>)
    return g > near || (g == near && (g >= kBeyond<T> || static_cast<T>(g) > bound));
  return g > near;
}

/// Counts integers by what is calculated of them with numbers, g. That never falls, or with a negative scale
/// never rises, as they rise, rounded or not. So the integers of one count are consecutive, and a loop that
/// does not calculate counts them.
class InputRanges {
 public:
  /// What is counted of g. Without more than the first two, nothing becomes 0 or infinite.
  template <class G, class Bound>
  struct Limits {
    Bound least;        ///< what is below is raised
    Bound hi;           ///< what is above is lowered
    G zero_lowest = 1;  ///< what is not 0, but from here to zero_highest, becomes 0
    G zero_highest = 0;
    G lowest = 0;  ///< what is from here to `highest`, and beyond the next two, becomes infinite
    G highest = 0;
    G finite_lowest = 0;
    G finite_highest = 0;
  };

  /// The scale and bias with which is calculated, or doubles near them.
  InputRanges(DType dtype, double scale, double bias) noexcept : dtype_(dtype), scale_(scale), bias_(bias) {}

  /// `calculate` gives g of a T.
  template <class T, class G, class Bound, class Calculate>
  [[gnu::cold, gnu::noinline]] void find(const Limits<G, Bound>& limits,
                                         const Calculate& calculate) noexcept {
    const auto add = [&](auto counter, std::uint64_t times, auto low, auto high, const auto& side_of) {
      const auto side = [&](Int128 x) { return side_of(calculate(static_cast<T>(x))); };
      using Integers = std::numeric_limits<T>;
      add_range({counter, times, 0, 0}, {Integers::lowest(), Integers::max()},
                {static_cast<double>(low), static_cast<double>(high)}, Side(side));
    };
    add(&ElementCounts::raised, 1, limits.least, limits.least,
        [&](G g) { return is_below(g, limits.least) ? 0 : 1; });
    add(&ElementCounts::lowered, 1, limits.hi, limits.hi,
        [&](G g) { return is_above(g, limits.hi) ? 0 : -1; });
    const G zero = 0;
    if (limits.zero_lowest <= limits.zero_highest)
      add(&ElementCounts::became_zero, 1, limits.zero_lowest, limits.zero_highest, [&](G g) {
        return g < limits.zero_lowest ? -1 : g > limits.zero_highest ? 1 : 0;
      });
    if (limits.zero_lowest <= zero && zero <= limits.zero_highest)
      add(&ElementCounts::became_zero, kSubtracts, zero, zero, [&](G g) {
        return g < zero ? -1 : g > zero ? 1 : 0;
      });
    if (limits.lowest < limits.finite_lowest)
      add(&ElementCounts::became_infinite, 1, limits.lowest, limits.finite_lowest, [&](G g) {
        return g < limits.lowest ? -1 : g >= limits.finite_lowest || g > limits.highest ? 1 : 0;
      });
    if (limits.highest > limits.finite_highest)
      add(&ElementCounts::became_infinite, 1, limits.finite_highest, limits.highest, [&](G g) {
        return g <= limits.finite_highest || g < limits.lowest ? -1 : g > limits.highest ? 1 : 0;
      });
  }

  [[nodiscard]] ElementCounts count(const std::byte* in, std::size_t count, SimdLevel level) const noexcept;

 private:
  static constexpr std::uint64_t kSubtracts = ~std::uint64_t{0};

  struct Range {
    std::uint64_t ElementCounts::*counter;
    std::uint64_t times;
    ElementBits begin;
    ElementBits width;  ///< of one element: 0
  };

  /// Calls a function that says whether g of an integer is below the range, -1, in it, or above it, 1.
  struct Side {
    const void* function;
    int (*call)(const void* function, Int128 x);

    template <class F>
    explicit Side(const F& f) noexcept
        : function(&f), call([](const void* of, Int128 x) { return (*static_cast<const F*>(of))(x); }) {}
    int operator()(Int128 x) const noexcept { return call(function, x); }
  };

  /// Finds the integers in the range, of all, whose g is near the ends.
  void add_range(Range range, std::pair<Int128, Int128> all, std::pair<double, double> ends,
                 const Side& side) noexcept;

  DType dtype_;
  double scale_;
  double bias_;
  std::array<Range, 6> ranges_{};
  std::size_t size_ = 0;
};

}  // namespace clipper
