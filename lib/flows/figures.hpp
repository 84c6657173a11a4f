#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/fields.hpp"
#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "engine/tensor_clip.hpp"
#include "files/input_file.hpp"
#include "flows/tensor_sources.hpp"
#include "statistics/groups.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

/// Requests with figures: numbers that are calculated from the elements. Bounds that are percentiles
/// (Parameter::percentage), and a subtrahend or divisor that is a statistic of the clipped elements
/// (Parameter::statistic). What is found becomes the parameter's exact number, or an array with an element
/// for each index along Request::per_axis; then make_plan() applies the profile's rules as to any other
/// parameter. A list is an array whose numbers are known before: see with_lists().
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
  FoundArray(const Request& request, DType dtype) : dtype_(dtype), keeps_exact_(has_later_step(request)) {}

  void add(const Figure& number, ElementBits element) {
    lost_.push_back(0);
    if (is_floating(dtype_)) return add_float(number, element);
    append(dtype_, element, elements_);
    if (!keeps_exact_) return;
    const double nearest = number.nearest();
    append(DType::float64, to_bits(nearest), numbers_);
    has_fraction_ |= compare(Figure::of(dtype_, element), number) != 0;
    is_rounded_ |= compare(nearest, number) != 0 && is_integer(number);
  }

  /// A number that the dtype may lack.
  void add(const Figure& number) {
    add(number, is_floating(dtype_) ? nearest_element(dtype_, number)
                                    : greatest_to(dtype_, number).value_or(lowest_element(dtype_)));
  }

  /// In place of a figure that the group does not have: an element, which only files of figures use.
  void add_lost(const Figure& element) {
    const bool is_rounded = is_rounded_;
    add(element);
    is_rounded_ = is_rounded;
    lost_.back() = 1;
    has_lost_ = true;
  }
  [[nodiscard]] bool is_lost(std::uint64_t group) const { return lost_[group] != 0; }

  /// Error{usage} for several figures of integers that no dtype has: fractions, and integers that float64
  /// lacks.
  void expect_one_dtype(const Message& figure, const std::string& path) const;

  [[nodiscard]] DType element_dtype() const { return dtype_; }
  [[nodiscard]] DType dtype() const { return has_fraction_ ? DType::float64 : dtype_; }
  [[nodiscard]] const std::vector<std::byte>& elements() const { return elements_; }

  /// The parameter, with the array's layout.
  [[nodiscard]] Parameter take(const std::string& text, const TensorLayout& layout);

 private:
  /// An element of floats; a finite number that only float64 has makes all of them float64.
  void add_float(const Figure& number, ElementBits element);

  DType dtype_;
  bool keeps_exact_;
  bool has_fraction_ = false;  ///< or a number beyond the dtype
  bool is_rounded_ = false;    ///< whether float64 lacks an integer
  bool has_lost_ = false;
  std::vector<std::uint8_t> lost_;  ///< whether each is a figure that the group lacks
  std::vector<std::byte> elements_;
  std::vector<std::byte> numbers_;
};

/// Numbers that elements become, rounded to elements of the dtype after the replacement: that of the output,
/// unless more steps follow.
class FoundResults {
 public:
  /// Of a replacement of the request, whose output has the dtype `last`. Numbers for a float dtype are
  /// rounded to integers only where Request::round follows them.
  FoundResults(const Field& field, const Request& request, DType last);

  [[nodiscard]] DType dtype() const { return to_; }

  /// That of a group, unless it is lost.
  void add(const std::optional<Figure>& found);

  [[nodiscard]] bool are_lost() const { return std::ranges::none_of(numbers_, is_found); }
  [[nodiscard]] const std::vector<std::optional<Number>>& numbers() const { return numbers_; }

  /// The parameter, with the array's layout. Error{usage} for integers that no dtype has.
  [[nodiscard]] Parameter take(const Message& figure, const std::string& text, TensorLayout layout) const;

 private:
  [[nodiscard]] static bool is_found(const std::optional<Number>& number) { return number.has_value(); }

  DType to_;
  std::optional<Round> round_;
  std::vector<std::optional<Number>> numbers_;
};

/// Where the figures of each factor, of elements of this dtype, are collected.
[[nodiscard]] std::vector<FoundArray> arrays_of(const Request& request, const FieldList& factors,
                                                DType dtype);

/// x * scale + bias of single elements, as the clip sees them, for percentiles.
struct Scaled {
  DType dtype = DType::float64;  ///< of the arithmetic, unless that is exact
  bool is_exact = false;         ///< of integers
  bool descends = false;         ///< a greater x has a lesser result, or the same
  bool loses_infinity = false;   ///< a scale of 0 makes NaN of infinities, which are none of the numbers then
  std::function<Figure(ElementBits)> value;
};

/// Nothing without scale and bias, which must be numbers.
[[nodiscard]] std::optional<Scaled> scaled(const Request& request, const TensorLayout& layout);

/// A percentile of the tensor's elements, or of x * scale + bias, in a message: "6.5". Typed as a bound, it
/// gives the same bytes.
[[nodiscard]] std::string percentile_text(const TensorLayout& layout, const std::optional<Scaled>& by,
                                          const Number& percentile);

/// found_bound() as the nearest float64 or a whole number of 64 bits.
[[nodiscard]] Figure found_bound(const Figure& figure);

