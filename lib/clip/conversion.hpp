#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "clip/clip.hpp"
#include "clip/wide.hpp"
#include "element/dtype.hpp"

/// What a conversion does with an element, and which results the output's dtype has.
namespace clipper {

/// What happens to an element x before and after an Operation, whose dtype is the working dtype: a superset
/// of x's, or the dtype of scale and bias. Of the Operation, dtype, arithmetic, parameters and nan count.
///     g = x * scale + bias        (x / scale + bias if `divides`; x, unless there is a scale or a bias)
///     y = g, clipped to lo and hi, and to the range of `to` if it saturates; NaN becomes nan
///     y = y, rounded to an integer, + zero_point
///     y = below or above, if they are given, where g < lo or g > hi
///     y = nan of the conversion, if it is given, where g is NaN
/// Then y is rounded to `to` once, to nearest even. Elements of float8 are always converted, also to
/// themselves: kernels do not know them.
struct Conversion {
  DType from = DType::float32;
  DType to = DType::float32;
  bool divides = false;
  std::optional<Round> round;       ///< always given if floats become integers
  Operation::Integer zero_point{};  ///< 0 unless `to` is an integer dtype

  /// The least and the greatest element of the working dtype that is stored as a finite element of `to`.
  ElementBits lowest = 0;
  ElementBits highest = 0;
  bool saturates =
      false;  ///< whether elements beyond become the limits of `to`, not infinite; true for integers

  std::optional<ElementBits> below;  ///< elements of `to`
  std::optional<ElementBits> above;
  std::optional<ElementBits> nan;  ///< in place of the operation's, which need not have the number

  /// A bound of integers, which may have a fraction: what is below `ceil`, or above `floor`, is beyond it.
  struct WideBound {
    Wide ceil;
    Wide floor;
    std::optional<ElementBits> result{};  ///< what the bound becomes in `to`; if empty, the integer is stored
  };

  /// In place of numbers of the Operation for Arithmetic::integer, whose results may need 128 bits.
  struct WideBounds {
    WideBound lo{Wide::lowest(), Wide::lowest()};
    WideBound hi{Wide::highest(), Wide::highest()};
    Wide lowest = Wide::lowest();
    Wide highest = Wide::highest();
    bool lo_varies = false;  ///< whether lo is that of the operation or the vectors, an element of `from`
    bool hi_varies = false;
    bool min_wins = false;  ///< whether lo is the only bound where it exceeds hi; otherwise hi is
  } wide{};

  /// The size of an element before and after the conversion, whichever is greater.
  [[nodiscard]] std::size_t size() const noexcept;
};

/// The working dtype of elements that are neither scaled nor biased: the smallest of float32, float64, int32,
/// int64 and uint64 that has all values of `from`.
[[nodiscard]] DType working_dtype(DType from) noexcept;

/// The element, of a dtype whose working dtype is `working`, as an element of that.
[[nodiscard]] ElementBits working_element(DType from, ElementBits element, DType working) noexcept;

/// A float element rounded to an integer.
[[nodiscard]] ElementBits rounded_element(DType dtype, ElementBits element, Round round) noexcept;

/// Sets `lowest` and `highest`, and those of `wide`, for a working dtype.
void set_limits(Conversion& conversion, DType working) noexcept;

/// The least and the greatest working element that is stored as 0, plus the zero point: from 0 to 0 if the
/// conversion keeps all other numbers. The least exceeds the greatest if `to` has no 0.
[[nodiscard]] std::pair<ElementBits, ElementBits> zero_limits(const Conversion& conversion,
                                                              DType working) noexcept;

/// Whether the working element is above all, or below all, that `to` can represent, -1 or 1; otherwise 0.
/// Infinity is beyond the range of float dtypes, too.
[[nodiscard]] int beyond_range(const Conversion& conversion, DType working, ElementBits element) noexcept;

}  // namespace clipper
