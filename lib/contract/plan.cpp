#include "contract/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "error.hpp"

namespace clipper {

namespace {

/// What distinguishes a plan for some of the elements.
struct Variant {
  ParameterSet missing = 0;            ///< the parameters that they lack
  std::optional<Number> zero_point{};  ///< theirs, if zero_point is an array

  friend bool operator==(const Variant&, const Variant&) = default;
};

/// Which variant each element of the tensor has: an array of uint8, elements of `keys`.
struct Variants {
  Broadcast places;
  std::vector<Variant> all;        ///< those that lack least first
  std::vector<std::uint8_t> keys;  ///< of each
};

/// The number of each element of an array of zero points.
std::vector<Number> zero_points(const Parameter& given, const TensorLayout& layout) {
  check_shape("zero_point", given, layout.shape);
  const TensorLayout& own = given.array->layout();
  const std::size_t size = traits(own.dtype).size;
  std::vector<Number> numbers;
  for (std::size_t at = 0; at < given.array->held().size(); at += size)
    numbers.push_back(number_of(own.dtype, bits_in(given.array->held().subspan(at, size), own.order)));
  return numbers;
}

/// The parameters that each group lacks, of which `one` becomes an array; nothing if no group lacks any.
std::vector<ParameterSet> missing_sets(const Request& request, const TensorLayout& layout,
                                       std::shared_ptr<const ParameterArray>& one) {
  std::vector<ParameterSet> missing;
  const auto note = [&](ParameterId parameter, const std::shared_ptr<const ParameterArray>& array,
                        const auto& is_missing) {
    one = array;
    missing.resize(array->layout().count);
    for (std::size_t i = 0; i < missing.size(); ++i)
      if (is_missing(i)) missing[i] |= bit_of(parameter);
  };
  for (const Field* const field : fields::kParameters)
    if (const auto& given = field->number_in(request); given && given->array && !given->array->lost().empty())
      note(*field->parameter, given->array,
           [lost = given->array->lost()](std::size_t group) { return lost[group] != 0; });
  if (const auto& norm = request.max_norm;
      is_long_integer(layout.dtype) && norm && norm->array && norm->array->layout().count > 1) {
    const auto factors = norm_factors(*norm);
    note(ParameterId::max_norm, norm->array,
         [&](std::size_t group) { return from_bits<double>(found_element(*factors, group)) == 1; });
  }
  if (std::ranges::all_of(missing, [](ParameterSet set) { return set == 0; })) missing.clear();
  return missing;
}

/// Parameters are lacking that are figures which their groups do not have, and norms because of which nothing
/// is multiplied, so that 64-bit integers do not become float64. Nothing if no element lacks any, and there
/// is one zero point.
std::optional<Variants> variants_of(const Request& request, const TensorLayout& layout) {
  std::shared_ptr<const ParameterArray> one;
  std::vector<ParameterSet> missing = missing_sets(request, layout, one);
  const auto& zero_point = request.zero_point;
  const bool has_zero_points = zero_point && zero_point->array;
  std::vector<Number> numbers;
  if (has_zero_points) {
    numbers = zero_points(*zero_point, layout);
    one = zero_point->array;
    if (missing.empty()) missing.resize(numbers.size());
    if (numbers.empty() || missing.size() != numbers.size())
      refuse_request(label("zero_point", *zero_point) + " must have one number for each index");
  }
  if (missing.empty()) return std::nullopt;
  const auto variant = [&](std::size_t i) {
    return Variant{missing[i], has_zero_points ? std::optional(numbers[i]) : std::nullopt};
  };
  Variants variants;  // few, of groups of which there may be millions
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (std::ranges::find(variants.all, variant(i)) != variants.all.end()) continue;
    if (variants.all.size() == 256)
      refuse_request(label("zero_point", *zero_point) + " has more than 256 different numbers");
    variants.all.push_back(variant(i));
  }
  std::ranges::sort(variants.all, [](const Variant& a, const Variant& b) {
    const auto missing = [](const Variant& v) { return std::pair(std::popcount(v.missing), v.missing); };
    return missing(a) != missing(b) ? missing(a) < missing(b) : a.zero_point && *a.zero_point < *b.zero_point;
  });
  // As many sets as indexes.
  const bool are_numbered = has_zero_points || std::ranges::any_of(variants.all, [](const Variant& each) {
                              return each.missing > std::numeric_limits<std::uint8_t>::max();
                            });
  for (std::size_t i = 0; i < variants.all.size(); ++i)
    variants.keys.push_back(static_cast<std::uint8_t>(are_numbered ? i : variants.all[i].missing));
  std::vector<std::byte> keys;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const auto place = std::ranges::find(variants.all, variant(i)) - variants.all.begin();
    keys.push_back(std::byte{variants.keys[static_cast<std::size_t>(place)]});
  }
  TensorLayout own = one->layout();
  own.dtype = DType::uint8;
  variants.places.arrays.push_back(
      {ParameterId::min, "", with_elements(one, std::move(own), std::move(keys)), {}});
  lay_out(variants.places, layout.shape, layout.fortran_order);
  return variants;
}

