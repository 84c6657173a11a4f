#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "contract/steps.hpp"
#include "element/small_floats.hpp"
#include "engine/parameter_tile.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "flows/figures.hpp"
#include "formats/parameter_file.hpp"

namespace clipper {

namespace {

constexpr std::string_view kAnd = " and ";

bool is_bound(std::string_view field) {
  return field == "min" || field == "max";
}

/// Whether a bound of floats may be a finite number that only a wider dtype has.
bool may_be_far(const std::optional<Parameter>& bound, DType dtype) {
  if (!bound || !is_floating(dtype)) return false;
  if (bound->array) return bound->array->layout().dtype != dtype;
  return bound->number.kind == Number::Kind::finite &&
         number_of(dtype, nearest_element(dtype, bound->number)).kind != Number::Kind::finite;
}

}  // namespace

std::string_view why_lost(const Request& request, const TensorLayout& layout, bool has_mask,
                          bool has_infinity) {
  const bool has_nodata = !request.nodata.empty();
  if (layout.count == 0) return "the tensor has no elements";
  if (has_mask) return "the mask leaves no valid element";
  if (has_infinity) return has_nodata ? "no element except nodata is finite" : "no element is finite";
  if (layout.meaning.is_time()) return "all elements are NaT";
  if (!has_nodata) return "all elements are NaN";
  return is_floating(layout.dtype) ? "all elements are nodata or NaN" : "all elements are nodata";
}

void LostFigures::add(std::string_view field, const std::string& text, std::string place,
                      std::string_view why) {
  const auto entry = std::ranges::find(entries_, field, &Entry::field);
  if (entry == entries_.end())
    entries_.push_back({field, text, std::move(place), why});
  else
    ++entry->groups;
}

void LostFigures::move_to(std::vector<LostBound>& lost, bool flatten) {
  for (auto first = entries_.begin(); first != entries_.end();) {
    const auto other = std::find_if(first, entries_.end(), [&](const Entry& entry) {
      return is_bound(entry.field) != is_bound(first->field) || entry.place != first->place ||
             entry.groups != first->groups || entry.why != first->why;
    });
    std::string text = first->text;
    for (auto entry = first + 1; entry != other; ++entry)
      text += fmt::format("{}{} {}", kAnd, field_named(entry->field)->option(), entry->text);
    text += first->place;
    if (first->groups > 1)
      text += fmt::format(" and {} other {}", first->groups - 1, first->groups == 2 ? "index" : "indexes");
    lost.push_back({first->field, std::move(text), first->why, flatten});
    first = other;
  }
  entries_.clear();
}

std::string lost_text(const LostBound& lost) {
  const bool are_two = lost.text.find(std::string(kAnd) + "--") != std::string::npos;
  const std::string_view what = lost.flattens ? are_two ? "flatten what is beyond" : "flattens what is beyond"
                                : is_bound(lost.field) ? are_two ? "are no bounds" : "is no bound"
                                : are_two              ? "are left out"
                                                       : "is left out";
  return fmt::format("{} {} {}: {}", field_named(lost.field)->option(), lost.text, what, lost.why);
}

void add_flat(const Request& request, const FieldList& bounds, const GroupNumbers& found, std::uint64_t group,
              std::vector<FlatRule>& rules) {
  for (std::size_t i = 0; i < bounds.size(); ++i)
    if (!found.flat[i].empty() && found.figures[i])
      rules.push_back(
          {group, bounds[i]->name, bounds[i]->number_in(request)->text, *found.figures[i], found.flat[i]});
}

void find_flattened(const std::vector<FlatRule>& rules, const ElementSource& source, SimdLevel level,
                    const std::function<void(const FlatRule&)>& found) {
  if (rules.empty()) return;
  const std::array ends{Parameter::percentile(0).expression, Parameter::percentile(100).expression};
  auto rule = rules.begin();
  figures_of_groups(source, ends, level, [&](std::uint64_t group, const GroupNumbers& numbers) {
    for (; rule != rules.end() && rule->group == group; ++rule)
      if (rule->field == "min" ? compare(*numbers.figures[0], rule->number) < 0
                               : compare(*numbers.figures[1], rule->number) > 0)
        found(*rule);
  });
}

Number widest(const Request& request, const TensorLayout& layout, bool is_min) {
  if (user_of_bounds(request) != nullptr) {
    const std::optional<Parameter>& other = is_min ? request.max : request.min;
    if (!other || is_figure(*other)) return 1;
    if (other->array) return number_of(layout.dtype, (is_min ? lowest_finite : highest_finite)(layout.dtype));
    const std::optional<ElementBits> nearest =
        is_min ? greatest_to(layout.dtype, other->number) : least_from(layout.dtype, other->number);
    return nearest ? number_of(layout.dtype, *nearest) : other->number;
  }
  return number_of(layout.dtype, is_min ? lowest_element(layout.dtype) : highest_element(layout.dtype));
}

void FoundArray::add_float(const Figure& number, ElementBits element) {
  const auto widened = [this](ElementBits each) { return Figure::of(dtype_, each).nearest(); };
  const bool is_far = keeps_exact_ && number.is_finite() && dtype_ != DType::float64 &&
                      !std::isfinite(widened(nearest_element(dtype_, number)));
  if (is_far && !has_fraction_)
    with_size(traits(dtype_).size, [&]<std::size_t kSize>() {
      for (std::size_t at = 0; at < elements_.size(); at += kSize) {
        UnsignedOfSize<kSize> before;
        std::memcpy(&before, &elements_[at], kSize);
        append(DType::float64, to_bits(widened(before)), numbers_);
      }
    });
  has_fraction_ |= is_far;
  if (has_fraction_)
    append(DType::float64, to_bits(is_far ? number.nearest() : widened(element)), numbers_);
  else
    append(dtype_, element, elements_);
}

void FoundArray::expect_one_dtype(const Message& figure, const std::string& path) const {
  if (lost_.size() <= 1 || !has_fraction_ || !is_rounded_) return;
  with_path(path, [&] {
    refuse_request(
        figure +
        ": some indexes have fractions, others integers beyond 2^53, and no dtype has both; clip each "
        "index alone");
  });
}

Parameter FoundArray::take(const std::string& text, const TensorLayout& layout) {
  return parameter_found(text, layout, std::move(has_fraction_ ? numbers_ : elements_),
                         has_lost_ ? std::move(lost_) : std::vector<std::uint8_t>());
}

FoundResults::FoundResults(const Field& field, const Request& request, DType last)
    : to_(last), round_(request.round) {
  if (field.step == Field::Step::elements) {
    if (is_floating(last)) round_.reset();
  } else if (request.subtract || request.divide || request.stretch) {
    to_ = DType::float64;
    round_.reset();
  }
}

void FoundResults::add(const std::optional<Figure>& found) {
  if (!found) return static_cast<void>(numbers_.emplace_back());
  const bool is_rounded = round_ || !is_floating(to_);
  const Number number =
      is_rounded ? rounded(Number(*found), round_.value_or(Round::half_even)) : Number(*found);
  numbers_.emplace_back(is_floating(to_) ? number_of(to_, nearest_element(to_, number)) : number);
}

Parameter FoundResults::take(const Message& figure, const std::string& text, TensorLayout layout) const {
  constexpr std::array kIntegers{DType::int64, DType::uint64};
  const auto* const integer = std::ranges::find_if(kIntegers, [&](DType dtype) {
    return std::ranges::all_of(numbers_,
                               [&](const auto& number) { return !number || has_integer(dtype, *number); });
  });
  if (!is_floating(to_) && integer == kIntegers.end())
    refuse_request(figure + ": no dtype has the numbers of all indexes");
  layout.dtype = is_floating(to_) ? to_ : *integer;
  std::vector<std::byte> elements;
  std::vector<std::uint8_t> lost;
  for (const std::optional<Number>& number : numbers_) {
    lost.push_back(number ? 0 : 1);
    append(layout.dtype,
           !number            ? ElementBits{0}
           : is_floating(to_) ? nearest_element(to_, *number)
                              : integer_element(layout.dtype, *number),
           elements);
  }
  if (std::ranges::all_of(numbers_, is_found)) lost.clear();
  Parameter found = parameter_found(text, layout, std::move(elements), std::move(lost));
  found.number = **std::ranges::find_if(numbers_, is_found);
  found.found = found_text(*found.array);
  return found;
}

std::vector<FoundArray> arrays_of(const Request& request, const FieldList& factors, DType dtype) {
  std::vector<FoundArray> arrays;
  for (const Field* const factor : factors) {
    const Parameter& given = *factor->number_in(request);
    const Expression::Figure* const alone = given.expression.alone();
    const bool is_exact = alone != nullptr && (alone->percentage || alone->statistic <= Statistic::absmax) &&
                          !given.expression.is_only(Statistic::std);
    const bool keeps_integers = is_exact && (factor->number() == &Request::subtract || is_extreme(given));
    arrays.emplace_back(request, keeps_integers && is_long_integer(dtype) ? dtype : DType::float64);
  }
  return arrays;
}

Request first_steps(const Request& request, DType dtype, Field::Step step) {
  Request first = prefix(request, step);
  first.mask.reset();
  first.mask_to.reset();
  const auto calculates = [](const Field& field) {
    return field.step != Field::Step::elements && field.step != Field::Step::clip;
  };
  const bool is_wide = first_given(first, calculates) != nullptr || request.nan.number ||
                       may_be_far(request.min, dtype) || may_be_far(request.max, dtype) ||
                       (!is_floating(dtype) && (has_fraction(request.min) || has_fraction(request.max)));
  if (is_wide || !request.nodata.empty()) first.to = DType::float64;
  if (!request.nodata.empty()) first.nodata_to = std::numeric_limits<double>::quiet_NaN();
  return first;
}

bool has_exact_steps(const Request& request, DType dtype) {
  const auto is_one = [&](const std::optional<Parameter>& bound) {
    return !bound || (!bound->array && has_integer(dtype, bound->number));
  };
  return (!request.scale && !request.bias) || (is_one(request.min) && is_one(request.max));
}

Request exact_steps(const Request& request, DType dtype, ElementBits otherwise) {
  Request first = first_steps(request, dtype, Field::Step::normalize);
  const Number none = number_of(dtype, otherwise);
  first.to.reset();
  first.round = Round::half_even;
  if (first.nodata_to) first.nodata_to = none;
  // An element that becomes a fraction becomes an integer beyond it, which no other element is.
  if (is_number(first.min) && !first.replace_below)
    first.min->number = rounded(first.min->number, Round::floor);
  if (is_number(first.max) && !first.replace_above)
    first.max->number = rounded(first.max->number, Round::ceil);
  const auto element = [&](const Parameter& given) {
    return has_integer(dtype, given.number) ? integer_element(dtype, given.number) : otherwise;
  };
  for (std::optional<Parameter>* const replacement : {&first.replace_below, &first.replace_above})
    if (*replacement && (*replacement)->array)
      (*replacement)->array = with_elements(**replacement, dtype, element);
    else if (*replacement && !has_integer(dtype, (*replacement)->number))
      *replacement = none;
  return first;
}

std::vector<std::size_t> axes_of(const Request& request, const TensorLayout& layout) {
  const auto rank = std::ssize(layout.shape);
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : request.per_axis) {
    if (axis < -rank || axis >= rank)
      throw Error(ErrorKind::input,
                  parameter("per_axis") + fmt::format(" {}: the tensor has no such axis, its shape is {}",
                                                      axis, shape_text(layout.shape)));
    axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  }
  return axes;
}

