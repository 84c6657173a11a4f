#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clip/clip.hpp"
#include "contract/arrays.hpp"
#include "contract/plan.hpp"
#include "element/tensor_layout.hpp"

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
  BoundArray(const Plan& plan, ParameterId bound, std::size_t capacity);

  /// Takes `count` elements of the array, decoded; writes the nearest elements of the operation's dtype that
  /// are within each bound to `compared`, or the cut ones for an operation without cast.
  void take(DType dtype, const std::byte* elements, std::size_t count, std::byte* compared);

  /// Writes the number of a bound that is no array again, which become() may have overwritten.
  void restore(std::size_t count);

  /// Makes the bound at `i` the other bound, and writes the element that is compared.
  void become(const BoundArray& other, std::size_t i, std::byte* compared);

  [[nodiscard]] bool is_nan(std::size_t i) const { return std::isnan(numbers_[i].head); }
  [[nodiscard]] bool exceeds(const BoundArray& other, std::size_t i) const {
    if (!is_given_ || !other.is_given_) return false;
    const auto [head, rest] = numbers_[i];
    const auto [other_head, other_rest] = other.numbers_[i];
    if (head != other_head) return head > other_head;
    return rest != other_rest ? rest > other_rest : number_side_ > other.number_side_;
  }

  /// The dtype all of whose elements a min is above, or a max is below, which leaves nothing to do for a
  /// clip: that of the input or the output.
  [[nodiscard]] std::optional<DType> beyond(std::size_t i) const;

  /// The number at `i` for people.
  [[nodiscard]] std::string text(std::size_t i) const;

  [[nodiscard]] std::span<DoubleDouble> numbers() { return numbers_; }
  [[nodiscard]] std::span<ElementBits> results() { return results_; }  ///< empty if the numbers' elements are
  [[nodiscard]] std::span<WideBound> wide() { return wide_; }

 private:
  void take_values(DType dtype, const std::byte* elements, std::size_t count);
  void round_floats(DType dtype, const std::byte* elements, std::size_t count);
  void set_results(DType dtype, const std::byte* elements, std::size_t count);
  void set_far_results(DType dtype, const std::byte* elements, std::size_t count);
  void compare(std::size_t first, std::size_t count, std::byte* compared) const;
  void set_ends();

  const Plan& plan_;
  bool is_min_;
  bool is_other_;        ///< see is_other_bound()
  bool is_given_;        ///< false for a limit of integers
  DoubleDouble number_;  ///< of a bound that is no array
  int number_side_ = 0;  ///< 1 or -1 if the bound is above or below that, which no array is
  ElementBits number_result_ = 0;
  DType input_;             ///< of the input's elements, or of bounds of floats
  DoubleDouble input_end_;  ///< beyond it are no elements of the input, and of the output
  double output_end_;
  bool takes_infinity_;  ///< as a bound that every element becomes
  std::vector<DoubleDouble> numbers_;
  std::vector<ElementBits> results_;  ///< see Cast::min
  std::vector<WideBound> wide_;       ///< for Arithmetic::integer
};

/// Reads the elements of an array that belong to consecutive elements of the tensor. For one thread at a
/// time. An array that is not held in memory is read through a window, or through a band if its memory order
/// is not that of the tensor.
class ArrayReader {
 public:
  /// Both must outlive this. `band_size`: max bytes of a band.
  ArrayReader(const Broadcast& broadcast, const ArrayParameter& parameter, std::size_t band_size);

  /// Copies the array's elements for `count` elements of the tensor, from index `position` on, decoded.
  /// `to` is aligned to the size of an element. Error{io} if the file cannot be read.
  void read(std::uint64_t position, std::size_t count, std::byte* to);

  /// The array's elements for the elements of the tensor from index `position` on, if they lie in memory in
  /// the tensor's order, aligned and is_decoded(); otherwise null.
  [[nodiscard]] const std::byte* in_order(std::uint64_t position) const noexcept;

  /// Whether the element of the array for the tensor's element at `position` is in the band.
  [[nodiscard]] bool has_in_band(std::uint64_t position) const noexcept {
    return band_.begin <= position && position < band_.end;
  }

  [[nodiscard]] const ArrayParameter& parameter() const noexcept { return parameter_; }

  /// The index, in the array's file, of the element for the tensor's element at `position`.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t position) const;

 private:
  using Index = std::array<std::uint64_t, kMaxRank>;

