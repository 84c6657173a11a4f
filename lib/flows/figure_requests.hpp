#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "flows/tensor_sources.hpp"

/// Which parameters of a request are figures, and the plans of requests that may have figures and later
/// stages.
namespace clipper {

/// Whether the request has figures, or parameters that only figures need.
[[nodiscard]] bool has_figures(const Request& request);

/// Whether all figures are those of all tensors together.
[[nodiscard]] bool are_pooled(const Request& request);

/// Whether a parameter of this stage is a figure.
[[nodiscard]] bool needs_elements(const Request& request);

/// The first parameter of this stage that is a figure; null if there is none. In messages: "max 99%".
[[nodiscard]] const Field* first_figure(const Request& request);
[[nodiscard]] Message label_of_figure(const Field& figure, const Request& request);

/// The bounds of the request that are percentiles or rules.
[[nodiscard]] FieldList percentiles_in(const Request& request);

/// The subtrahend and the divisor, if they are figures.
[[nodiscard]] FieldList statistics_in(const Request& request);

[[nodiscard]] std::vector<Expression> expressions_of(const Request& request, const FieldList& figures);

/// The request without what says of which elements its figures are, after they are found. A mask stays if it
/// says what becomes of the elements outside.
[[nodiscard]] Request without_groups(Request request);

/// Makes the figure `norm` of all expressions that which Request::norm says.
void choose_norm(Request& request);

/// What elements become, if that is a figure.
[[nodiscard]] FieldList replacements_in(const Request& request);

/// Whether the range of a stretch is found in the elements.
[[nodiscard]] bool has_range_figure(const Request& request);

/// Whether max_norm limits a norm that is still to be found.
[[nodiscard]] bool has_norm(const Request& request);

/// Whether a figure that is a bound is more than a percentile.
[[nodiscard]] bool is_rule(const Parameter& figure);

/// Error{usage} for a percentile of too many digits.
void check_places(std::string_view field, const Parameter& figure);

/// Makes the figure this number. Errors quote both: "min 99% (6.5)".
void set_number(Parameter& given, const Number& number, const std::string& text);

/// Makes the figure the statistic that was found, if any.
void set_statistic(std::optional<Parameter>& given, const std::optional<Number>& found);

// Lists of numbers as parameters (Parameter::list): `--per-axis 1 --subtract 0.485,0.456,0.406`.

/// The request with an array in place of each list: a number for each index along Request::per_axis. Its
/// numbers have the tensor's dtype or 64 bits if all are whole and the tensor has integers, otherwise they
/// are float64. Error{usage} unless there is one axis, and for numbers that cannot be the parameter or have
/// no dtype in common; Error{input} unless there are as many numbers as indexes.
[[nodiscard]] Request with_lists(const Request& request, const TensorLayout& layout);

/// Error{usage}, which names the parameter, if the request has figures: a stream cannot be read twice.
void expect_no_figures_of_stream(const Request& request);

/// The plan with the widest bounds and with 0 and 1 in place of figures. Throws all errors that do not depend
/// on the elements: those of make_plan(), and Error{usage} for percentiles together with scale or bias, or
/// with more than 16 decimal places; Error{input} for a tensor without an axis of Request::per_axis.
[[nodiscard]] Plan plan_before_reading(const Request& request, const TensorLayout& layout);

/// The plan of a tensor of which only a part is read. Error{usage} for figures.
[[nodiscard]] Plan plan_of_part(const Request& request, const TensorLayout& layout);

/// The plan with the figures of a tensor in memory. Error{usage} for Request::pooled.
[[nodiscard]] Plan plan_with_figures(const Request& request, const TensorSource& source,
                                     const KernelOptions& options);

/// The plan with the figures of a file. Error{usage} for a stream. Errors have the path in front.
[[nodiscard]] Plan plan_with_figures(const Request& request, const TensorLayout& layout, Engine& engine,
                                     InputFile& input);

}  // namespace clipper
