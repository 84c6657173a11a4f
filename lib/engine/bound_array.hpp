#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "contract/plan.hpp"

namespace clipper {

/// Whether the numbers of a bound's array are not all elements of the plan's operation: see
/// contract/exact_bounds.hpp.
[[nodiscard]] bool is_other_bound(const Plan& plan, DType array);

/// One bound of consecutive elements as exact numbers, for plans with an array for which is_other_bound() is
/// true. For one thread at a time.
class BoundArray {
 public:
  /// `array`: null for a number. The plan must outlive this. `capacity`: max number of elements.
  BoundArray(const Plan& plan, Parameter bound, std::size_t capacity);

  /// Takes `count` elements of the array, decoded; writes the nearest elements of the operation's dtype that
  /// are within each bound to `compared`, or the cut ones for an operation without cast.
  void take(DType dtype, const std::byte* elements, std::size_t count, std::byte* compared);

  /// Copies the first `period` bounds to the ones after them.
  void repeat(std::size_t period, std::size_t count);

  [[nodiscard]] bool is_nan(std::size_t i) const { return values_[i] != values_[i]; }
  [[nodiscard]] bool exceeds(const BoundArray& other, std::size_t i) const {
    return values_[i] > other.values_[i] || (values_[i] == other.values_[i] && rests_[i] > other.rests_[i]);
  }

  /// Whether a min is above, or a max below, all elements of the input or of the output, which leaves nothing
  /// to do for a clip.
  [[nodiscard]] bool is_beyond(std::size_t i) const;

  /// The number at `i` for people.
  [[nodiscard]] std::string text(std::size_t i) const;

  [[nodiscard]] const double* values() const { return values_.data(); }
  [[nodiscard]] const double* rests() const { return rests_.data(); }
  [[nodiscard]] const ElementBits* results() const { return results_.empty() ? nullptr : results_.data(); }
  [[nodiscard]] const WideBound* wide() const { return wide_.empty() ? nullptr : wide_.data(); }

 private:
  void take_values(DType dtype, const std::byte* elements, std::size_t count);
  void compare_exactly(DType dtype, const std::byte* elements, std::size_t count, std::byte* compared);

  const Plan& plan_;
  bool is_min_;
  double input_end_;  ///< beyond it are no elements of the input, and of the output
  double input_end_rest_ = 0;
  double output_end_;
  std::vector<double> values_;        ///< the nearest float64
  std::vector<double> rests_;         ///< what the numbers exceed it by
  std::vector<ElementBits> results_;  ///< see Cast::min
  std::vector<WideBound> wide_;       ///< for Arithmetic::integer
};

}  // namespace clipper
