#include "flows/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "clip/exact_difference.hpp"
#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/fields.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "files/parameter_file.hpp"
#include "flows/figure_parts.hpp"
#include "flows/lists.hpp"
#include "flows/tensor_statistics.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

namespace clipper {
namespace {

/// Bytes of clipped elements whose statistics are added at a time.
constexpr std::size_t kClippedBytes = 64UL << 10;

/// The bounds of the request that are percentiles.
std::vector<Field> percentiles_in(const Request& request) {
  std::vector<Field> bounds;
  for (const Field* const bound : fields::kBounds)
    if (const auto& given = request.*bound->number(); given && given->percentage) bounds.push_back(*bound);
  return bounds;
}

/// The subtrahend and the divisor, if they are statistics.
std::vector<Field> statistics_in(const Request& request) {
  std::vector<Field> factors;
  for (const Field* const factor : fields::kFactors)
    if (const auto& given = request.*factor->number(); given && given->statistic) factors.push_back(*factor);
  return factors;
}

std::vector<Number> percentages_in(const Request& request) {
  std::vector<Number> percentages;
  for (const Field& bound : percentiles_in(request))
    percentages.push_back(*(request.*bound.number())->percentage);
  return percentages;
}

[[noreturn]] void refuse_figure(ErrorKind kind, const Request& request, const Field& figure,
                                const Message& why) {
  throw Error(kind, label(figure.name, *(request.*figure.number())) + ": " + why);
}

bool needs_elements(const Request& request) {
  return !percentiles_in(request).empty() || !statistics_in(request).empty();
}

void check_figures(const Request& request) {
  const bool has_any = needs_elements(request) || (has_lists(request) && !request.pooled);
  if (const Field* const grouping = first_given(request, is_grouping)) {
    if (request.profile->family != "native")
      throw Error(ErrorKind::usage, parameter(grouping->name) +
                                        fmt::format(" is not supported by {}; only profile native has it",
                                                    request.profile->system));
    if (!has_any) refuse_no_figure(request);
  }
  for (const Field& bound : percentiles_in(request)) {
    if (!is_percentile(*(request.*bound.number())->percentage))
      refuse_figure(ErrorKind::usage, request, bound, "a percentile has max 16 decimal places");
    const auto is_scaling = [&](const Field& field) {
      return field.stage == Field::Stage::before && field.is_given(request) &&
             ((request.*field.number())->array || !(request.*field.number())->list.empty());
    };
    if (const Field* const field = first_given(request, is_scaling))
      refuse_figure(
          ErrorKind::usage, request, bound,
          "a percentile cannot be combined with an array as " + Message(Term{field->name, field->name}));
  }
}

/// Makes the figure this number. Errors quote both: "min 99% (6.5)".
void set_number(Given& given, const Number& number, const std::string& text) {
  given.percentage.reset();
  given.statistic.reset();
  given.number = number;
  given.text += " (" + text + ")";
  given.found = text;
}

/// Makes the figure the statistic that was found, if any.
void set_statistic(std::optional<Given>& given, const std::optional<Number>& found) {
  if (found)
    set_number(*given, *found,
               is_integer(*found) ? decimal_text(*found) : fmt::format("{}", round_to<double>(*found)));
  else
    given.reset();
}

/// Calculates and sets the figures of a request in the units of the sources.
class Figures {
 public:
  Figures(Request& request, std::span<const TensorSource> sources, const KernelOptions& options,
          std::vector<LostBound>& lost)
      : request_(request),
        sources_(sources),
        options_(options),
        lost_(lost),
        path_(sources.size() == 1 ? sources[0].path : ""),
        groups_(groups_of(request, sources)) {
    shape_ = sources.size() == 1 ? groups_.front().shape() : lengths_of_groups(request, layout());
    for (const Groups& groups : groups_) row_ += groups.members();
    for (const Field* const field : fields::kGroupings) field->copy({}, request_);
  }

  void find_percentiles();
  void find_statistics();

 private:
  [[nodiscard]] const TensorLayout& layout() const { return sources_.front().layout; }
  [[nodiscard]] std::uint64_t count() const { return groups_.front().count(); }

  /// The shape of arrays with an element for each group.
  [[nodiscard]] TensorLayout layout_of_groups(DType dtype) const {
    TensorLayout found;
    found.dtype = dtype;
    found.shape = shape_;
    found.count = count();
    return found;
  }