std::vector<Groups> groups_of(const Request& request, std::span<const TensorSource> sources) {
  std::vector<Groups> groups;
  for (const TensorSource& source : sources)
    groups.emplace_back(source.layout, axes_of(request, source.layout));
  return groups;
}

std::vector<std::int64_t> lengths_of_groups(const Request& request, const TensorLayout& layout) {
  const std::vector<std::int64_t> shape = Groups(layout, axes_of(request, layout)).shape();
  return {std::ranges::find_if(shape, [](std::int64_t size) { return size != 1; }), shape.end()};
}

Number within_floats(const Request& request, DType dtype, const Field& bound, const Number& rule) {
  const bool is_outward = rule.negative == (bound.number() == &Request::min);
  if (!is_floating(dtype) || rule.kind != Number::Kind::finite || !is_outward || has_later_step(request))
    return rule;
  const Number highest = number_of(dtype, highest_finite(dtype));
  Number magnitude = rule;
  magnitude.negative = false;
  if (magnitude <= highest) return rule;
  return number_of(dtype, (rule.negative ? lowest_element : highest_element)(dtype));
}

Request bounds_alone(const Request& request, DType dtype) {
  Request alone{.min = request.min,
                .max = request.max,
                .profile = request.profile,
                .min_above_max = request.min_above_max};
  if (const Field* const user = user_of_bounds(request)) user->copy(request, alone);
  for (std::optional<Parameter>* const bound : {&alone.min, &alone.max})
    if (*bound && !is_figure(**bound) && ((*bound)->array || may_be_far(*bound, dtype))) bound->reset();
  return alone;
}

