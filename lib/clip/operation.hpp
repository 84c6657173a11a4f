#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "element/dtype.hpp"
#include "element/number.hpp"

/// What happens to every element of a tensor, from one dtype to another.
namespace clipper {

/// How x * scale + bias is calculated. Product and sum are rounded separately, never fused.
enum class Arithmetic : std::uint8_t {
  none,     ///< no scale and no bias: elements within the bounds keep their bits
  float32,  ///< float16, bfloat16 and float32 tensors: clipped in float32, then rounded once
  float64,  ///< float64 and integer tensors: integers are clipped, then truncated toward zero
  integer,  ///< int64 and uint64 tensors with integer scale and bias: exact
};

/// An integer of up to 129 bits, sign and magnitude: x * scale + bias of 64-bit integers is exact in it.
struct Wide {
  bool negative = false;  ///< false for 0
  UInt128 magnitude = 0;

  [[nodiscard]] static constexpr Wide lowest() { return {true, ~UInt128{0}}; }
  [[nodiscard]] static constexpr Wide highest() { return {false, ~UInt128{0}}; }
  [[nodiscard]] static constexpr Wide of(bool negative, UInt128 magnitude) {
    return {negative && magnitude != 0, magnitude};
  }
  [[nodiscard]] static constexpr Wide of(Int128 value) {
    return value < 0 ? Wide{true, UInt128{0} - static_cast<UInt128>(value)}
                     : Wide{false, static_cast<UInt128>(value)};
  }

  friend constexpr bool operator==(const Wide&, const Wide&) = default;
  friend constexpr std::strong_ordering operator<=>(const Wide& a, const Wide& b) {
    if (a.negative != b.negative) return b.negative <=> a.negative;
    return a.negative ? b.magnitude <=> a.magnitude : a.magnitude <=> b.magnitude;
  }

  /// The lower 64 bits in two's complement.
  [[nodiscard]] constexpr std::uint64_t bits() const {
    const auto low = static_cast<std::uint64_t>(magnitude);
    return negative ? 0 - low : low;
  }
};

/// A scale, bias or zero point of integers. Sign and magnitude cover both int64 and uint64.
struct SignedInteger {
  bool negative = false;
  std::uint64_t magnitude = 0;

  [[nodiscard]] static constexpr SignedInteger of(Int128 value) noexcept {
    return {value < 0, static_cast<std::uint64_t>(value < 0 ? -value : value)};
  }
  [[nodiscard]] static SignedInteger of(const DoubleDouble& number) noexcept { return of(number.integer()); }
  [[nodiscard]] constexpr Int128 value() const noexcept {
    return negative ? -Int128{magnitude} : Int128{magnitude};
  }
};

/// A bound of integers, which may have a fraction: what is below `ceil`, or above `floor`, is beyond it.
struct WideBound {
  Wide ceil;
  Wide floor;
  std::optional<ElementBits> result{};  ///< what the bound becomes in `to`; if empty, the integer is stored
};

/// In place of lo and hi for Arithmetic::integer, whose results may need 128 bits.
struct WideBounds {
  WideBound lo{Wide::lowest(), Wide::lowest()};
  WideBound hi{Wide::highest(), Wide::highest()};
  Wide lowest = Wide::lowest();
  Wide highest = Wide::highest();
  bool lo_varies = false;  ///< whether lo is that of the operation or the vectors, an element of `from`
  bool hi_varies = false;
  bool min_wins = false;  ///< whether lo is the only bound where it exceeds hi; otherwise hi is
};

/// What the clipped y of an Operation becomes, with its g, if that is more than a clip:
///     y = y, clipped to the range of `to` if it saturates, rounded to an integer, + zero_point
///     y = below or above, if they are given, otherwise min or max, where g < lo or g > hi
///     y = nan of the cast, if it is given, where g is NaN
/// Then y is rounded to `to` once, to nearest even. Elements that no kernel knows are always cast, also to
/// their own dtype.
struct Cast {
  std::optional<Round> round;  ///< always given if floats become integers
  SignedInteger zero_point{};  ///< 0 unless `to` is an integer dtype

  /// The least and the greatest element of the working dtype that is stored as a finite element of `to`.
  ElementBits lowest = 0;
  ElementBits highest = 0;
  bool saturates =
      false;  ///< whether elements beyond become the limits of `to`, not infinite; true for integers

  std::optional<ElementBits> below;  ///< elements of `to`
  std::optional<ElementBits> above;
  std::optional<ElementBits> nan;  ///< in place of the operation's, which need not have the number