  /// Which group, if there are several: " at [0, 2, 0]".
  [[nodiscard]] std::string place_of(std::uint64_t group) const {
    return count() <= 1 ? "" : " at " + index_text(layout_of_groups(DType::float64), group);
  }

  [[noreturn]] void refuse(const Field& figure, const Message& why) const {
    with_path(path_, [&] { refuse_figure(ErrorKind::input, request_, figure, why); });
    __builtin_unreachable();
  }

  [[nodiscard]] Plan plan_of(const Request& request, const TensorLayout& tensor) const {
    return with_path(path_, [&] { return make_plan_in_units(request, tensor); });
  }

  void drop(const Field& figure, std::uint64_t group, bool has_infinity = false);
  void set_percentiles(const std::vector<Field>& bounds, Request& request, const Percentiles& found,
                       std::uint64_t group);
  void set_array(const Field& figure, DType dtype, std::vector<std::byte> elements);
  [[nodiscard]] Plan first_plan(const Request& first, const TensorLayout& tensor) const {
    return decoded(plan_of(first, tensor));
  }
  void read_clipped(const Request& first, const GroupRange& range, const ElementSource::Look& look,
                    std::byte* table) const;
  void for_each_group(const Request& first,
                      const std::function<void(std::uint64_t, const ElementStatistics&)>& found) const;
  DType find_exactly(const Field& factor, std::optional<Number>& found, std::vector<std::byte>& elements);
  void expect_one_dtype(const Field& figure, const FoundArray& array) const;
  [[nodiscard]] bool leaves_nan(const Field& bound, const std::optional<Number>& percentile,
                                std::uint64_t group) const;
  void check(const Field& factor, const Number& number, std::uint64_t group) const;