namespace {

/// The exact x * scale + bias, of up to 129 bits.
Figure exact_value(const Operation& operation, DType dtype, ElementBits element) {
  const Int128 x =
      with_element(dtype, element, [](auto each) { return static_cast<Int128>(comparable(each)); });
  const auto scale = SignedInteger::of(operation.scale);
  const auto [bias_is_negative, bias] = SignedInteger::of(operation.bias);
  const auto magnitude = static_cast<UInt128>(x < 0 ? -x : x) * scale.magnitude;
  const bool is_negative = (x < 0) != scale.negative;
  const auto number = [](bool negative, UInt128 value) -> Figure {
    if (value >> 126 != 0) return *parse_number(fmt::format("{}{}", negative ? "-" : "", value));
    const Figure magnitude(static_cast<Int128>(value), 0);
    return negative ? -magnitude : magnitude;
  };
  if (is_negative == bias_is_negative) return number(is_negative, magnitude + bias);
  return magnitude >= bias ? number(is_negative, magnitude - bias)
                           : number(bias_is_negative, bias - magnitude);
}

/// The two operations, each rounded to T.
template <class T>
Figure rounded_value(const Operation& operation, DType dtype, ElementBits element) {
  const auto scale = static_cast<T>(operation.scale.head);
  const T x = with_element(dtype, element, [](auto each) { return static_cast<T>(comparable(each)); });
  const T product = operation.divides ? x / scale : x * scale;
  return static_cast<double>(product + static_cast<T>(operation.bias.head));
}

}  // namespace