  /// What elements beyond lo or hi become without `below` or `above`: the exact bound, of which lo and hi are
  /// the nearest working elements within, so that lo may exceed hi. If empty, what lo or hi becomes.
  std::optional<ElementBits> min;
  std::optional<ElementBits> max;
  WideBounds wide{};

  [[nodiscard]] bool replaces() const noexcept { return below || above || min || max; }
};

/// What becomes of the clipped y as a float64, each operation rounded:
///     z = (y * factor - a) / b, or if it stretches,
///     z = (y * factor - a) / (b - a) * (high - low) + low, held within low and high; exactly low for a, high
///     for b.
/// The Operation's `to` is float64 then. This cast makes elements of its own `to` of z.
struct Normalization {
  bool stretches = false;
  double factor = 1;
  DoubleDouble a{0};  ///< what is subtracted, or min; y - a and b - a are exact before they are rounded
  DoubleDouble b{1};  ///< the divisor, finite and not 0; or max, finite and at least a, as is b - a
  double low = 0;
  double high = 1;

  DType to = DType::float64;
  Cast cast{};  ///< without replacements; its working dtype is float64

  /// Whether the quotient is mapped to another range than 0 to 1.
  [[nodiscard]] bool maps() const noexcept { return !stretches && (low != 0 || high != 1); }
};

/// The clip of an element: lo > hi gives hi, and NaN passes. Rules (bounds_rule.hpp) do the same in vectors.
template <class T>
[[gnu::always_inline]] constexpr T clipped(T g, T lo, T hi) noexcept {
  g = g < lo ? lo : g;
  return g > hi ? hi : g;
}

/// The steps of an element x:
///     g = x * scale + bias;    (x / scale + bias if `divides`; g = x for Arithmetic::none)
///     y = clipped(g, lo, hi);
///     y = y is NaN ? nan : y;  (only if nan is given)
///     y = another zero         (only if y is a zero and zero_tie says so)
///     y = lo or hi             (only if poisons, lo or hi is NaN, and x is not NaN)
/// and those of the cast, if there is one, and after it the normalization.
struct Operation {
  DType from = DType::float32;  ///< of x
  DType dtype =
      DType::float32;         ///< the working dtype: that of x, unless there is a cast; has all values of x
  DType to = DType::float32;  ///< of the result
  Arithmetic arithmetic = Arithmetic::none;
  ZeroTie zero_tie = ZeroTie::element;  ///< for floats that are not scaled: what becomes of zero results
  bool poisons = false;                 ///< for floats that are not scaled: whether lo and hi may be NaN
  bool has_nat = false;                 ///< for int64 without arithmetic: the lowest element is NaT, a NaN
  bool divides = false;                 ///< only with a cast

  ElementBits lo = 0;              ///< of `dtype`; lowest_element() if there is no min
  ElementBits hi = 0;              ///< of `dtype`; highest_element() if there is no max
  std::optional<ElementBits> nan;  ///< the element that replaces NaN

  DoubleDouble scale{1};  ///< finite: a float, a double or an integer of 64 bits, as the arithmetic says
  DoubleDouble bias{0};

  std::optional<Cast> cast;
  std::optional<Normalization> normalization;  ///< only with a cast to float64