  Request& request_;
  std::span<const TensorSource> sources_;
  KernelOptions options_;
  std::vector<LostBound>& lost_;
  std::string path_;                 ///< in front of errors: that of the only source
  std::vector<Groups> groups_;       ///< of each source
  std::vector<std::int64_t> shape_;  ///< of arrays with an element for each group
  std::uint64_t row_ = 0;            ///< elements of a group, of all sources
  std::optional<Scaled> scaled_;
  LostFigures dropped_;
};

/// Notes that a group has no elements from which the figure can be calculated. A mean needs finite ones.
void Figures::drop(const Field& figure, std::uint64_t group, bool has_infinity) {
  const bool has_nodata = !request_.nodata.empty();
  const std::string_view why =
      layout().count == 0 ? "the tensor has no elements"
      : has_infinity      ? has_nodata ? "no element except nodata is finite" : "no element is finite"
      : layout().meaning.is_time()  ? "all elements are NaT"
      : !has_nodata                 ? "all elements are NaN"
      : is_floating(layout().dtype) ? "all elements are nodata or NaN"
                                    : "all elements are nodata";
  dropped_.add(figure.name, (request_.*figure.number())->text, place_of(group), why);
}

/// Sets the bounds of `request`, which are percentiles, to the numbers of a group.
void Figures::set_percentiles(const std::vector<Field>& bounds, Request& request, const Percentiles& found,
                              std::uint64_t group) {
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Field& bound = bounds[i];
    const Field* const user = user_of_bounds(request);
    Given& given = *(request.*bound.number());
    if (!found[i]) {
      drop(bound, group);
      const bool is_min = bound.number() == &Request::min;
      if (count() <= 1 && user != nullptr) user->copy({}, request);  // without both bounds
      if (count() <= 1) (is_min ? request.replace_below : request.replace_above).reset();
      set_number(given, widest(request, layout(), is_min), "none");
      if (request.action_on_nan() == (is_min ? OnNan::min : OnNan::max)) request.nan = OnNan::keep;
      continue;
    }
    if (user != nullptr && found[i]->kind == Number::Kind::infinite)
      refuse(bound, "the percentile is infinite; " + parameter(user->name) + " requires finite bounds" +
                        place_of(group));
    if (found[i]->kind == Number::Kind::nan)
      refuse(bound, "the percentile lies between -inf and inf" + place_of(group));
    const std::string text = percentile_text(layout(), scaled_, *found[i]);
    // Other profiles convert the exact number.
    const bool is_integer = !is_floating(layout().dtype) && layout().meaning.kind == Meaning::Kind::number &&
                            request.profile->family == "native";
    set_number(given, is_integer || scaled_ ? *parse_number(text) : *found[i], text);
  }
}

void Figures::set_array(const Field& figure, DType dtype, std::vector<std::byte> elements) {
  Given& given = *(request_.*figure.number());
  given = parameter_found(given.text, layout_of_groups(dtype), std::move(elements));
}

/// Error{usage} for figures of integers that no dtype has.
void Figures::expect_one_dtype(const Field& figure, const FoundArray& array) const {
  if (count() <= 1 || !array.is_mixed()) return;
  with_path(path_, [&] {
    refuse_figure(
        ErrorKind::usage, request_, figure,
        "some indexes have fractions, others integers beyond 2^53, and no dtype has both; clip each "
        "index alone");
  });
}

/// Whether a group has no bound that replaces NaN. Error{input} for an integer dtype, which has no NaN.
bool Figures::leaves_nan(const Field& bound, const std::optional<Number>& percentile,
                         std::uint64_t group) const {
  const OnNan::Action action = bound.number() == &Request::min ? OnNan::min : OnNan::max;
  const Nodata nodata = nodata_of(request_, layout().dtype);
  if (percentile || request_.action_on_nan() != action || !is_floating(layout().dtype) || nodata.nan)
    return false;
  if (request_.to && !is_floating(*request_.to))
    refuse(bound,
           fmt::format("NaN cannot become {}, and no percentile replaces it", traits(*request_.to).name) +
               place_of(group));
  return true;
}

void Figures::find_percentiles() {
  const std::vector<Field> bounds = percentiles_in(request_);
  if (bounds.empty()) return;
  const Request alone = bounds_alone(request_);
  scaled_ = scaled(request_, layout());
  const DType dtype = scaled_ && !scaled_->is_exact ? scaled_->dtype : layout().dtype;
  std::vector<FoundArray> elements(bounds.size(), FoundArray(request_, dtype));
  const auto take = [&](std::uint64_t group, const Percentiles& found) {
    if (count() == 1) return set_percentiles(bounds, request_, found, group);
    Request one = alone;
    set_percentiles(bounds, one, found, group);
    if (const Field* const user = user_of_bounds(one)) user->copy({}, one);
    const std::string place = path_ + (path_.empty() ? "" : ":") + place_of(group);
    std::optional<Plan> plan;
    if (!scaled_)
      plan =
          with_path(place.substr(path_.empty() ? 1 : 0), [&] { return make_plan_in_units(one, layout()); });
    for (std::size_t i = 0; i < bounds.size(); ++i)
      if (leaves_nan(bounds[i], found[i], group))
        elements[i].add_nan();
      else if (const Number& number = (one.*bounds[i].number())->number; plan)
        elements[i].add(number, bounds[i].number() == &Request::min ? plan->min : plan->max);
      else
        elements[i].add(number);
  };
  const Nodata nodata = nodata_of(request_, layout().dtype);
  ElementSource source = elements_of(sources_, groups_, nodata, options_.level);
  if (scaled_) {
    source.value = scaled_->value;
    source.descends = scaled_->descends;
  }
  percentiles_of_groups(source, percentages_in(request_), options_.level, take);
  if (count() == 0) set_percentiles(bounds, request_, Percentiles(bounds.size()), 0);  // an axis of length 0
  dropped_.move_to(lost_);
  for (std::size_t i = 0; i < bounds.size(); ++i) expect_one_dtype(bounds[i], elements[i]);
  for (std::size_t i = 0; i < bounds.size() && count() > 1; ++i)
    set_array(bounds[i], elements[i].dtype(), elements[i].take());
}

/// Gathers the clipped elements of the groups in the table, or calls `look` with them if there is none.
void Figures::read_clipped(const Request& first, const GroupRange& range, const ElementSource::Look& look,
                           std::byte* table) const {
  std::uint64_t member = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const TensorSource& source = sources_[i];
    const Groups& groups = groups_[i];
    const Plan plan = first_plan(first, source.layout);
    const std::size_t in_size = traits(plan.input.dtype).size;
    const std::size_t size = traits(plan.output.dtype).size;
    const std::size_t capacity = kClippedBytes / plan.largest_element();
    TensorClip clip(plan, options_, source.path);
    source.read(parts_of(groups, range), [&](std::uint64_t position, std::span<const std::byte> elements) {
      const auto clipped = std::make_unique_for_overwrite<std::byte[]>(kClippedBytes);
      while (!elements.empty()) {
        const std::size_t count = std::min(capacity, elements.size() / in_size);
        clip.clip(position, elements.data(), clipped.get(), count, Counting::off);
        const std::span block(clipped.get(), count * size);
        if (table != nullptr)
          groups.gather(range, position, block, size, table + member * size, row_);
        else
          groups.split(range, position, block, size, look);
        elements = elements.subspan(count * in_size);
        position += count;
      }
    });
    clip.expect_valid();
    member += groups.members();
  }
}