std::optional<Scaled> scaled(const Request& request, const TensorLayout& layout) {
  if (!request.scale && !request.bias) return std::nullopt;
  Request alone{.scale = request.scale, .bias = request.bias, .profile = request.profile};
  if (request.profile->family == "clipper") alone.to = DType::float64;
  if (request.profile->bounds == Profile::Bounds::required) {
    alone.min = -std::numeric_limits<double>::infinity();
    alone.max = std::numeric_limits<double>::infinity();
  }
  const Operation operation = make_plan_in_units(alone, layout).operation;
  const DType from = layout.dtype;
  Scaled by;
  by.is_exact = operation.arithmetic == Arithmetic::integer;
  by.descends = std::signbit(operation.scale.head);
  by.loses_infinity = !by.is_exact && operation.scale.head == 0 && traits(from).has_infinity;
  if (by.is_exact) {
    by.value = [=](ElementBits element) { return exact_value(operation, from, element); };
  } else if (operation.arithmetic == Arithmetic::float32) {
    by.dtype = DType::float32;
    by.value = [=](ElementBits element) { return rounded_value<float>(operation, from, element); };
  } else {
    by.value = [=](ElementBits element) { return rounded_value<double>(operation, from, element); };
  }
  return by;
}

Figure found_bound(const Figure& figure) {
  const double nearest = figure.nearest();
  return std::fabs(nearest) < kIntegersEnd ? Figure(nearest) : Figure(found_bound(Number(figure)));
}

std::optional<ElementBits> bound_element(DType dtype, const Figure& figure) {
  if (!figure.is_finite()) return std::nullopt;
  const double nearest = figure.nearest();
  const auto end = [=](ElementBits element) { return Figure::of(dtype, element).nearest(); };
  if (is_floating(dtype))
    return nearest > end(lowest_finite(dtype)) && nearest < end(highest_finite(dtype))
               ? std::optional(nearest_element(dtype, figure))
               : std::nullopt;
  if (std::fabs(nearest) >= kIntegersEnd)
    return has_integer(dtype, figure) ? std::optional(integer_element(dtype, figure)) : std::nullopt;
  return with_type(dtype, [=]<class T>() -> std::optional<ElementBits> {
    const double cut = std::trunc(nearest);
    if constexpr (!HalfType<T>)
      if (cut >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
          cut <= static_cast<double>(std::numeric_limits<T>::max()))
        return to_bits(static_cast<T>(cut));
    return std::nullopt;
  });
}