  /// Whether the normalization calculates with lo and hi, which are finite then.
  [[nodiscard]] bool uses_bounds() const noexcept { return normalization && normalization->stretches; }
};

/// A clip of elements that keep their dtype.
[[nodiscard]] Operation clip_operation(DType dtype, ElementBits lo, ElementBits hi) noexcept;

/// What follows a normalization: its cast, of float64 elements without bounds.
[[nodiscard]] Operation last_step(const Normalization& normalization) noexcept;

/// Makes elements of another dtype of numbers, rounded once, to integers if `round` says so or that dtype has
/// only integers. Integers saturate.
[[nodiscard]] Operation conversion(DType from, DType to, std::optional<Round> round = std::nullopt) noexcept;

/// The working dtype of elements that are neither scaled nor biased: the smallest of float32, float64, int32,
/// int64 and uint64 that has all values of `from`.
[[nodiscard]] DType working_dtype(DType from) noexcept;

/// The element, of a dtype whose working dtype is `working`, as an element of that.
[[nodiscard]] ElementBits working_element(DType from, ElementBits element, DType working) noexcept;

/// A float element rounded to an integer.
[[nodiscard]] ElementBits rounded_element(DType dtype, ElementBits element, Round round) noexcept;

/// Sets `lowest` and `highest` of the cast, and those of `wide`.
void set_limits(Operation& operation) noexcept;
void set_limits(Normalization& normalization) noexcept;

/// The least and the greatest working element that is cast to 0, plus the zero point: from 0 to 0 if the cast
/// keeps all other numbers. The least exceeds the greatest if `to` has no 0.
[[nodiscard]] std::pair<ElementBits, ElementBits> zero_limits(const Operation& operation) noexcept;

/// Whether the working element is above all, or below all, that `to` can represent, -1 or 1; otherwise 0.
/// Infinity is beyond the range of float dtypes, too.
[[nodiscard]] int beyond_range(const Operation& operation, ElementBits element) noexcept;

/// Which elements arithmetic or a cast makes infinite or 0: by g, an element of `dtype`, or by z of a
/// normalization. Those of Arithmetic::integer are counted by convert_integers().
struct Losses {
  DType dtype;         ///< float32 or float64 for arithmetic without a cast; otherwise the working dtype
  ElementBits lowest;  ///< what is beyond these becomes infinite; the ends of the dtype if nothing does
  ElementBits highest;
  ElementBits zero_lowest;  ///< what is between these becomes 0: see zero_limits()
  ElementBits zero_highest;
  bool underflow;  ///< whether a product that is 0 although no factor is one counts, unless there is a bias
};

/// Those of an operation, whose parameters may still vary; nothing if it loses nothing.
[[nodiscard]] std::optional<Losses> losses_of(const Operation& operation) noexcept;

/// What a number of an Operation is for, if it may differ from element to element. The first ones are those
/// that people give, in the order of the arrays of a request (contract/arrays.hpp).
enum class Slot : std::uint8_t {
  lo,  ///< an element of the operation's dtype
  hi,
  scale,  ///< a float for Arithmetic::float32, a double for ::float64, a SignedInteger for ::integer
  bias,
  a,  ///< of a Normalization: a double, or a DoubleDouble, as the stride tells
  b,
  factor,
  below,  ///< ElementBits: Cast::below
  above,
  nan_result,  ///< ElementBits: Cast::nan
  nodata,      ///< ElementBits: what nodata elements become, which is nothing for a kernel
  nan,         ///< an element of the operation's dtype: what replaces NaN
  min,         ///< ElementBits: Cast::min
  max,
  wide_lo,  ///< a WideBound for Arithmetic::integer, in place of lo
  wide_hi,
};
inline constexpr std::size_t kSlots = 16;

/// The numbers of consecutive elements for one slot.
struct Operand {
  const std::byte* data =
      nullptr;             ///< the first element's, aligned; null: that of the operation holds for all
  std::size_t stride = 0;  ///< bytes from the number of an element to the next one's; 0: all are the same
};

/// The numbers of consecutive elements; of the Operation, dtype and arithmetic still count. lo and hi are
/// given unless all elements have the numbers of the operation.
class Operands {
 public:
  constexpr Operands() = default;

  [[nodiscard]] Operand& operator[](Slot slot) noexcept { return all_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] const Operand& operator[](Slot slot) const noexcept {
    return all_[static_cast<std::size_t>(slot)];
  }

  /// Gives each element a number of its own.
  template <class T>
  void set(Slot slot, const T* numbers) noexcept {
    (*this)[slot] = {reinterpret_cast<const std::byte*>(numbers), sizeof(T)};
  }

  /// The numbers of a slot whose stride is sizeof(T); null if it is not given.
  template <class T>
  [[nodiscard]] const T* as(Slot slot) const noexcept {
    return reinterpret_cast<const T*>((*this)[slot].data);
  }

  /// Whether elements have numbers of their own.
  [[nodiscard]] bool vary() const noexcept { return all_[0].data != nullptr; }

  /// Those of the elements after the first `count`.
  [[nodiscard]] Operands after(std::size_t count) const noexcept {
    Operands result;
    if (!vary()) return result;
    for (std::size_t i = 0; i < kSlots; ++i)
      result.all_[i] = {all_[i].data + count * all_[i].stride, all_[i].stride};
    return result;
  }

 private:
  std::array<Operand, kSlots> all_{};
};

/// In place of Operands: the numbers of the operation hold for all elements.
inline constexpr Operands kNumbers{};

/// The number of each element.
template <class T>
struct PerElement {
  const std::byte* data = nullptr;
  std::size_t stride = 0;

  PerElement() = default;
  /// The number of all elements.
  explicit PerElement(const T* number) noexcept : data(reinterpret_cast<const std::byte*>(number)) {}
  /// Those of a slot, or the number of the operation.
  PerElement(const Operand& given, const T& number) noexcept
      : data(given.data != nullptr ? given.data : reinterpret_cast<const std::byte*>(&number)),
        stride(given.stride) {}

  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    return *reinterpret_cast<const T*>(data + i * stride);
  }
};

}  // namespace clipper