/// Calls `found` with the statistics of the clipped elements of one group after the other.
void Figures::for_each_group(
    const Request& first, const std::function<void(std::uint64_t, const ElementStatistics&)>& found) const {
  const DType dtype = first_plan(first, layout()).output.dtype;
  const Bounds none{lowest_element(dtype), highest_element(dtype)};
  const std::size_t size = traits(dtype).size;
  const auto statistics = [&](std::span<const std::byte> elements) {
    return statistics_of(dtype, none, elements.data(), elements.size() / size, options_.level);
  };
  const std::uint64_t at_once = count() <= 1 ? 0 : gathered_at_once(row_, size);
  if (at_once == 0) {
    std::vector<ElementStatistics> totals(count());
    for (ElementStatistics& total : totals) total.dtype = dtype;
    std::mutex mutex;
    const auto add = [&](std::size_t group, std::span<const std::byte> elements) {
      const ElementStatistics part = statistics(elements);
      const std::lock_guard lock(mutex);
      totals[group] += part;
    };
    if (count() != 0) read_clipped(first, {0, totals.size()}, add, nullptr);
    for (std::size_t group = 0; group < totals.size(); ++group) found(group, totals[group]);
    return;
  }
  const auto table = std::make_unique_for_overwrite<std::byte[]>(at_once * row_ * size);
  for (std::uint64_t begin = 0; begin < count(); begin += at_once) {
    const GroupRange range{begin, std::min(at_once, count() - begin)};
    read_clipped(first, range, {}, table.get());
    for (std::size_t group = 0; group < range.count; ++group)
      found(begin + group, statistics({table.get() + group * row_ * size, row_ * size}));
  }
}

/// Error{input} for a statistic that is infinite, or a divisor of 0.
void Figures::check(const Field& factor, const Number& number, std::uint64_t group) const {
  if (number.kind == Number::Kind::infinite) refuse(factor, "is infinite" + place_of(group));
  if (factor.number() == &Request::divide && number == Number(0))
    refuse(factor, "the divisor must not be 0" + place_of(group));
}

void Figures::find_statistics() {
  const std::vector<Field> factors = statistics_in(request_);
  if (factors.empty()) return;
  std::vector<std::vector<std::byte>> elements(factors.size());
  std::vector<std::optional<Number>> found(factors.size());
  const Request first = first_steps(request_, layout().dtype);
  const DType clipped = first_plan(first, layout()).output.dtype;
  const auto dtype_of = [&](const Field& factor) {
    return is_extreme(*(request_.*factor.number())->statistic) && is_long_integer(clipped) ? clipped
                                                                                           : DType::float64;
  };
  for_each_group(first, [&](std::uint64_t group, const ElementStatistics& statistics) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
      found[i] = value_of(*(request_.*factors[i].number())->statistic, statistics);
      if (!found[i]) {
        drop(factors[i], group, statistics.nan != statistics.count);
        if (count() <= 1) continue;
        found[i] = factors[i].number() == &Request::divide ? 1 : 0;
      }
      check(factors[i], *found[i], group);
      const DType dtype = dtype_of(factors[i]);
      append(dtype,
             is_floating(dtype) ? to_bits(round_to<double>(*found[i]))
                                : static_cast<ElementBits>(to_integer(*found[i], Rounding::toward_zero)),
             elements[i]);
    }
  });
  for (const Field& factor : factors)
    if (count() == 0) drop(factor, 0);
  dropped_.move_to(lost_);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const bool is_rounded = factors[i].number() == &Request::subtract && found[i] &&
                            is_extreme(*request_.subtract->statistic) && clipped == DType::float64 &&
                            is_long_integer(layout().dtype) && !request_.scale && !request_.bias;
    const DType dtype = is_rounded ? find_exactly(factors[i], found[i], elements[i]) : dtype_of(factors[i]);
    if (count() > 1)
      set_array(factors[i], dtype, std::move(elements[i]));
    else
      set_statistic(request_.*factors[i].number(), found[i]);
  }
}

