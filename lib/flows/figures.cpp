#include "flows/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "flows/figure_requests.hpp"
#include "formats/parameter_file.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

namespace clipper {
namespace {

/// Calculates and sets the figures of a request in the units of the sources.
class Figures {
 public:
  Figures(Request& request, std::span<const TensorSource> sources, const KernelOptions& options,
          std::vector<LostBound>& lost)
      : request_(request),
        sources_(sources.begin(), sources.end()),
        options_(options),
        lost_(lost),
        path_(sources.size() == 1 ? sources[0].path : ""),
        groups_(groups_of(request, sources)),
        has_mask_(request.mask.has_value()) {
    for (TensorSource& source : sources_)
      if (request.mask && !source.flag) source.flag = flags_of(*request.mask, source.layout);
    shape_ = sources.size() == 1 ? groups_.front().shape() : lengths_of_groups(request, layout());
    for (const Groups& groups : groups_) row_ += groups.members();
    request_ = without_groups(std::move(request_));
  }

  void find_replacements();
  void find_percentiles();
  void find_range();
  void find_norm();
  void find_statistics();

 private:
  [[nodiscard]] const TensorLayout& layout() const { return sources_.front().layout; }
  [[nodiscard]] std::uint64_t count() const { return groups_.front().count(); }

  /// Of arrays with an element for each group.
  [[nodiscard]] TensorLayout layout_of_groups(DType dtype) const {
    TensorLayout found;
    found.dtype = dtype;
    if (count() > 1) found.shape = shape_;
    found.count = std::max<std::uint64_t>(count(), 1);
    return found;
  }

  /// Which group, if there are several: " at [0, 2, 0]".
  [[nodiscard]] std::string place_of(std::uint64_t group) const {
    return count() <= 1 ? "" : " at " + index_text(layout_of_groups(DType::float64), group);
  }

  [[nodiscard]] Message label_of(const Field& figure) const {
    return label(figure.name, *figure.number_in(request_));
  }

  [[noreturn]] void refuse(const Field& figure, const Message& why) const {
    throw_with_path(path_, Error(ErrorKind::input, label_of(figure) + ": " + why));
  }

  void drop(std::string_view field, const std::string& text, std::uint64_t group, bool has_infinity);
  void drop(const Field& figure, std::uint64_t group, bool has_infinity = false) {
    drop(figure.name, figure.number_in(request_)->text, group, has_infinity);
  }
  void omit_replacement(const Field& field);
  [[nodiscard]] std::optional<std::pair<Figure, double>> range_of(const GroupNumbers& numbers,
                                                                  std::uint64_t group);
  void leave_out(const Field& bound, Request& request, std::uint64_t group, bool has_infinity);
  void set_percentiles(const FieldList& bounds, Request& request, const GroupNumbers& found,
                       std::uint64_t group);
  using Ends = std::array<std::optional<Figure>, 2>;  ///< min and max
  bool add_bounds(const FieldList& bounds, Ends ends, const GroupNumbers& found,
                  std::vector<FoundArray>& arrays) const;
  void set_array(const Field& figure, FoundArray& found);
  [[nodiscard]] ElementSource scaled_elements() const;
  [[nodiscard]] ElementSource clipped(const Request& first) const {
    return clipped_elements(first, {sources_, groups_, row_, has_mask_, path_, options_});
  }
  void find_exactly(std::optional<Figure>& found, FoundArray& elements);
  [[nodiscard]] Figure checked(const Field& factor, const Figure& number, std::uint64_t group) const;

