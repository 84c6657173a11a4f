#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "contract/plan.hpp"

namespace clipper {

/// Whether the plan exchanges bounds as exact numbers where min exceeds max: see contract/exact_bounds.hpp.
[[nodiscard]] bool exchanges_exactly(const Plan& plan);

/// Whether the numbers of a bound's array are not all elements of the plan's operation, or are exchanged.
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

  /// Writes the number of a bound that is no array again, which become() may have overwritten.
  void restore(std::size_t count);

  /// Makes the bound at `i` the other bound, and writes the element that is compared.
  void become(const BoundArray& other, std::size_t i, std::byte* compared);

  /// Copies the first `period` bounds to the ones after them.
  void repeat(std::size_t period, std::size_t count);

  [[nodiscard]] bool is_nan(std::size_t i) const { return values_[i] != values_[i]; }
  [[nodiscard]] bool exceeds(const BoundArray& other, std::size_t i) const {
    if (!is_given_ || !other.is_given_) return false;
    return values_[i] > other.values_[i] || (values_[i] == other.values_[i] && rests_[i] > other.rests_[i]);
  }

  /// The dtype all of whose elements a min is above, or a max is below, which leaves nothing to do for a
  /// clip: that of the input or the output.
  [[nodiscard]] std::optional<DType> beyond(std::size_t i) const;

  /// The number at `i` for people.
  [[nodiscard]] std::string text(std::size_t i) const;

  [[nodiscard]] const double* values() const { return values_.data(); }
  [[nodiscard]] const double* rests() const { return rests_.data(); }
  [[nodiscard]] const ElementBits* results() const { return results_.empty() ? nullptr : results_.data(); }
  [[nodiscard]] const WideBound* wide() const { return wide_.empty() ? nullptr : wide_.data(); }

 private:
  void take_values(DType dtype, const std::byte* elements, std::size_t count);
  void round_floats(DType dtype, const std::byte* elements, std::size_t count);
  void set_results(DType dtype, const std::byte* elements, std::size_t count);
  void set_far_results(DType dtype, const std::byte* elements, std::size_t count);
  void compare(std::size_t first, std::size_t count, std::byte* compared) const;
  void set_ends();

  const Plan& plan_;
  bool is_min_;
  bool is_other_;           ///< see is_other_bound()
  bool is_given_;           ///< false for a limit of integers
  double number_;           ///< of a bound that is no array
  double number_rest_ = 0;  ///< what it exceeds that by
  ElementBits number_result_ = 0;
  DType input_;       ///< of the input's elements, or of bounds of floats
  double input_end_;  ///< beyond it are no elements of the input, and of the output
  double input_end_rest_ = 0;
  double output_end_;
  bool takes_infinity_;               ///< as a bound that every element becomes
  std::vector<double> values_;        ///< the nearest float64
  std::vector<double> rests_;         ///< what the numbers exceed it by
  std::vector<ElementBits> results_;  ///< see Cast::min
  std::vector<WideBound> wide_;       ///< for Arithmetic::integer
};

}  // namespace clipper
