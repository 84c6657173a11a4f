#pragma once

#include <string>
#include <vector>

#include "contract/fields.hpp"
#include "contract/profile.hpp"
#include "error.hpp"

/// Which parameters of a request are figures.
namespace clipper {

/// The bounds of the request that are percentiles or rules.
[[nodiscard]] std::vector<Field> percentiles_in(const Request& request);

/// The subtrahend and the divisor, if they are figures.
[[nodiscard]] std::vector<Field> statistics_in(const Request& request);

[[nodiscard]] std::vector<Given> givens_of(const Request& request, const std::vector<Field>& figures);

/// Whether the range of a stretch is found in the elements.
[[nodiscard]] bool has_range_figure(const Request& request);

/// Whether a figure that is a bound is more than a percentile.
[[nodiscard]] bool is_rule(const Given& figure);

[[noreturn]] void refuse_figure(ErrorKind kind, const Request& request, const Field& figure,
                                const Message& why);

/// Makes the figure this number. Errors quote both: "min 99% (6.5)".
void set_number(Given& given, const Number& number, const std::string& text);

}  // namespace clipper