  Request& request_;
  std::vector<TensorSource> sources_;
  KernelOptions options_;
  std::vector<LostBound>& lost_;
  std::string path_;            ///< in front of errors: that of the only source
  std::vector<Groups> groups_;  ///< of each source
  bool has_mask_;
  std::vector<std::int64_t> shape_;  ///< of arrays with an element for each group
  std::uint64_t row_ = 0;            ///< elements of a group, of all sources
  std::optional<Scaled> scaled_;
  LostFigures dropped_;
};

void Figures::drop(std::string_view field, const std::string& text, std::uint64_t group, bool has_infinity) {
  dropped_.add(field, text, place_of(group), why_lost(request_, layout(), has_mask_, has_infinity));
}

/// Takes a bound that a group does not have out of `request`. A profile that demands bounds gets the widest.
void Figures::leave_out(const Field& bound, Request& request, std::uint64_t group, bool has_infinity) {
  drop(bound, group, has_infinity);
  const bool is_min = bound.number() == &Request::min;
  if (request.profile->bounds == Profile::Bounds::optional) return omit(request, bound);
  set_number(*bound.number_in(request), widest(request, layout(), is_min), "none");
}

/// Sets the bounds of `request`, which are percentiles or rules, to the numbers of a group.
void Figures::set_percentiles(const FieldList& bounds, Request& request, const GroupNumbers& numbers,
                              std::uint64_t group) {
  std::vector<std::optional<Figure>> found = numbers.figures;
  for (std::size_t i = 0; i < bounds.size(); ++i)
    if (!found[i]) leave_out(*bounds[i], request, group, numbers.has_numbers);
  const Field* const user = user_of_bounds(request);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!found[i]) continue;
    const Field& bound = *bounds[i];
    Parameter& given = *bound.number_in(request);
    const std::string what = is_rule(given) ? "the rule" : "the percentile";
    Number number = *found[i];
    if (number.kind == Number::Kind::infinite && (user != nullptr || is_rule(given)))
      refuse(bound, what + " is infinite" +
                        (user == nullptr ? "" : "; " + parameter(user->name) + " requires finite bounds") +
                        place_of(group));
    if (number.kind == Number::Kind::nan)
      refuse(bound, what + " lies between -inf and inf" + place_of(group));
    if (is_rule(given)) number = within_floats(request_, layout().dtype, bound, number);
    const std::string text = percentile_text(layout(), scaled_, number);
    // Other profiles convert the exact number.
    const bool is_integer = !is_floating(layout().dtype) &&
                            layout().meaning.kind == LogicalType::Kind::number &&
                            request.profile->family == "clipper";
    set_number(given, is_integer || scaled_ ? *parse_number(text) : number, text);
  }
}

void Figures::set_array(const Field& figure, FoundArray& found) {
  Parameter& given = *figure.number_in(request_);
  given = found.take(given.text, layout_of_groups(found.dtype()));
}

/// The elements as the clip sees them. An infinity that a scale of 0 makes NaN is left out, as NaN is.
ElementSource Figures::scaled_elements() const {
  const DType dtype = layout().dtype;
  Nodata left_out = nodata_of(request_, dtype);
  if (scaled_ && scaled_->loses_infinity)
    for (const ElementBits infinity : {lowest_element(dtype), highest_element(dtype)})
      left_out.add(number_of(dtype, infinity));
  ElementSource source = elements_of(sources_, groups_, left_out, options_.level);
  if (!scaled_) return source;
  source.value = scaled_->value;
  source.descends = scaled_->descends;
  return source;
}

/// Adds the bounds of a group as the elements of which a plan would make the same; returns false if only a
/// plan can tell: where a bound is none, or exceeds the other one.
bool Figures::add_bounds(const FieldList& bounds, Ends ends, const GroupNumbers& found,
                         std::vector<FoundArray>& arrays) const {
  const DType dtype = arrays.front().element_dtype();
  const bool is_integer = !is_floating(dtype);
  const bool is_beside_typed = ends[0] || ends[1];
  std::array<ElementBits, 2> elements{};
  if (layout().meaning.kind == LogicalType::Kind::boolean) return false;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    std::optional<Figure>& end = ends[bounds[i]->number() == &Request::min ? 0 : 1];
    if (!found.figures[i] || !found.figures[i]->is_finite()) return false;
    end = is_integer ? found_bound(*found.figures[i]) : *found.figures[i];
    if (is_integer && !scaled_ && end->is_zero()) end = 0.0;  // no -0
    const std::optional<ElementBits> element = bound_element(dtype, *end);
    if (!element) return false;
    elements.at(i) = *element;
  }
  if (!scaled_ && ends[0] && ends[1]) {
    const int order = compare(*ends[0], *ends[1]);
    if (order > 0 || (order != 0 && is_beside_typed && ends[0]->nearest() == ends[1]->nearest()))
      return false;
  }
  for (std::size_t i = 0; i < bounds.size(); ++i)
    arrays[i].add(*ends[bounds[i]->number() == &Request::min ? 0 : 1], elements.at(i));
  return true;
}

/// A mask that says only what becomes of other elements goes with that.
void Figures::omit_replacement(const Field& field) {
  omit(request_, field);
  if (field.of == "mask") request_.mask.reset();
}