/// Finds min or max of 64-bit integers, which are rounded to float64 in `elements`, once more where float64
/// lacks integers. Returns the dtype in which `elements` have them then.
DType Figures::find_exactly(const Field& factor, std::optional<Number>& found,
                            std::vector<std::byte>& elements) {
  std::vector<double> rounded(elements.size() / sizeof(double));
  std::memcpy(rounded.data(), elements.data(), elements.size());
  const auto is_large = [](double number) { return std::fabs(number) >= kIntegersEnd; };
  if (std::ranges::none_of(rounded, is_large)) return DType::float64;
  const DType dtype = layout().dtype;
  const Statistic statistic = *request_.subtract->statistic;
  FoundArray exact(request_, dtype);
  const Request first = exact_steps(
      request_, dtype, statistic == Statistic::min ? highest_element(dtype) : lowest_element(dtype));
  for_each_group(first, [&](std::uint64_t group, const ElementStatistics& statistics) {
    const double nearest = rounded[group];
    found = value_of(statistic, statistics);
    if (!is_large(nearest) || !found || round_to<double>(*found) != nearest) found = nearest;
    exact.add(*found);
  });
  expect_one_dtype(factor, exact);
  elements = exact.take();
  return exact.dtype();
}

}  // namespace

bool has_figures(const Request& request) {
  return needs_elements(request) || first_given(request, is_grouping) != nullptr;
}

void expect_no_figures_of_stream(const Request& request) {
  std::vector<Field> figures = percentiles_in(request);
  std::ranges::copy(statistics_in(request), std::back_inserter(figures));
  for (const Field& figure : figures)
    refuse_figure(
        ErrorKind::usage, request, figure,
        Term{"input", "the input"} + Message(" must be a file, not a stream: it needs to be read twice"));
}

Plan plan_before_reading(const Request& given, const TensorLayout& layout) {
  check_figures(given);
  if (!has_figures(given)) return make_plan(given, layout);
  Request request = with_lists(given, layout);
  set_units(request, layout);
  for (const Field* const field : fields::kGroupings) field->copy({}, request);
  for (const Field& factor : statistics_in(request))
    set_number(*(request.*factor.number()), factor.number() == &Request::divide ? 1 : 0, "unknown");
  const std::vector<Field> bounds = percentiles_in(request);
  std::vector<Number> values;
  for (const Field& bound : bounds)
    values.push_back(widest(request, layout, bound.number() == &Request::min));
  for (std::size_t i = 0; i < bounds.size(); ++i)
    set_number(*(request.*bounds[i].number()), values[i], percentile_text(layout, {}, values[i]));
  // Whether these numbers lie between the percentiles is not known.
  if (!bounds.empty() && user_of_bounds(request) != nullptr)
    for (std::optional<Given>* const number :
         {&request.nan.number, &request.replace_below, &request.replace_above})
      if (*number && (*number)->number.kind != Number::Kind::nan)
        (*number)->number = number_of(DType::float64, to_bits(round_to<double>(values.front())));
  Plan plan = make_plan_in_units(request, layout);
  static_cast<void>(axes_of(given, layout));
  return plan;
}

Plan plan_of_part(const Request& request, const TensorLayout& layout) {
  return (has_lists(request) && !needs_elements(request) ? plan_before_reading : make_plan)(request, layout);
}

Request with_figures(const Request& request, std::span<const TensorSource> sources,
                     const KernelOptions& options, std::vector<LostBound>& lost) {
  Request result = with_lists(request, sources.front().layout);
  set_units(result, sources.front().layout);
  Figures figures(result, sources, options, lost);
  figures.find_percentiles();
  figures.find_statistics();
  return result;
}

Plan plan_with_figures(const Request& request, const TensorSource& source, const KernelOptions& options) {
  with_path(source.path, [&] {
    static_cast<void>(plan_before_reading(request, source.layout));
    if (request.pooled)
      throw Error(ErrorKind::usage, parameter("pooled") + ": only for functions that read all files first");
  });
  std::vector<LostBound> lost;
  const Request found = with_figures(request, {&source, 1}, options, lost);
  Plan plan = with_path(source.path, [&] { return make_plan_in_units(found, source.layout); });
  plan.lost = std::move(lost);
  return plan;
}

Plan plan_with_figures(const Request& request, const TensorLayout& layout, Engine& engine, InputFile& input) {
  if (!input.is_regular()) with_path(input.path(), [&] { expect_no_figures_of_stream(request); });
  return plan_with_figures(request, source_of(layout, engine, input), engine.kernel_options());
}

}  // namespace clipper