/// The only element of a file, of which `element` is the nearest one of the tensor's dtype.
std::string file_text(DType dtype, const Number& number, const std::optional<ElementBits>& element) {
  if (is_floating(dtype) && element) return element_text(dtype, *element);
  return is_integer(number) ? decimal_text(number) : fmt::format("{}", round_to<double>(number));
}

/// The limit of a request that has only one bound, `bound`.
std::optional<Limit> limit(std::string_view field, Request request, std::optional<Parameter> bound,
                           const TensorLayout& layout, decltype(least_from)* within) {
  if (!bound) return std::nullopt;
  give_dtype(bound, layout.dtype);
  if (bound->array) {
    // Beside a bias and a cast, integers are compared with the array's exact numbers, whatever they are.
    if (!is_floating(layout.dtype) && layout.meaning.kind == LogicalType::Kind::number) {
      request.bias = 0;
      request.to = DType::float64;
    }
    return Limit{{}, bound->text, std::nullopt, make_plan(request, layout)};
  }
  const DType dtype = layout.dtype;
  if (bound->opaque) check_dtype(field, bound, dtype, dtype);
  check_shape(field, *bound, layout.shape);
  check_number(*field_named(field), *bound);
  if (bound->number.kind == Number::Kind::nan)
    refuse_request(label(field, *bound) + ": NaN cannot be a bound");
  const std::optional<ElementBits> element = within(dtype, bound->number);
  return Limit{bound->number, bound->dtype ? file_text(dtype, bound->number, element) : bound->text, element};
}

bool takes_rank(const Profile& profile, std::size_t rank) {
  return profile.min_rank <= rank && rank <= profile.max_rank;
}

/// " (ONNX Clip-12 takes it)", if a newer version of the system does.
std::string newer_that_takes(const Profile& profile, const TensorLayout& layout) {
  for (const Profile& newer : profiles())
    if (&newer > &profile && newer.family == profile.family && newer.dtypes.contains(layout.dtype) &&
        takes_rank(newer, layout.shape.size()))
      return fmt::format(" ({} takes it)", newer.system);
  return "";
}

void check_tensor(const Profile& profile, const TensorLayout& layout) {
  if (layout.meaning.kind != LogicalType::Kind::number && !profile.takes_dates)
    throw Error(ErrorKind::input, fmt::format("{} does not take {}", profile.system, type_name(layout)));
  if (!profile.dtypes.contains(layout.dtype)) {
    std::vector<std::string_view> names;
    for (const DTypeTraits& row : kDTypes)
      if (profile.dtypes.contains(row.dtype)) names.push_back(row.name);
    throw Error(ErrorKind::input,
                fmt::format("{} takes {}; this tensor is {}{}", profile.system, joined(names, ", "),
                            traits(layout.dtype).name, newer_that_takes(profile, layout)));
  }
  const std::size_t rank = layout.shape.size();
  if (!takes_rank(profile, rank)) {
    const std::string ranks = profile.min_rank == profile.max_rank
                                  ? fmt::format("exactly {}", profile.min_rank)
                                  : fmt::format("{} to {}", profile.min_rank, profile.max_rank);
    throw Error(ErrorKind::input,
                fmt::format("{} takes tensors of {} dimensions; this tensor has {}{}", profile.system, ranks,
                            rank, newer_that_takes(profile, layout)));
  }
}

/// The plan of a request in the tensor's units and dtype.
Plan planned(const Request& request, const TensorLayout& layout) {
  check_request(request);
  Plan plan;
  plan.input = plan.output = layout;
  plan.slice = {0, layout.count};
  plan.operation.from = plan.operation.dtype = plan.operation.to = layout.dtype;
  for (const Step* const step : steps()) step->choose(request, plan);
  for (const Step* const step : steps()) step->convert(request, plan);
  if (request.to) plan.output.order = request.to->order.value_or(plan.output.order);
  return plan;
}

/// A plan for each set of figures that elements lack, the smallest set first, of which the others are part,
/// and for each zero point.
Plan planned_by_figures(const Request& request, const TensorLayout& layout) {
  std::optional<Variants> variants = variants_of(request, layout);
  if (!variants) return planned(request, layout);
  std::vector<Plan> plans;
  for (std::size_t at = 0; at < variants->all.size(); ++at) {
    const auto& [missing, zero_point] = variants->all[at];
    Request own = request;
    for (const Field* const field : fields::kParameters)
      if ((missing & bit_of(*field->parameter)) != 0) omit(own, *field);
    if (zero_point) {
      const std::span<const std::byte> keys = variants->places.arrays.front().array->held();
      for (const Field* const field : fields::kResults)
        if (std::optional<Parameter>& given = field->number_in(own); given && given->array)
          lose_others(*given,
                      [&, key = std::byte{variants->keys[at]}](std::size_t i) { return keys[i] == key; });
      own.zero_point->number = *zero_point;
      own.zero_point->array.reset();
    }
    plans.push_back(planned(own, layout));
    plans.back().missing = variants->keys[at];
  }
  Plan plan = std::move(plans.front());
  if (request.max_norm) plan.norms = request.max_norm->array;
  if (request.zero_point && request.zero_point->array) plan.zero_points = request.zero_point->text;
  plan.others.assign(std::move_iterator(plans.begin() + 1), std::move_iterator(plans.end()));
  if (!plan.others.empty()) plan.missing_figures = std::move(variants->places);
  return plan;
}