/// Finds what replaces elements, as elements of the output.
void Figures::find_replacements() {
  const FieldList replacements = replacements_in(request_);
  if (replacements.empty()) return;
  const std::vector<Expression> expressions = expressions_of(request_, replacements);
  scaled_ = scaled(request_, layout());
  const DType last = request_.to ? DType(*request_.to) : layout().dtype;
  std::vector<FoundResults> results;
  for (const Field* const field : replacements) results.emplace_back(*field, request_, last);
  const auto take = [&](std::uint64_t group, const GroupNumbers& numbers) {
    for (std::size_t i = 0; i < replacements.size(); ++i) {
      const std::optional<Figure>& found = numbers.figures[i];
      const Field& field = *replacements[i];
      const DType to = results[i].dtype();
      if (!found)
        drop(field, group, numbers.has_numbers);
      else if (!found->is_finite())
        refuse(field, "is not finite" + place_of(group));
      else if (is_floating(to) && number_of(to, nearest_element(to, *found)).kind != Number::Kind::finite)
        throw_with_path(
            path_, Error(ErrorKind::usage, label_of(field) + place_of(group) +
                                               fmt::format(" is beyond the range of {}", traits(to).name)));
      results[i].add(found);
    }
  };
  figures_of_groups(scaled_elements(), expressions, options_.level, take);
  for (std::size_t i = 0; i < replacements.size(); ++i) {
    const Field& field = *replacements[i];
    std::optional<Parameter>& given = field.number_in(request_);
    if (count() == 0) drop(field, 0);
    if (results[i].are_lost())
      omit_replacement(field);
    else if (count() == 1)
      set_statistic(given, results[i].numbers().front());
    else
      with_path(path_,
                [&] { given = results[i].take(label_of(field), given->text, layout_of_groups(last)); });
  }
  dropped_.move_to(lost_);
}

void Figures::find_percentiles() {
  const FieldList bounds = percentiles_in(request_);
  if (bounds.empty()) return;
  std::vector<FlatRule> flat;
  const std::vector<Expression> figures = expressions_of(request_, bounds);
  const Request given = request_;
  const Request alone = bounds_alone(request_, layout().dtype);
  scaled_ = scaled(request_, layout());
  const DType dtype = scaled_ && !scaled_->is_exact ? scaled_->dtype : layout().dtype;
  std::vector<FoundArray> elements(bounds.size(), FoundArray(request_, dtype));
  Ends typed;
  for (std::size_t i = 0; i < typed.size(); ++i)
    if (const auto& given = alone.*fields::kBounds[i]->number(); given && !is_figure(*given))
      typed[i] = given->number;
  const auto take = [&](std::uint64_t group, const GroupNumbers& found) {
    add_flat(given, bounds, found, group, flat);
    if (count() == 1) return set_percentiles(bounds, request_, found, group);
    if (add_bounds(bounds, typed, found, elements)) return;
    Request one = alone;
    set_percentiles(bounds, one, found, group);
    if (const Field* const user = user_of_bounds(one)) user->copy({}, one);
    const std::string place = path_ + (path_.empty() ? "" : ":") + place_of(group);
    std::optional<Plan> plan;
    const auto make = [&] { return make_plan_in_units(one, layout()); };
    if (!scaled_) plan = with_path(place.substr(path_.empty() ? 1 : 0), make);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const bool is_min = bounds[i]->number() == &Request::min;
      if (!found.figures[i])
        elements[i].add_lost(user_of_bounds(request_) != nullptr ? Number(0)
                                                                 : widest(request_, layout(), is_min));
      else if (const Number& number = bounds[i]->number_in(one)->number; plan)
        elements[i].add(number, is_min ? plan->min : plan->max);
      else
        elements[i].add(number);
    }
  };
  figures_of_groups(scaled_elements(), figures, options_.level, take);
  if (count() == 0)
    set_percentiles(bounds, request_, {std::vector<std::optional<Figure>>(bounds.size())},
                    0);  // an axis of length 0
  dropped_.move_to(lost_);
  find_flattened(flat, scaled_elements(), options_.level, [&](const FlatRule& rule) {
    dropped_.add(rule.field, rule.text, place_of(rule.group), rule.why);
  });
  dropped_.move_to(lost_, true);
  if (count() <= 1) return;
  for (std::size_t i = 0; i < bounds.size(); ++i) elements[i].expect_one_dtype(label_of(*bounds[i]), path_);
  for (std::size_t i = 0; i < bounds.size(); ++i) set_array(*bounds[i], elements[i]);
}