  /// Consecutive elements of the tensor, at some indexes of an axis along which the array's elements are near
  /// each other in the file, and at all indexes of the axes inside of it. The array is read by runs along
  /// that axis.
  struct Band {
    std::size_t axis = 0;
    std::uint64_t inner = 0;  ///< elements of the tensor at one index of the axis
    std::uint64_t steps = 0;  ///< max indexes of the axis; 0 if there is no band
    std::uint64_t begin = 0;  ///< the elements of the tensor that are in memory
    std::uint64_t end = 0;
    std::unique_ptr<std::byte[]> memory;
  };

  [[nodiscard]] std::uint64_t locate(std::uint64_t position, Index& index) const;
  [[nodiscard]] std::uint64_t advanced(Index& index, std::uint64_t offset, std::uint64_t steps,
                                       std::size_t outermost) const;
  void choose_band(std::size_t band_size);
  template <class Bits>
  void read_band(std::uint64_t position);
  template <class Bits>
  void read_rows(std::uint64_t position, std::size_t count, Bits* to);
  template <class Bits>
  void read_row(std::uint64_t offset, std::uint64_t stride, std::size_t count, Bits* to);
  template <class Bits>
  std::uint64_t repeat(std::uint64_t offset, std::uint64_t stride, std::uint64_t count, std::uint64_t times,
                       Bits* to);
  template <class Bits>
  void read_contiguous(std::uint64_t offset, std::size_t count, Bits* to);
  template <class Bits>
  Bits element(std::uint64_t offset);

  const Broadcast& broadcast_;
  const ArrayParameter& parameter_;
  const TensorLayout& layout_;

  /// The elements of the array from window_begin_ to window_end_: all of them if the array is held.
  const std::byte* window_;
  std::uint64_t window_begin_ = 0;
  std::uint64_t window_end_;
  std::unique_ptr<std::byte[]> memory_;  ///< null if the array is held
  Band band_;
};

/// The parameters of consecutive elements of a tensor, as the kernels take them: arrays are expanded, numbers
/// are repeated. For one thread at a time.
class ParameterTile {
 public:
  /// `plan` has arrays, and must outlive this. `capacity`: max number of elements. `band_size`: see
  /// ArrayReader.
  ParameterTile(const Plan& plan, std::size_t capacity, std::size_t band_size = 0);

  /// Expands the parameters of `count` elements from index `position` of the tensor on. Error{io} if an array
  /// cannot be read.
  void expand(std::uint64_t position, std::size_t count);

  /// Copies the parameters of the first `period` elements to the ones after them, up to `count` elements.
  void repeat(std::size_t period, std::size_t count) noexcept;

  /// The index, from 0 to count - 1, of the first expanded element whose parameters are refused: a bound is
  /// NaN, min exceeds max and the plan does not allow that, a factor is not finite or a divisor 0, or
  /// the cast refuses the element.
  [[nodiscard]] std::optional<std::size_t> first_refused(std::size_t count) const;

  /// Whether a band of an array covers the element at `position`.
  [[nodiscard]] bool has_in_band(std::uint64_t position) const noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// The parameters of the elements from index `first` of the tile on.
  [[nodiscard]] Operands operands(std::size_t first = 0) const noexcept;

  /// The plan's operation with the parameters of the tile's first element.
  [[nodiscard]] Operation operation() const noexcept;

  /// Reads the parameters of the tensor's element at `position` again. Error{usage} if they are refused.
  void refuse(std::uint64_t position);

 private:
  static constexpr std::array kBounds{Slot::lo, Slot::hi};
  static constexpr std::array kFactors{Slot::scale, Slot::bias, Slot::factor, Slot::a, Slot::b};
  static constexpr std::array kResultSlots{Slot::below, Slot::above, Slot::nan_result, Slot::nodata,
                                           Slot::nan};

  /// Those whose numbers may be refused: no array that was calculated.
  static constexpr std::array kRefusedFactors{Slot::scale, Slot::bias, Slot::a, Slot::b};

  /// One value per element.
  struct Values {
    std::unique_ptr<std::byte[]> memory;
    std::byte* own = nullptr;          ///< `memory`, or that of a BoundArray; null if kernels need no values
    std::size_t size = 0;              ///< bytes of a value
    std::optional<ArrayReader> array;  ///< if empty, all values are one number
    const std::byte* lent = nullptr;   ///< the array's own elements, if they are used instead of memory