/// A figure of a tensor or group that is a bound of it: an element of this dtype, an integer or a float.
/// Nothing for what only a plan can tell: a number that is not finite, at the limits of a float dtype, or
/// beyond an integer dtype.
[[nodiscard]] std::optional<ElementBits> bound_element(DType dtype, const Figure& figure);

/// Request::per_axis, counted from 0. Error{input} for an axis that the tensor does not have.
[[nodiscard]] std::vector<std::size_t> axes_of(const Request& request, const TensorLayout& layout);

/// The groups of each source along Request::per_axis.
[[nodiscard]] std::vector<Groups> groups_of(const Request& request, std::span<const TensorSource> sources);

/// The shape of arrays of figures, without sizes of 1 in front.
[[nodiscard]] std::vector<std::int64_t> lengths_of_groups(const Request& request, const TensorLayout& layout);

/// A rule of floats that leaves their range, which bounds nothing unless a later step gives it a meaning.
[[nodiscard]] Number within_floats(const Request& request, DType dtype, const Field& bound,
                                   const Number& rule);

/// What converts a bound of one of several groups as if it alone had been given: without arrays, and without
/// a number that only results of a wider dtype reach.
[[nodiscard]] Request bounds_alone(const Request& request, DType dtype);

/// The prefix() in which the figures of a step after the clip are found: elements of the tensor's dtype, or
/// float64.
[[nodiscard]] Request first_steps(const Request& request, DType dtype, Field::Step step);

/// first_steps() of integers of 64 bits without float64. What has no value becomes `otherwise`, and so does a
/// replacement that is no element. Fractions of bounds, which are less than 2^53, are rounded.
[[nodiscard]] Request exact_steps(const Request& request, DType dtype, ElementBits otherwise);

/// Whether exact_steps() take the bounds of the request: of scaled elements they may be beyond the dtype.
[[nodiscard]] bool has_exact_steps(const Request& request, DType dtype);

/// Whether the figure is an element.
[[nodiscard]] inline bool is_extreme(const Parameter& figure) {
  return figure.expression.is_only(Statistic::min) || figure.expression.is_only(Statistic::max);
}

/// Why a tensor or group has no elements from which a figure can be calculated. A mean needs finite ones.
[[nodiscard]] std::string_view why_lost(const Request& request, const TensorLayout& layout, bool has_mask,
                                        bool has_infinity);

/// Collects the figures that a tensor, or groups of its elements, do not have.
class LostFigures {
 public:
  /// `text` is the figure as given, `place` that of the group: "", or " at [0, 2, 0]". All groups after the
  /// first one are only counted.
  void add(std::string_view field, const std::string& text, std::string place, std::string_view why);

  /// Appends what was collected, one entry for all figures that are lost in the same way, and forgets it.
  void move_to(std::vector<LostBound>& lost, bool flatten = false);

 private:
  struct Entry {
    std::string_view field;
    std::string text;
    std::string place;  ///< of the first group
    std::string_view why;
    std::uint64_t groups = 1;
  };

  std::vector<Entry> entries_;
};

/// A rule of a group whose spread is 0.
struct FlatRule {
  std::uint64_t group;
  std::string_view field;
  std::string text;
  Figure number;
  std::string_view why;  ///< "the mad is 0"
};

/// Adds those of a group's bounds that are such rules.
void add_flat(const Request& request, const FieldList& bounds, const GroupNumbers& found, std::uint64_t group,
              std::vector<FlatRule>& rules);

/// Calls `found` for those of the rules, in the order of groups, beyond which the group has elements.
void find_flattened(const std::vector<FlatRule>& rules, const ElementSource& source, SimdLevel level,
                    const std::function<void(const FlatRule&)>& found);

/// A percentile that is no bound. For a step that needs finite ones, that of an empty range.
[[nodiscard]] Number widest(const Request& request, const TensorLayout& layout, bool is_min);

/// What the user is told: "--min 1% is no bound: all elements are NaN"; "--max median+3mad (0) flattens what
/// is beyond: the mad is 0".
[[nodiscard]] std::string lost_text(const LostBound& lost);

/// What is clipped for figures: all that it refers to must live as long as the source.
struct ClippedFrom {
  const std::vector<TensorSource>& sources;  ///< of one dtype, unless `first` makes it one
  const std::vector<Groups>& groups;         ///< of each source
  std::uint64_t row;                         ///< elements of a group, of all sources
  bool has_mask;
  const std::string& path;  ///< in front of errors: that of the only source
  const KernelOptions& options;
};

/// The elements after the first steps, which must live as long as the source.
[[nodiscard]] ElementSource clipped_elements(const Request& first, const ClippedFrom& from);

/// What the stages of a plan give, calculated each time it is read; `before` and `source` must live as long.
[[nodiscard]] TensorSource source_after(const Plan& before, const TensorSource& source,
                                        const TensorLayout& layout, const std::string& name,
                                        const KernelOptions& options);

/// The request with numbers and arrays in place of the figures of all elements of the sources, which have one
/// dtype. A tensor or group without elements from which a figure can be calculated is left as it is by the
/// step that needs the figure, which `lost` says; with OnNan::min or max of such a bound NaN is kept.
/// Error{input}, which names the parameter, for figures that are infinite, a percentile between -inf and inf,
/// or a divisor of 0. The result has the sources' units: see set_units().
[[nodiscard]] Request with_figures(const Request& request, std::span<const TensorSource> sources,
                                   const KernelOptions& options, std::vector<LostBound>& lost);

}  // namespace clipper