std::string percentile_text(const TensorLayout& layout, const std::optional<Scaled>& by,
                            const Number& percentile) {
  if (by && by->is_exact) {
    const Number bound = found_bound(percentile);
    if (is_integer(bound)) return decimal_text(bound);
  }
  if (by) return bound_text(layout.dtype, by->dtype, nearest_element(by->dtype, percentile));
  const bool is_beyond = percentile < number_of(layout.dtype, lowest_finite(layout.dtype)) ||
                         percentile > number_of(layout.dtype, highest_finite(layout.dtype));
  if (is_beyond && percentile.kind == Number::Kind::finite)  // a rule
    return is_floating(layout.dtype) ? fmt::format("{}", round_to<double>(percentile))
                                     : decimal_text(found_bound(percentile));
  const Scalar scalar = as_scalar(layout.dtype, percentile);
  return element_text(scalar.dtype, layout.meaning, scalar.bits);
}

namespace {

/// Bytes of clipped elements that are looked at together.
constexpr std::size_t kClippedBytes = 64UL << 10;

/// Calls `look` with what a plan of decoded elements gives of the source.
void read_after(const Plan& plan, const TensorSource& source, const KernelOptions& options,
                const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
  const std::size_t in_size = traits(plan.input.dtype).size;
  const std::size_t capacity = kClippedBytes / plan.largest_element();
  TensorClip clip(plan, options, source.path);
  source.read(wanted, [&](std::uint64_t position, std::span<const std::byte> elements) {
    const auto clipped = std::make_unique_for_overwrite<std::byte[]>(kClippedBytes);
    while (!elements.empty()) {
      const std::size_t count = std::min(capacity, elements.size() / in_size);
      clip.clip(position, elements.data(), clipped.get(), count, Counting::off);
      look(position, {clipped.get(), count * traits(plan.output.dtype).size});
      elements = elements.subspan(count * in_size);
      position += count;
    }
  });
  clip.expect_valid();
}

Plan first_plan(const Request& first, const TensorLayout& tensor, const std::string& path) {
  return with_path(path, [&] { return decoded(make_plan_in_units(first, tensor)); });
}

/// Gathers the clipped elements of the groups in the table, or calls `look` with them if there is none.
void read_clipped(const Request& first, const ClippedFrom& from, const GroupRange& range,
                  const ElementSource::Look& look, GroupTable* table) {
  std::uint64_t member = 0;
  for (std::size_t i = 0; i < from.sources.size(); ++i) {
    const TensorSource& source = from.sources[i];
    const Groups& groups = from.groups[i];
    const Plan plan = first_plan(first, source.layout, from.path);
    const std::size_t size = traits(plan.output.dtype).size;
    read_after(plan, source, from.options, parts_of(groups, range),
               [&](std::uint64_t position, std::span<const std::byte> block) {
                 const std::vector<std::byte> flags = source.flags(position, block.size() / size);
                 if (table != nullptr)
                   table->gather(groups, range, position, block, flags, member);
                 else
                   groups.split(range, position, block, size, look, flags);
               });
    member += groups.members();
  }
}

}  // namespace

ElementSource clipped_elements(const Request& first, const ClippedFrom& from) {
  const DType dtype = first_plan(first, from.sources.front().layout, from.path).output.dtype;
  ElementSource all{.dtype = dtype,
                    .count = from.row,
                    .read = {},
                    .path = from.path,
                    .groups = from.groups.front().count()};
  const bool gathers = all.at_once() != 0;
  all.read = [from, &first, gathers, dtype](const GroupRange& range, const ElementSource::Look& look) {
    if (!gathers) return read_clipped(first, from, range, look, nullptr);
    GroupTable table(range.count, from.row, traits(dtype).size, from.has_mask);
    read_clipped(first, from, range, {}, &table);
    for (std::size_t group = 0; group < range.count; ++group) look(group, table.counted(group));
  };
  return all;
}

TensorSource source_after(const Plan& before, const TensorSource& source, const TensorLayout& layout,
                          const std::string& name, const KernelOptions& options) {
  const auto read = [&before, &source, options](const TensorSource::Wanted& wanted,
                                                const TensorSource::Look& look) {
    read_after(decoded(before), source, options, wanted, look);
  };
  return {layout, source.path.empty() ? name : source.path + ": " + name, read};
}

}  // namespace clipper
