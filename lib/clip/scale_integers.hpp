#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "clip/clip.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
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

/// Counts integers and halves by what is calculated of them with numbers, g. That never falls, or with a
/// negative scale never rises, as they rise, rounded or not. So the elements of one count are consecutive,
/// and a loop that does not calculate counts them.
class InputRanges {
 public:
  /// What is counted of g. Without more than the first two, nothing becomes 0 or infinite.
  template <class G, class Bound>
  struct Limits {
    Bound least;        ///< what is below is raised
    Bound hi;           ///< what is above is lowered
    G zero_lowest = 1;  ///< what is not 0, but from here to zero_highest, becomes 0
    G zero_highest = 0;
    G lowest = 0;  ///< what is finite, from here to `highest`, and beyond the next two, becomes infinite
    G highest = 0;
    G finite_lowest = 0;
    G finite_highest = 0;
  };

  /// The scale and bias with which is calculated, or doubles near them.
  InputRanges(DType dtype, double scale, double bias) noexcept : dtype_(dtype), scale_(scale), bias_(bias) {}

  /// `calculate` gives g of a T, which is not 0 of halves other than 0 without a bias.
  template <class T, class G, class Bound, class Calculate>
  [[gnu::cold, gnu::noinline]] void find(const Limits<G, Bound>& limits,
                                         const Calculate& calculate) noexcept {
    constexpr Keys kFinite = all_keys<T>(false);
    constexpr Keys kAll = all_keys<T>(true);
    const auto range = [&](const Keys& all, auto low, auto high, const auto& side_of) {
      const auto side = [&](Int128 key) { return side_of(calculate(element_at<T>(key))); };
      return range_of(all, static_cast<double>(low), static_cast<double>(high), Side(side));
    };
    add(&ElementCounts::raised,
        range(kAll, limits.least, limits.least, [&](G g) { return is_below(g, limits.least) ? 0 : 1; }));
    add(&ElementCounts::lowered,
        range(kAll, limits.hi, limits.hi, [&](G g) { return is_above(g, limits.hi) ? 0 : -1; }));
    if (limits.zero_lowest <= limits.zero_highest) {
      Keys zeros = range(kAll, limits.zero_lowest, limits.zero_highest, [&](G g) {
        return g < limits.zero_lowest ? -1 : g > limits.zero_highest ? 1 : 0;
      });
      const G zero = 0;
      if (limits.zero_lowest <= zero && zero <= limits.zero_highest) {
        const Keys exact = range(kAll, zero, zero, [&](G g) { return g < zero ? -1 : g > zero ? 1 : 0; });
        add(&ElementCounts::became_zero, {zeros.begin, exact.begin});
        zeros.begin = exact.end;
      }
      add(&ElementCounts::became_zero, zeros);
    }
    if (limits.lowest < limits.finite_lowest)
      add(&ElementCounts::became_infinite, range(kFinite, limits.lowest, limits.finite_lowest, [&](G g) {
        return g < limits.lowest ? -1 : g >= limits.finite_lowest || g > limits.highest ? 1 : 0;
      }));
    if (limits.highest > limits.finite_highest)
      add(&ElementCounts::became_infinite, range(kFinite, limits.finite_highest, limits.highest, [&](G g) {
        return g <= limits.finite_highest || g < limits.lowest ? -1 : g > limits.highest ? 1 : 0;
      }));
    if constexpr (HalfType<T>) {
      add(&ElementCounts::nan, {kAll.end, 0x8000});
      add(&ElementCounts::nan, {-0x8000, kAll.begin});
    }
  }

  [[nodiscard]] ElementCounts count(const std::byte* in, std::size_t count, SimdLevel level) const noexcept;

 private:
  /// Consecutive elements by their keys: see small_floats.hpp; integers are their own.
  struct Keys {
    Int128 begin;
    Int128 end;
  };

  struct Range {
    std::uint64_t ElementCounts::*counter;
    ElementBits begin;
    ElementBits width;  ///< of one element: 0
  };

  /// Calls a function that says whether g of a key is below the range, -1, in it, or above it, 1.
  struct Side {
    const void* function;
    int (*call)(const void* function, Int128 key);

    template <class F>
    explicit Side(const F& f) noexcept
        : function(&f), call([](const void* of, Int128 key) { return (*static_cast<const F*>(of))(key); }) {}
    int operator()(Int128 key) const noexcept { return call(function, key); }
  };

  /// All but NaN, or the finite ones.
  template <class T>
  static constexpr Keys all_keys(bool with_infinities) noexcept {
    if constexpr (HalfType<T>) {
      const int end = T::kInfinity + (with_infinities ? 1 : 0);
      return {-end, end};
    } else {
      return {std::numeric_limits<T>::lowest(), Int128{std::numeric_limits<T>::max()} + 1};
    }
  }

  template <class T>
  static T element_at(Int128 key) noexcept {
    if constexpr (HalfType<T>)
      return element_of<T>(static_cast<std::int16_t>(key));
    else
      return static_cast<T>(key);
  }

  /// The keys in the range, of all; g of its ends is near `low` and `high`.
  [[nodiscard]] Keys range_of(const Keys& all, double low, double high, const Side& side) const noexcept;

  void add(std::uint64_t ElementCounts::*counter, Keys keys) noexcept;

  DType dtype_;
  double scale_;
  double bias_;
  std::array<Range, 12> ranges_{};
  std::size_t size_ = 0;
};

}  // namespace clipper