/// Where the range of a group begins, and its length; nothing if the figures have no value.
std::optional<std::pair<Figure, double>> Figures::range_of(const GroupNumbers& numbers, std::uint64_t group) {
  const auto& [from, to] = *request_.stretch_from;
  const std::string text = from.text + ":" + to.text;
  const auto refuse_range = [&](std::string_view why) {
    throw_with_path(path_, Error(ErrorKind::input, parameter("stretch_from") + (" " + text + ": ") +
                                                       std::string(why) + place_of(group)));
  };
  std::size_t next = 0;
  Ends ends;
  std::size_t at = 0;
  for (const Parameter* const end : {&from, &to}) {
    const std::optional<Figure> number = is_figure(*end) ? numbers.figures[next++] : Figure(end->number);
    if (!number) {
      drop("stretch_from", text, group, numbers.has_numbers);
      return std::nullopt;
    }
    if (!number->is_finite()) refuse_range("an end is not finite");
    const double nearest = number->nearest();
    ends.at(at++) = is_floating(layout().dtype) || std::fabs(nearest) < kIntegersEnd
                        ? Figure(nearest)
                        : Figure(subtracted(found_bound(Number(*number)), layout().dtype));
  }
  double length = sum(*ends[1], -*ends[0]).nearest();
  if (length == 0 && request_.divide_zero) length = round_to<double>(request_.divide_zero->number);
  if (length == 0) refuse_range("both ends are " + percentile_text(layout(), {}, *ends[0]));
  if (!std::isfinite(length)) refuse_range("the range is not a finite float64 number");
  return std::pair(*ends[0], length);
}

/// Finds the range of x * scale + bias that is stretched, which becomes a subtrahend and a divisor.
void Figures::find_range() {
  if (!has_range_figure(request_)) return;
  std::vector<Expression> figures;
  for (const Parameter* const end : {&request_.stretch_from->first, &request_.stretch_from->second})
    if (is_figure(*end)) figures.push_back(end->expression);
  scaled_ = scaled(request_, layout());
  const bool is_exact = is_long_integer(layout().dtype) && !scaled_;
  FoundArray begins(request_, is_exact ? layout().dtype : DType::float64);
  FoundArray lengths(request_, DType::float64);
  std::optional<std::pair<Figure, double>> range;
  figures_of_groups(scaled_elements(), figures, options_.level,
                    [&](std::uint64_t group, const GroupNumbers& numbers) {
                      range = range_of(numbers, group);
                      if (!range) {
                        begins.add_lost(0.0);
                        lengths.add_lost(1.0);
                        return;
                      }
                      begins.add(range->first);
                      lengths.add(range->second);
                    });
  dropped_.move_to(lost_);
  if (count() <= 1 && !range) {
    request_.stretch.reset();
    request_.stretch_from.reset();
    request_.divide_zero.reset();
    return;
  }
  begins.expect_one_dtype(parameter("stretch_from"), path_);
  for (Parameter* const end : {&request_.stretch_from->first, &request_.stretch_from->second})
    set_number(*end, Number(), "found");  // as subtrahend and divisor
  request_.subtract = request_.divide = 0;
  if (count() <= 1) {
    set_statistic(request_.subtract, range->first);
    set_statistic(request_.divide, range->second);
    return;
  }
  set_array(*field_named("subtract"), begins);
  set_array(*field_named("divide"), lengths);
}

/// Finds the norms of the clipped elements. Nodata elements become 0, which adds nothing.
void Figures::find_norm() {
  if (!has_norm(request_)) return;
  const DType dtype = layout().dtype;
  Request first = first_steps(request_, dtype, Field::Step::norm);
  if (first.nodata_to) first.nodata_to = 0;
  const auto is_other = [&](const TensorSource& source) { return source.layout.dtype != dtype; };
  if (!has_kernels(dtype) || std::ranges::any_of(sources_, is_other)) first.to = DType::float64;
  std::vector<std::byte> norms;
  Parameter& limit = *request_.max_norm;
  const auto take = [&](std::uint64_t group, double norm) {
    if (!std::isfinite(norm))
      refuse(*field_named("max_norm"),
             std::string(std::isnan(norm) ? "the norm is NaN" : "the norm is infinite") + place_of(group));
    append(DType::float64, to_bits(norm), norms);
  };
  norms_of_groups(clipped(first), request_.norm.value_or(Norm::two), options_.level, take);
  if (count() == 0) take(0, 0);
  Parameter found = parameter_found(limit.text, layout_of_groups(DType::float64), std::move(norms));
  found.number = limit.number;
  found.found = found_text(*found.array);
  limit = std::move(found);
}

/// The figure as it is used. Error{input} for one that is infinite, or a divisor of 0.
Figure Figures::checked(const Field& factor, const Figure& number, std::uint64_t group) const {
  if (!number.is_finite())
    refuse(factor,
           (std::isnan(number.nearest()) ? "lies between infinities" : "is infinite") + place_of(group));
  if (factor.number() != &Request::divide || !number.is_zero()) return number;
  if (!request_.divide_zero)
    refuse(factor, "the divisor must not be 0" + place_of(group) + Term{"divide_zero", "", Says::advice});
  return request_.divide_zero->number;
}

