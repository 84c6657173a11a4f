#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clip/clip.hpp"
#include "contract/arrays.hpp"
#include "contract/bounds.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "memory/elements.hpp"

/// Request + TensorLayout -> Plan: every rule is checked here, before anything has been created.
namespace clipper {

/// Consecutive elements of a tensor in its file.
struct Slice {
  std::uint64_t first = 0;  ///< number of elements before the slice
  std::uint64_t count = 0;
};

/// A bound that is a percentile, or a subtrahend or divisor that is a statistic, of a tensor that has none:
/// it has no elements, or only NaN. Or a rule whose spread is 0, beyond which there are elements.
struct LostBound {
  std::string_view field;  ///< "min"
  std::string text;        ///< as given: "1%"
  std::string_view why;    ///< "all elements are NaN"
  bool flattens = false;   ///< whether it is such a rule
};

/// What becomes of elements that are no data.
struct NodataPlan {
  Nodata read;                    ///< of the input's dtype
  Nodata written;                 ///< of the output's: what marks them in the result
  std::optional<ElementBits> to;  ///< what they become; otherwise they keep their value
  Operation keeping;              ///< by which they do if the dtype changes
  std::string text;               ///< as given: "-9999, nan"
};

/// What becomes of elements outside of a mask.
struct MaskPlan {
  Parameter mask;  ///< elements where it is not 0 are in it
  ElementBits to = 0;
  std::optional<Broadcast> each{};  ///< in place of `to`: ElementBits, and where none is found, if anywhere
};

/// Everything that is decided about clipping a tensor, or a slice of it.
struct Plan {
  TensorLayout input;
  TensorLayout output;  ///< with another dtype, if there is a cast; of a part that becomes a tensor of
                        ///< its own, the part's shape
  Slice slice;          ///< the elements to clip: all of them, or those of one shard
  Operation operation;
  std::optional<Broadcast> arrays;              ///< replace numbers of the operation
  std::shared_ptr<const ParameterArray> norms;  ///< that were found, of which max_norm makes factors
  std::optional<NodataPlan> nodata;             ///< the operation is for all elements but these
  std::optional<MaskPlan> mask;                 ///< the operation is for the elements in it
  DType bound_dtype = DType::float32;           ///< of min and max: the input's, or that of the arithmetic
  ElementBits min = 0;              ///< the numbers as converted, for people: operation.lo and hi, unless
  ElementBits max = 0;              ///< min exceeds max and every element becomes min
  std::optional<Number> exact_min;  ///< in place of min and max, if they are given, for a cast with
  std::optional<Number> exact_max;  ///< Arithmetic::integer
  std::vector<CutBound> cut;        ///< bounds about which the user should be warned
  std::vector<LostBound> lost;      ///< no bounds: about which the user should be told

  // Of a tensor with groups that lack figures, each of which is left as it is by the steps that need them.
  // Or of a tensor with several zero points.
  std::optional<Broadcast> missing_figures;  ///< the key of the plan for each element
  std::uint8_t missing = 0;                  ///< the key of this plan: see Variants
  std::string zero_points;                   ///< as given, if there are several
  std::vector<Plan> others;                  ///< without these steps: for the elements that lack others

  bool takes_other_bounds =
      false;                   ///< other calls may give arrays as bounds: nothing depends on the given ones
  bool refuse_nan = false;     ///< a NaN among the results is an Error{input} that names the first one
  bool refuse_beyond = false;  ///< so is a result beyond the elements of a dtype without infinity

  /// Of the later stages: the first takes the result of all of the above, and `output` is what the last
  /// gives.
  std::vector<Plan> then{};

  /// Whether scale or bias has a fraction, and the results, of an integer dtype, are truncated because the
  /// request says neither `to` nor `round`: the user should be warned.
  bool truncates_fractions = false;

  /// The array that gives the parameter; null if a number does.
  [[nodiscard]] const ArrayParameter* array(ParameterId parameter) const {
    return arrays ? arrays->find(parameter) : nullptr;
  }

  /// The position of the slice among the input's elements, its size, and that of its results, in bytes.
  [[nodiscard]] std::uint64_t slice_offset() const { return slice.first * traits(input.dtype).size; }
  [[nodiscard]] std::uint64_t input_size() const { return slice.count * traits(input.dtype).size; }
  [[nodiscard]] std::uint64_t output_size() const { return slice.count * traits(output.dtype).size; }

  /// The size of an element of the input or of the output, whichever is greater.
  [[nodiscard]] std::size_t largest_element() const {
    return std::max(traits(input.dtype).size, traits(output.dtype).size);
  }

  /// Whether elements beyond a bound become other numbers than the bound.
  [[nodiscard]] bool replaces_beyond() const {
    return operation.cast && (operation.cast->below || operation.cast->above);
  }

  [[nodiscard]] bool replaces_nan() const {
    return operation.nan.has_value() || (operation.cast && operation.cast->nan);
  }

  /// Whether elements within the bounds can become infinite or 0: see clip/operation.hpp.
  [[nodiscard]] bool may_lose() const { return operation.cast || operation.arithmetic != Arithmetic::none; }