/// Copies the request only if a number or an array of it is not as planned() takes it.
Plan plan_of(const Request& request, const TensorLayout& layout, bool has_units) {
  check_tensor(*request.profile, layout);
  if (has_units && has_dtype(request, layout.dtype) && !has_typed_range(request))
    return planned_by_figures(request, layout);
  Request own = request;
  if (!has_units) set_units(own, layout);
  set_dtype(own, layout.dtype);
  if (has_typed_range(own)) set_range(own, layout.dtype);
  return planned_by_figures(own, layout);
}

}  // namespace

Plan decoded(Plan plan) {
  plan.input.order = plan.output.order = kNativeOrder;
  return plan;
}

std::optional<Limit> min_limit(const Request& request, const TensorLayout& layout) {
  Request only{.min = request.min};
  set_units(only, layout);
  return limit("min", only, only.min, layout, least_from);
}

std::optional<Limit> max_limit(const Request& request, const TensorLayout& layout) {
  Request only{.max = request.max};
  set_units(only, layout);
  return limit("max", only, only.max, layout, greatest_to);
}

std::vector<Plan> stages_of(const Plan& plan) {
  std::vector<Plan> stages{plan};
  stages.front().then.clear();
  stages.insert(stages.end(), plan.then.begin(), plan.then.end());
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    stages[i].output = stages[i + 1].input;
    const TensorLayout& next = stages[i].output;
    if (next.element_size() == 1 && !is_foreign(next.dtype)) stages[i].output.order = stages[i].input.order;
  }
  stages.back().output = plan.output;
  for (Plan& stage : stages) stage.slice = plan.slice;
  return stages;
}

Plan plan_stages(const Request& request, const TensorLayout& layout, const MakeStage& make) {
  Request first = request;
  first.then.clear();
  Plan plan = make(first, layout, {}, "");
  for (std::size_t i = 1; i <= request.then.size(); ++i) {
    const Request& stage = stage_of(request, i);
    if (!stage.then.empty())
      refuse_request(stage_name(i) + ": " + Term{"then", "then"} + ": a stage has none of its own");
    TensorLayout given = plan.output;
    if (given.element_size() == 1) given.order = kNativeOrder;
    Plan next = make(stage, given, plan, stage_name(i));
    plan.output = next.output;
    plan.then.push_back(std::move(next));
  }
  return plan;
}

Plan make_plan(const Request& request, const TensorLayout& layout) {
  if (request.then.empty()) return plan_of(request, layout, is_in_units(request, layout));
  return plan_stages(
      request, layout,
      [](const Request& stage, const TensorLayout& from, const Plan&, const std::string& name) {
        return with_path(name, [&] { return make_plan(stage, from); });
      });
}

Plan make_plan_in_units(const Request& request, const TensorLayout& layout) {
  return plan_of(request, layout, true);
}

std::string Plan::fingerprint() const {
  if (!then.empty()) {
    std::vector<std::string> texts;
    for (const Plan& stage : stages_of(*this)) texts.push_back(stage.fingerprint());
    return joined(texts, "; then ");
  }
  const char order = traits(input.dtype).size == 1 ? '|' : input.order == ByteOrder::little ? '<' : '>';
  const bool is_descr = !traits(input.dtype).only_if_named && input.meaning.kind == LogicalType::Kind::number;
  std::string text = fmt::format("plan 1: {}{}{} {}({}) {}+{}", order,
                                 is_descr ? std::string(traits(input.dtype).descr) : type_name(input),
                                 input.stored_as.empty() ? "" : " opaque", input.fortran_order ? 'F' : 'C',
                                 joined(input.shape, ","), slice.first, slice.count);
  for (const Step* const step : steps()) step->identify(*this, text);
  if (arrays) text += arrays->fingerprint();
  if (const OrderedDType type = output_type(); type.order) text += " to " + text_of(type);
  if (!zero_points.empty() && missing_figures)
    text += fmt::format(" zeros={:016x}", missing_figures->arrays.front().array->fingerprint());
  for (const Plan& other : others)
    text += fmt::format("; without {:x}: {}", other.missing, other.fingerprint());
  return text;
}

std::string describe(const Plan& plan) {
  std::string text = fmt::format(
      "{} {}, {}-endian, {} order", type_name(plan.input), shape_text(plan.output.shape),
      plan.input.order == ByteOrder::little ? "little" : "big", plan.input.fortran_order ? "Fortran" : "C");
  for (const Step* const step : steps()) step->describe(plan, text);
  if (!plan.zero_points.empty()) text += ", other zero points of " + plan.zero_points;
  if (plan.output_type().order)
    text += fmt::format(", written {}-endian", plan.output.order == ByteOrder::little ? "little" : "big");
  return text;
}

}  // namespace clipper
