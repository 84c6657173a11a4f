#pragma once

#include <cstddef>

#include "clip/clip.hpp"

namespace clipper {

/// The integers x whose x * scale + bias is within the bounds of an operation. It never falls, or with a
/// negative scale never rises, as x rises, rounded or not, so these integers are consecutive, and a kernel
/// that does not scale counts the elements beyond them.
class InputRange {
 public:
  /// `scaling` has an integer dtype, an arithmetic and lo <= hi.
  explicit InputRange(const Operation& scaling) noexcept;

  /// Clips elements to the range, without scale and bias.
  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }

  /// How many elements the scaling operation raises and lowers of `count` elements for which operation()
  /// gives the counts `beyond`.
  [[nodiscard]] ElementCounts counts(const ElementCounts& beyond, std::size_t count) const noexcept;

 private:
  template <class T, class Factor>
  void find(Factor scale, Factor bias, double slope, double offset) noexcept;

  Operation operation_;
  bool falls_;          ///< elements below the range are lowered, those above it raised
  bool empty_ = false;  ///< no integer is in the range: those that operation() does not raise are above it
};

}  // namespace clipper