  /// Whether somebody must look for NaN among the results: a cast finds them itself.
  [[nodiscard]] bool looks_for_nan() const {
    return then.empty() ? refuse_nan && !operation.cast : may_refuse_elements();
  }

  /// Whether any element can be no data.
  [[nodiscard]] bool has_nodata() const { return nodata && !nodata->read.matches_nothing(); }

  [[nodiscard]] bool may_refuse_elements() const {
    const auto may = [](const Plan& other) { return other.may_refuse_elements(); };
    return refuse_nan || refuse_beyond || std::ranges::any_of(others, may) || std::ranges::any_of(then, may);
  }

  /// Whether any stage has parameters that differ from element to element.
  [[nodiscard]] bool has_arrays() const {
    return arrays || mask || std::ranges::any_of(then, [](const Plan& later) { return later.has_arrays(); });
  }

  /// Whether elements that are not clipped have other bytes: also if bool becomes uint8, or the byte order
  /// is another.
  [[nodiscard]] bool changes_dtype() const {
    return input.dtype != output.dtype || input.meaning.kind != output.meaning.kind || changes_order();
  }

  /// Elements of one byte, which have no order, become little-endian ones, unless the request has an order.
  [[nodiscard]] bool changes_order() const {
    const ByteOrder before = input.element_size() > 1 ? input.order : ByteOrder::little;
    return output.order != before && output.element_size() > 1;
  }

  /// The result's dtype, with its byte order if the request has another one than the input.
  [[nodiscard]] OrderedDType output_type() const {
    const bool has_order = changes_order() && !is_foreign(output.dtype);
    return {output.dtype, has_order ? std::optional(output.order) : std::nullopt};
  }

  /// Plans with equal fingerprints produce the same bytes from the same input. Shards and files that are
  /// changed directly store it on disk: whoever changes the text must raise the format number at its begin.
  [[nodiscard]] std::string fingerprint() const;
};

/// The plans of all stages, each with its own output, for the same elements.
[[nodiscard]] std::vector<Plan> stages_of(const Plan& plan);

/// Calls use(plan, i) for each of these, without a copy of a plan that has no later stages.
template <class Use>
void for_each_stage(const Plan& plan, const Use& use) {
  if (plan.then.empty()) return use(plan, 0);
  const std::vector<Plan> stages = stages_of(plan);
  for (std::size_t i = 0; i < stages.size(); ++i) use(stages[i], i);
}

/// Makes the plan of a request by `make` for each of its stages: called with the stage, the layout of what it
/// takes, the plan of all stages before it, and the name that its errors begin with: see stage_name(). The
/// first stage has none, and no stages before it.
using MakeStage =
    std::function<Plan(const Request&, const TensorLayout&, const Plan& before, const std::string& name)>;
[[nodiscard]] Plan plan_stages(const Request& request, const TensorLayout& layout, const MakeStage& make);

/// The plan for elements of its input that are decoded (memory/elements.hpp), whose results are not encoded.
[[nodiscard]] Plan decoded(Plan plan);

/// A bound as given, not converted: for counting the elements beyond it.
struct Limit {
  Number number;                       ///< never NaN; meaningless for an array
  std::string text;                    ///< as typed, or the only element of @file.npy
  std::optional<ElementBits> element;  ///< the nearest element within; empty if all elements are beyond
  std::optional<Plan> plan{};          ///< only for an array: clips to this bound and does nothing else
};

/// Request::min and Request::max as limits for a tensor. Error{usage} for NaN as a number, and for a file of
/// another dtype; Error{input} for a file whose shape does not broadcast to the tensor's.
[[nodiscard]] std::optional<Limit> min_limit(const Request& request, const TensorLayout& layout);
[[nodiscard]] std::optional<Limit> max_limit(const Request& request, const TensorLayout& layout);

/// Error{usage} for numbers and combinations that the profile forbids, and for a number from a file of
/// another dtype; Error{input} for a tensor that the profile does not take, or that an array does not
/// broadcast to. The elements of arrays are checked when they are used.
[[nodiscard]] Plan make_plan(const Request& request, const TensorLayout& layout);

/// The same for a request that set_units() has changed, or for a tensor of numbers.
[[nodiscard]] Plan make_plan_in_units(const Request& request, const TensorLayout& layout);

/// The elements of the tensor that are no data. Error{usage} for what is no number.
[[nodiscard]] Nodata nodata_of(const Request& request, DType dtype);

/// The number of a bound as converted, for people: "6". If there is no such bound, the limit of the bounds'
/// dtype, or of integer arithmetic before a cast, which has none, "-inf" or "inf".
[[nodiscard]] std::string bound_text(const Plan& plan, ParameterId bound);

/// What replaces NaN, for people: an element, or "min" if an array gives it. Only if plan.replaces_nan().
[[nodiscard]] std::string replacement_text(const Plan& plan);

/// The plan with its numbers as converted, for people: "float32 (3, 4), ..., min 0, max 6". May be reworded.
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace clipper
