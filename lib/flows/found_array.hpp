#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"

/// Figures of groups as arrays.
namespace clipper {

inline void append(DType dtype, ElementBits element, std::vector<std::byte>& elements) {
  with_size(traits(dtype).size, [&]<std::size_t kSize>() {
    const auto bits = static_cast<UnsignedOfSize<kSize>>(element);
    const std::span bytes = std::as_bytes(std::span(&bits, 1));
    elements.insert(elements.end(), bytes.begin(), bytes.end());
  });
}

/// Figures of groups as an array: elements of the tensor's dtype, unless a later step needs fractions.
class FoundArray {
 public:
  FoundArray(const Request& request, DType dtype)
      : dtype_(dtype), keeps_fractions_(!is_floating(dtype) && has_later_step(request)) {}

  /// `is_bound`: false for the widest number, which need not be exact.
  void add(const Number& number, ElementBits element, bool is_bound = true) {
    append(dtype_, element, elements_);
    if (!keeps_fractions_) return;
    const auto nearest = round_to<double>(number);
    append(DType::float64, to_bits(nearest), numbers_);
    has_fraction_ |= number_of(dtype_, element) != number;
    is_rounded_ |= is_bound && is_integer(number) && Number(nearest) != number;
  }

  /// No number, of a dtype that has NaN: what replaces NaN leaves it, and the bound is none.
  void add_nan() { append(dtype_, canonical_nan(dtype_), elements_); }

  /// A number that the dtype may lack.
  void add(const Number& number) {
    add(number, is_floating(dtype_) ? nearest_element(dtype_, number)
                                    : greatest_to(dtype_, number).value_or(lowest_element(dtype_)));
  }

  /// Whether no dtype has all the numbers: fractions, and integers that float64 lacks.
  [[nodiscard]] bool is_mixed() const { return has_fraction_ && is_rounded_; }

  [[nodiscard]] DType dtype() const { return has_fraction_ ? DType::float64 : dtype_; }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(has_fraction_ ? numbers_ : elements_); }

 private:
  DType dtype_;
  bool keeps_fractions_;
  bool has_fraction_ = false;  ///< or a number beyond the dtype
  bool is_rounded_ = false;    ///< whether float64 lacks an integer
  std::vector<std::byte> elements_;
  std::vector<std::byte> numbers_;
};

}  // namespace clipper