    template <class T>
    [[nodiscard]] T* as() const noexcept {
      return reinterpret_cast<T*>(own);
    }

    template <class T>
    [[nodiscard]] const T* expanded() const noexcept {
      return reinterpret_cast<const T*>(lent != nullptr ? lent : own);
    }
  };

  [[nodiscard]] Values& of(Slot slot) noexcept { return values_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] const Values& of(Slot slot) const noexcept { return values_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] BoundArray& exact(Slot bound) noexcept {
    return bound == Slot::lo ? *exact_min_ : *exact_max_;
  }
  [[nodiscard]] const BoundArray& exact(Slot bound) const noexcept {
    return bound == Slot::lo ? *exact_min_ : *exact_max_;
  }
  /// Returns `f.template operator()<T>()`, where T is the type of the numbers of a slot that people give.
  template <class F>
  decltype(auto) with_factor_type(Slot slot, F&& f) const {
    if (has_rests(slot)) return f.template operator()<DoubleDouble>();
    if (slot != Slot::scale && slot != Slot::bias) return f.template operator()<double>();
    switch (plan_.operation.arithmetic) {
      case Arithmetic::none:
      case Arithmetic::float64: return f.template operator()<double>();
      case Arithmetic::float32: return f.template operator()<float>();
      case Arithmetic::integer: return f.template operator()<SignedInteger>();
    }
    __builtin_unreachable();
  }

  [[nodiscard]] bool has_rests(Slot slot) const;
  [[nodiscard]] bool is_needed(Slot slot) const;
  void allocate(Slot slot);
  void allocate_exact();
  void fill(Slot slot, std::size_t count) noexcept;
  [[nodiscard]] bool exchanges() const noexcept;
  void read(std::uint64_t position, std::size_t count);
  void read_bound(Slot bound, std::uint64_t position, std::size_t count, bool lends);
  void read_other_bound(Slot bound, std::uint64_t position, std::size_t count);
  void note_far(Slot bound, DType dtype, const std::byte* rounded, std::size_t count);
  void read_exact_bound(Slot bound, std::uint64_t position, std::size_t count);
  void read_factor(Slot factor, std::uint64_t position, std::size_t count);
  void widen_bounds(std::size_t count);

  template <class IsRefused>
  [[nodiscard]] std::optional<std::size_t> find_own(std::size_t count, const IsRefused& is_refused) const;
  [[nodiscard]] std::optional<std::size_t> first_refused_bound(std::size_t count) const;
  [[nodiscard]] std::optional<std::size_t> first_refused_exact_bound(std::size_t count) const;
  template <class T>
  [[nodiscard]] std::optional<std::size_t> first_beyond_output(std::size_t count) const;
  [[nodiscard]] std::optional<std::size_t> first_refused_factor(Slot factor, std::size_t count) const;
  [[nodiscard]] std::optional<std::size_t> first_infinite_range(std::size_t count) const;
  [[nodiscard]] bool is_beyond_output() const;
  [[nodiscard]] bool are_both_given() const;
  void exchange_bounds(std::size_t count);
  void refuse_nan(Slot bound, std::uint64_t position) const;
  void refuse_bounds(std::uint64_t position) const;
  void refuse_factor(Slot factor, std::uint64_t position);

  const Plan& plan_;
  std::size_t capacity_;
  bool bounds_vary_;                          ///< whether min or max is an array
  std::optional<std::size_t> refused_bound_;  ///< the first one, if exchange_bounds() hides it
  std::array<Values, kSlots> values_;         ///< by Slot; a and b of a step that uses bounds are these
  std::optional<Slot> nan_bound_;             ///< the bound that replaces NaN, if it is an array
  std::optional<BoundArray> exact_min_;       ///< if an array is_other_bound()
  std::optional<BoundArray> exact_max_;
  std::optional<std::size_t> far_;      ///< the first bound that is rounded to an infinity and refused
  std::unique_ptr<std::byte[]> raw_;    ///< elements of an array of another dtype before their conversion
  std::optional<ArrayReader> missing_;  ///< see Plan::missing_figures
  std::vector<std::byte> sets_;         ///< what the elements lack
};

/// Reads the flags of elements from a position on: 1 where the mask, which broadcasts to the tensor, is not
/// 0.
using MaskFlags = std::function<void(std::uint64_t, std::span<std::byte>)>;
[[nodiscard]] MaskFlags flags_of(const Parameter& mask, const TensorLayout& layout);

}  // namespace clipper