void Figures::find_statistics() {
  const FieldList factors = statistics_in(request_);
  if (factors.empty()) return;
  const Request first = first_steps(request_, layout().dtype, Field::Step::normalize);
  const ElementSource source = clipped(first);
  const std::vector<Expression> figures = expressions_of(request_, factors);
  std::vector<FoundArray> elements = arrays_of(request_, factors, source.dtype);
  std::vector<std::optional<Figure>> found(factors.size());
  figures_of_groups(source, figures, options_.level, [&](std::uint64_t group, const GroupNumbers& numbers) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
      found[i] = numbers.figures[i];
      if (!found[i]) {
        drop(*factors[i], group, numbers.has_numbers);
        elements[i].add_lost(factors[i]->number() == &Request::divide ? 1.0 : 0.0);
        continue;
      }
      found[i] = checked(*factors[i], *found[i], group);
      found[i] = is_floating(source.dtype) ? Figure(found[i]->nearest()) : found_bound(*found[i]);
      elements[i].add(*found[i]);
    }
  });
  for (const Field* const factor : factors)
    if (count() == 0) drop(*factor, 0);
  dropped_.move_to(lost_);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const Field& factor = *factors[i];
    const bool is_rounded = factor.number() == &Request::subtract &&
                            is_extreme(*factor.number_in(request_)) && source.dtype == DType::float64 &&
                            is_long_integer(layout().dtype) && has_exact_steps(request_, layout().dtype);
    if (is_rounded) find_exactly(found[i], elements[i]);
    if (!factor.number_in(request_)->expression.is_only(Statistic::mean))  // it is rounded, then
      elements[i].expect_one_dtype(label_of(factor), path_);
    if (count() > 1)
      set_array(factor, elements[i]);
    else
      set_statistic(factor.number_in(request_), found[i]);
  }
  if (!request_.divide) request_.divide_zero.reset();
}

/// Finds min or max of 64-bit integers, which are rounded to float64 in `elements`, once more where float64
/// lacks integers.
void Figures::find_exactly(std::optional<Figure>& found, FoundArray& elements) {
  const std::vector<std::byte>& bytes = elements.elements();
  std::vector<double> rounded(bytes.size() / sizeof(double));
  std::memcpy(rounded.data(), bytes.data(), bytes.size());
  const auto is_large = [](double number) { return std::fabs(number) >= kIntegersEnd; };
  if (std::ranges::none_of(rounded, is_large)) return;
  const DType dtype = layout().dtype;
  const Number lowest = number_of(dtype, lowest_element(dtype));
  const Number highest = number_of(dtype, highest_element(dtype));
  // It stands for a fraction that is a bound, or for a scaled element that may be beyond the dtype.
  const auto is_other = [&, scales = request_.scale || request_.bias](const Number& number) {
    return (is_number(request_.min) && number < request_.min->number) ||
           (is_number(request_.max) && number > request_.max->number) ||
           (scales && (number == lowest || number == highest));
  };
  FoundArray exact(request_, dtype);
  const Expression& figure = request_.subtract->expression;
  const Request first = exact_steps(
      request_, dtype, figure.is_only(Statistic::min) ? highest_element(dtype) : lowest_element(dtype));
  const ElementSource source = clipped(first);
  figures_of_groups(source, {&figure, 1}, options_.level,
                    [&](std::uint64_t group, const GroupNumbers& numbers) {
                      if (elements.is_lost(group)) return exact.add_lost(0.0);
                      const double nearest = rounded[group];
                      found = numbers.figures.front();
                      if (!is_large(nearest) || !found || found->nearest() != nearest || is_other(*found))
                        found = nearest;
                      exact.add(*found);
                    });
  elements = std::move(exact);
}

}  // namespace

Request with_figures(const Request& request, std::span<const TensorSource> sources,
                     const KernelOptions& options, std::vector<LostBound>& lost) {
  Request result = with_lists(request, sources.front().layout);
  set_units(result, sources.front().layout);
  choose_norm(result);
  Figures figures(result, sources, options, lost);
  figures.find_replacements();
  figures.find_percentiles();
  figures.find_range();
  figures.find_norm();
  figures.find_statistics();
  if (request.mask && request.mask->array) request.mask->array->expect_unwritten();
  return result;
}

}  // namespace clipper
