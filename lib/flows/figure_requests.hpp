#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "error.hpp"

/// Which parameters of a request are figures.
namespace clipper {

/// Whether the request has figures, or parameters that only figures need.
[[nodiscard]] bool has_figures(const Request& request);

/// Whether all figures are those of all tensors together.
[[nodiscard]] bool are_pooled(const Request& request);

/// Whether a parameter of this stage is a figure.
[[nodiscard]] bool needs_elements(const Request& request);

/// The bounds of the request that are percentiles or rules.
[[nodiscard]] std::vector<Field> percentiles_in(const Request& request);

/// The subtrahend and the divisor, if they are figures.
[[nodiscard]] std::vector<Field> statistics_in(const Request& request);

[[nodiscard]] std::vector<Expression> expressions_of(const Request& request,
                                                     const std::vector<Field>& figures);

/// The request without what says of which elements its figures are, after they are found. A mask stays if it
/// says what becomes of the elements outside.
[[nodiscard]] Request without_groups(Request request);

/// Makes the figure `norm` of all expressions that which Request::norm says.
void choose_norm(Request& request);

/// The replacements of the request that are expressions, each one number for all elements.
template <class R>
[[nodiscard]] std::vector<std::pair<std::string_view, decltype(&std::declval<R&>().nodata_to)>>
replacements_in(R& request) {
  std::vector<std::pair<std::string_view, decltype(&request.nodata_to)>> found{
      {"replace_below", &request.replace_below},
      {"replace_above", &request.replace_above},
      {"nan", &request.nan.number},
      {"nodata_to", &request.nodata_to},
      {"mask_to", &request.mask_to}};
  std::erase_if(found, [](const auto& each) { return !is_figure(*each.second); });
  return found;
}

/// Whether the range of a stretch is found in the elements.
[[nodiscard]] bool has_range_figure(const Request& request);

/// Whether max_norm limits a norm that is still to be found.
[[nodiscard]] bool has_norm(const Request& request);

/// Whether a figure that is a bound is more than a percentile.
[[nodiscard]] bool is_rule(const Parameter& figure);

/// Error{usage} for a percentile of too many digits.
void check_places(std::string_view field, const Parameter& figure);

[[noreturn]] void refuse_figure(ErrorKind kind, const Request& request, const Field& figure,
                                const Message& why);

/// Makes the figure this number. Errors quote both: "min 99% (6.5)".
void set_number(Parameter& given, const Number& number, const std::string& text);

/// Makes the figure the statistic that was found, if any.
void set_statistic(std::optional<Parameter>& given, const std::optional<Number>& found);

}  // namespace clipper
