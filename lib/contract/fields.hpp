#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "contract/profile.hpp"

/// The members of a Request: one row each. All that has to know every member asks this table: the texts of
/// the command line and of C, the arguments of Python, names in messages and reports, and what each member is
/// for.
namespace clipper {

/// What a plan calculates with: a number, or an array.
enum class ParameterId : std::uint8_t {
  min,
  max,
  scale,
  bias,
  subtract,
  divide,
  max_norm,  ///< arrays have the factors that it makes of the norms of groups
  replace_below,
  replace_above,
  nan,
  nodata_to
};

struct Field {
  using Member =
      std::variant<std::optional<Parameter> Request::*, OnNan Request::*, ProfileChoice Request::*,
                   std::optional<MinAboveMax> Request::*, std::optional<OrderedDType> Request::*,
                   std::optional<Round> Request::*, std::optional<Norm> Request::*,
                   std::optional<std::pair<Parameter, Parameter>> Request::*,
                   std::vector<Parameter> Request::*, std::vector<std::int64_t> Request::*, bool Request::*>;

  /// What a number may be besides a number: request_text.cpp has a function for each.
  enum class Grammar : std::uint8_t {
    typed,    ///< nothing
    number,   ///< @FILE
    scale,    ///< the same, or 1/S
    bound,    ///< @FILE, an expression, a date or a truth value
    factor,   ///< @FILE or an expression
    divisor,  ///< "keep", which is 1, or "error", which is no number
    figure,   ///< an expression
    result,   ///< @FILE or an expression, which is one number for all elements
    mask,     ///< @FILE alone, which may also be of bool
  };

  /// What happens to an element, in this order. Only profile clipper has other steps than scale and clip.
  enum class Step : std::uint8_t {
    elements,  ///< which elements are clipped, and which have the figures
    scale,     ///< x * scale + bias
    clip,
    replace,  ///< other numbers in place of the bounds
    norm,
    normalize,  ///< (y - subtract) / divide, stretch
    cast,
  };

  std::string_view name;  ///< "min_above_max"
  Member member;
  std::optional<ParameterId> parameter{};  ///< a plan may have an array of what it gives
  std::string_view of{};                   ///< the member without which it is nothing
  Grammar grammar = Grammar::typed;
  bool broadcasts = false;  ///< may be an array
  Step step = Step::elements;
  bool is_detail = false;    ///< changes no element unless another member does
  bool repeats = false;      ///< what has been clipped with it stays the same if it is clipped again
  bool uses_bounds = false;  ///< calculates with both bounds, which are finite then
  bool is_range = false;     ///< is what others calculate with in place of the bounds
  bool groups = false;       ///< says of which elements the figures are

  // What the program and the Python module say, in the markup of the manual: code between backquotes. Python
  // has the names without dashes (`--min-above-max` is min_above_max), and no statuses: it leaves out "(3)".
  std::string_view value{};    ///< what the texts call the value: "X"; empty for flags
  std::string_view group{};    ///< the heading in --help
  std::string_view line{};     ///< at most 52 columns, without a period
  std::string_view details{};  ///< the value, the default, and what it does
  std::string_view more{};     ///< what only the program does, and the manual's section

  /// "--min-above-max", of a row of fields::kAll.
  [[nodiscard]] constexpr std::string_view option() const;

  /// Whether the request has another value than by default.
  [[nodiscard]] bool is_given(const Request& request) const;

  /// Gives one request the member's value of the other.
  void copy(const Request& from, Request& to) const;

  /// The member that is a number; null for others, and for lists of numbers.
  [[nodiscard]] constexpr std::optional<Parameter> Request::*number() const {
    const auto* const found = std::get_if<std::optional<Parameter> Request::*>(&member);
    return found == nullptr ? nullptr : *found;
  }

  /// The number that a request of type R gives, of a member that is one or has one beside words.
  template <class R>
  [[nodiscard]] auto& number_in(R& request) const {
    const auto of = number();
    return of == nullptr ? request.nan.number : request.*of;
  }

  /// Whether the number may be an expression of figures.
  [[nodiscard]] constexpr bool takes_figures() const {
    return grammar == Grammar::bound || grammar == Grammar::factor || grammar == Grammar::figure ||
           grammar == Grammar::result;
  }

  /// Whether elements become the number.
  [[nodiscard]] constexpr bool replaces() const {
    return grammar == Grammar::result || (grammar == Grammar::figure && !is_range);
  }

  /// Whether the number may be a date, a duration or a truth value.
  [[nodiscard]] constexpr bool takes_dates() const {
    return grammar == Grammar::bound || std::holds_alternative<OnNan Request::*>(member);
  }

  /// Whether other profiles lack it.
  [[nodiscard]] constexpr bool is_of_clipper() const { return step != Step::scale && step != Step::clip; }

  /// Whether several texts are a list.
  [[nodiscard]] constexpr bool is_list() const {
    return std::holds_alternative<std::vector<Parameter> Request::*>(member) ||
           std::holds_alternative<std::vector<std::int64_t> Request::*>(member);
  }
};

namespace fields {

using Grammar = Field::Grammar;
using Step = Field::Step;

/// In the order in which their mistakes are reported. One block per row, without the indentation that
/// clang-format gives to long texts.
// clang-format off
inline constexpr std::array<Field, 26> kAll{{
{.name = "profile", .member = &Request::profile, .step = Step::clip, .is_detail = true, .repeats = true,
 .value = "NAME", .group = "bounds",
 .line = "Follow numpy, pytorch, onnx, ... or version: onnx-6",
 .details = R"(Follow the rules of another system in one version: tensors it takes, conversion of bounds, NaN,
zeros, min above max. A name without a version is the newest version. Default: `clipper`, numpy.clip with
stricter errors; of the options about elements, other profiles have only the bounds, `--nan`, `--min-above-max`
and, directml, `--scale` and `--bias`.)", .more = "See PROFILES."},
{.name = "min_above_max", .member = &Request::min_above_max, .step = Step::clip, .is_detail = true,
 .repeats = true,
 .value = "WHAT", .group = "bounds",
 .line = "If --min exceeds --max: error, min or max",
 .details = R"(If min is greater than max: an `error`, or `min` or `max` for every element but NaN, as numpy.clip
gives max. Default: the profile's rule; of the profile clipper an error.)"},
{.name = "min", .member = &Request::min, .parameter = ParameterId::min, .grammar = Grammar::bound,
 .broadcasts = true, .step = Step::clip, .repeats = true,
 .value = "X", .group = "bounds",
 .line = "Lower bound: a number, 1%, mean-3std or @FILE.npy",
 .details = R"(Elements less than X become X: a number, `inf`, a percentile such as `1%`, a rule such as
`mean-3std`, or @FILE.npy with a number or an array. Default: no bound, unless the profile has one.)",
 .more = "See DTYPES AND BOUNDS, PERCENTILES and NUMBERS FROM THE DATA."},
{.name = "max", .member = &Request::max, .parameter = ParameterId::max, .grammar = Grammar::bound,
 .broadcasts = true, .step = Step::clip, .repeats = true,
 .value = "X", .group = "bounds",
 .line = "Upper bound, of the same kinds as --min",
 .details = R"(Elements greater than X become X. X is of the kinds that `--min` takes. Default: no bound, unless the
profile has one.)"},
{.name = "scale", .member = &Request::scale, .parameter = ParameterId::scale, .grammar = Grammar::scale,
 .broadcasts = true, .step = Step::scale,
 .value = "X", .group = "data",
 .line = "Multiply by X before the clip; 1/S divides by S",
 .details = R"(Calculate x * X + bias, then clip. X is a number or @FILE.npy; default: 1. `1/S` divides by S, as
ONNX QuantizeLinear does.)", .more = "See SCALE AND BIAS."},
{.name = "bias", .member = &Request::bias, .parameter = ParameterId::bias, .grammar = Grammar::number,
 .broadcasts = true, .step = Step::scale,
 .value = "X", .group = "data",
 .line = "Add X before the clip, after --scale",
 .details = "Calculate x * scale + X, then clip. X is a number or @FILE.npy; default: 0."},
{.name = "replace_below", .member = &Request::replace_below, .parameter = ParameterId::replace_below,
 .of = "min", .grammar = Grammar::result, .step = Step::replace, .repeats = true,
 .value = "V", .group = "bounds",
 .line = "Replace elements less than --min by V",
 .details = R"(Elements less than min become V in place of min, as by numpy.where, and still count as raised. The
dtype of the result must have V exactly; a float dtype also has `nan`.)", .more = "See OTHER DTYPES."},
{.name = "replace_above", .member = &Request::replace_above, .parameter = ParameterId::replace_above,
 .of = "max", .grammar = Grammar::result, .step = Step::replace, .repeats = true,
 .value = "V", .group = "bounds",
 .line = "Replace elements greater than --max by V",
 .details = R"(Elements greater than max become V in place of max, by the rules of `--replace-below`, and still
count as lowered.)"},
{.name = "subtract", .member = &Request::subtract, .parameter = ParameterId::subtract,
 .grammar = Grammar::factor, .broadcasts = true, .step = Step::normalize,
 .value = "S", .group = "data",
 .line = "After the clip, subtract S: number, mean, @FILE.npy",
 .details = R"(Calculate (y - S) / D for every clipped element y, of which `--then` clips the result. S is a
number, @FILE.npy, a figure such as `mean`, or a percentile; default: 0. Integers need `--to` or `--round`.)",
 .more = "See AFTER THE CLIP and FIGURES OF THE ELEMENTS."},
{.name = "divide", .member = &Request::divide, .parameter = ParameterId::divide, .grammar = Grammar::factor,
 .broadcasts = true, .step = Step::normalize,
 .value = "D", .group = "data",
 .line = "After --subtract, divide by D, of the same kinds",
 .details = R"(Calculate (y - S) / D, with D as `--subtract` takes S; default: 1. Dividing by 0 is an error
(2 if the 0 was typed, 3 if it came from a file or the elements), unless `--divide-zero` is given.)"},
{.name = "divide_zero", .member = &Request::divide_zero, .of = "divide", .grammar = Grammar::divisor,
 .step = Step::normalize, .is_detail = true, .repeats = true,
 .value = "V", .group = "data",
 .line = "For a divisor found as 0: keep, error or a number",
 .details = R"(Replace a divisor that a file or a figure gives as 0, also B - A of `--stretch-from`: by 1 (`keep`)
or by the number V. Default: `error` (3).)"},
{.name = "max_norm", .member = &Request::max_norm, .parameter = ParameterId::max_norm, .step = Step::norm,
 .value = "C", .group = "data",
 .line = "After the clip, scale elements down to the norm C",
 .details = R"(If the norm n of the clipped elements is greater than C, multiply them by C / n. Integers need
`--to` or `--round`.)", .more = "See NORMS OF THE ELEMENTS."},
{.name = "norm", .member = &Request::norm, .of = "max_norm", .step = Step::norm,
 .is_detail = true, .repeats = true,
 .value = "P", .group = "data",
 .line = "Norm of --max-norm and norm: 2 (default), 1, inf",
 .details = R"(The norm that `--max-norm` limits and that the figure `norm` stands for: `2` (default), the root of the
sum of squares; `1`, the sum of absolute values; `inf`, the greatest absolute value.)"},
{.name = "zero_point", .member = &Request::zero_point, .grammar = Grammar::number, .step = Step::cast,
 .repeats = true,
 .value = "Z", .group = "data",
 .line = "Add the integer Z after rounding",
 .details = R"(Add Z to the rounded result, as ONNX QuantizeLinear does. It needs an integer dtype as `--to`,
whose range includes Z.)"},
{.name = "nan", .member = &Request::nan, .parameter = ParameterId::nan, .grammar = Grammar::result,
 .step = Step::clip, .is_detail = true, .repeats = true,
 .value = "WHAT", .group = "bounds",
 .line = "NaN: keep (default), error, min, max or a number",
 .details = R"(`keep` NaN elements (default), stop at the first one, an `error` (3), or replace them by `min`,
`max` or a number. A profile may have another default. Integers have no NaN; NaT counts as NaN.)",
 .more = "See PROFILES."},
{.name = "to", .member = &Request::to, .step = Step::cast,
 .value = "DTYPE", .group = "data",
 .line = "Write this dtype: rounded once, never wrapped",
 .details = R"(Elements get another dtype, and each is rounded once. Integer dtypes saturate, and NaN is an error
(3) without `--nan`; float dtypes become infinite beyond their range.)",
 .more = "`<f4`, `>f4` and `=f4` also set the byte order. See OTHER DTYPES."},
{.name = "round", .member = &Request::round, .step = Step::cast,
 .value = "MODE", .group = "data",
 .line = "half-even, half-away, trunc, floor or ceil",
 .details = R"(Round results to integers: to nearest, a tie to even (`half-even`) or away from 0 (`half-away`),
or toward 0 (`trunc`), down (`floor`) or up (`ceil`). Default with an integer dtype as `--to`: `half-even`.)",
 .more = "See OTHER DTYPES."},
{.name = "saturate", .member = &Request::saturate, .of = "to", .step = Step::cast, .is_detail = true,
 .repeats = true,
 .group = "data",
 .line = "With --to: the largest finite value, not infinity",
 .details = R"(With a float dtype as `--to`: values beyond its range, infinity included, become the largest
finite value and count as raised or lowered.)"},
{.name = "stretch", .member = &Request::stretch, .step = Step::normalize, .uses_bounds = true,
 .value = "LO:HI", .group = "data",
 .line = "After the clip, map min to LO and max to HI",
 .details = R"(Map min to LO and max to HI, and everything between them linearly. LO above HI inverts. Integers
need `--to` or `--round`. Without `--stretch-from` it needs both bounds.)", .more = "See AFTER THE CLIP."},
{.name = "stretch_from", .member = &Request::stretch_from, .of = "stretch", .grammar = Grammar::figure,
 .step = Step::normalize, .is_detail = true, .is_range = true,
 .value = "A:B", .group = "data",
 .line = "With --stretch: map A to LO and B to HI instead",
 .details = R"(Map A to LO and B to HI in place of the bounds; elements outside of A and B are extrapolated along
the same line. A and B are numbers, percentiles or rules.)"},
{.name = "per_axis", .member = &Request::per_axis, .is_detail = true, .repeats = true, .groups = true,
 .value = "K", .group = "statistics",
 .line = "Figures of each index along axis K; repeatable",
 .details = R"(Find percentiles, figures and norms for each index along axis K, negative from the end; of several
axes for each combination of indexes. With one axis, a list such as `0.5,0.4,0.4` as `--subtract`, or a file of
shape (C,), has a number for each index.)", .more = "See FIGURES OF THE ELEMENTS."},
{.name = "pooled", .member = &Request::pooled, .is_detail = true, .repeats = true, .groups = true,
 .group = "statistics",
 .line = "Figures of all inputs together",
 .details = "Find percentiles, figures and norms for all tensors of the run together.",
 .more = "All inputs are read first. See FIGURES OF THE ELEMENTS."},
{.name = "mask", .member = &Request::mask, .grammar = Grammar::mask, .is_detail = true, .repeats = true,
 .groups = true,
 .value = "@FILE.npy", .group = "statistics",
 .line = "Figures of the elements where FILE is not 0",
 .details = R"(Find percentiles, figures and norms among the elements for which FILE, of bool or numbers, is not
0. All elements are clipped, without `--mask-to`.)",
 .more = R"(In FILE, {dir}, {name}, {stem} and {ext} stand for parts of
the input's path, as with `--output`: `--mask '@{dir}/{stem}_mask.npy'`.)"},
{.name = "nodata", .member = &Request::nodata, .is_detail = true, .repeats = true,
 .value = "V", .group = "statistics",
 .line = "Leave elements that equal V as they are; repeatable",
 .details = R"(Elements that equal V are no data: every step keeps them, and no figure or count has them. `nan`
is every NaN, and 0 also -0. There may be several.)", .more = "See NODATA."},
{.name = "nodata_to", .member = &Request::nodata_to, .parameter = ParameterId::nodata_to, .of = "nodata",
 .grammar = Grammar::figure,
 .value = "W", .group = "statistics",
 .line = "Write W for the elements that --nodata names",
 .details = "Elements that `--nodata` names become W, a number of the dtype of the result, or `nan`."},
{.name = "mask_to", .member = &Request::mask_to, .of = "mask", .grammar = Grammar::figure, .repeats = true,
 .value = "V", .group = "statistics",
 .line = "Write V for the elements where the mask is 0",
 .details = R"(Elements for which the mask is 0 become V, as `--nodata-to` takes it; no step changes, and no count
has them.)"},
}};
// clang-format on

/// The rows of which `holds` is true.
template <class Holds>
[[nodiscard]] consteval auto rows(Holds holds) {
  std::array<const Field*, std::ranges::count_if(kAll, Holds())> found{};
  std::size_t count = 0;
  for (const Field& field : kAll)
    if (holds(field)) found[count++] = &field;
  return found;
}

inline constexpr auto kBroadcasting = rows([](const Field& field) { return field.broadcasts; });
inline constexpr auto kLists = rows([](const Field& field) {
  return field.broadcasts || field.member == Field::Member(&Request::zero_point);
});
inline constexpr auto kNumbers = rows([](const Field& field) { return field.number() != nullptr; });
inline constexpr auto kBounds = rows([](const Field& field) { return field.grammar == Grammar::bound; });
inline constexpr auto kFactors = rows([](const Field& field) { return field.grammar == Grammar::factor; });
inline constexpr auto kGroupings = rows([](const Field& field) { return field.groups; });

inline constexpr auto kReplacements = rows([](const Field& field) { return field.replaces(); });
inline constexpr auto kResults =  // without mask_to, which is no number of the operation
    rows([](const Field& field) { return field.replaces() && field.parameter; });

/// By ParameterId.
inline constexpr auto kParameters = [] {
  auto found = rows([](const Field& field) { return field.parameter.has_value(); });
  std::ranges::sort(found, {}, [](const Field* field) { return *field->parameter; });
  return found;
}();

/// "--min-above-max", in the order of kAll.
inline constexpr auto kOptions = [] {
  std::array<std::array<char, 20>, kAll.size()> options{};
  for (std::size_t i = 0; i < options.size(); ++i) {
    options[i] = {'-', '-'};
    std::ranges::replace_copy(kAll[i].name, options[i].begin() + 2, '_', '-');
  }
  return options;
}();

}  // namespace fields

constexpr std::string_view Field::option() const {
  return {fields::kOptions[static_cast<std::size_t>(this - fields::kAll.data())].data(), 2 + name.size()};
}

[[nodiscard]] constexpr bool is_grouping(const Field& field) {
  return field.groups;
}

[[nodiscard]] constexpr std::string_view name_of(ParameterId parameter) {
  return fields::kParameters[static_cast<std::size_t>(parameter)]->name;
}

/// What a request gives.
template <class R>
[[nodiscard]] auto& given_for(R& request, ParameterId parameter) {
  return fields::kParameters[static_cast<std::size_t>(parameter)]->number_in(request);
}

/// Calls use(field, number) for each Parameter of a request of type R, without its later stages.
template <class R, class Use>
void for_each_number(R& request, const Use& use) {
  for (const Field& field : fields::kAll)
    std::visit(
        [&](const auto member) {
          auto& value = request.*member;
          using Value = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::optional<Parameter>>) {
            if (value) use(field, *value);
          } else if constexpr (std::is_same_v<Value, OnNan>) {
            if (value.number) use(field, *value.number);
          } else if constexpr (std::is_same_v<Value, std::vector<Parameter>>) {
            for (auto& number : value) use(field, number);
          } else if constexpr (std::is_same_v<Value, std::optional<std::pair<Parameter, Parameter>>>) {
            if (value) use(field, value->first), use(field, value->second);
          }
        },
        field.member);
}

using FieldList = std::vector<const Field*>;  ///< of rows of fields::kAll

/// Calls use(stage) for the request and its later stages.
template <class Use>
void for_each_stage(const Request& request, const Use& use) {
  use(request);
  for (const Request& stage : request.then) use(stage);
}

/// Whether `holds` is true of the request or of a later stage.
template <class Holds>
[[nodiscard]] bool any_stage(const Request& request, const Holds& holds) {
  return holds(request) || std::ranges::any_of(request.then, holds);
}

/// Whether a stage has another dtype as its result.
[[nodiscard]] inline bool has_cast(const Request& request) {
  return any_stage(request, [](const Request& stage) { return stage.to.has_value(); });
}

/// Whether a stage has figures of all tensors together.
[[nodiscard]] inline bool is_pooled(const Request& request) {
  return any_stage(request, [](const Request& stage) { return stage.pooled; });
}

/// Stages are counted from 0, the request without the later ones, on.
[[nodiscard]] inline const Request& stage_of(const Request& request, std::size_t stage) {
  return stage == 0 ? request : request.then[stage - 1];
}

/// For messages, "a.npy" of stage 0 and "a.npy: stage 2" of stage 1; the name of the tensor may be empty.
[[nodiscard]] std::string stage_name(std::size_t stage, const std::string& tensor = "");

/// The first field that the request gives and of which `holds` is true; null if there is none.
template <class Holds>
[[nodiscard]] const Field* first_given(const Request& request, Holds holds) {
  for (const Field& field : fields::kAll)
    if (holds(field) && field.is_given(request)) return &field;
  return nullptr;
}

/// Error{usage} for a text that is no number of its field: see Parameter::objection.
void expect_understood(const Request& request);

/// Error{usage} for a list, a figure that has not been found, or an array, where the member takes none.
void check_number(const Field& field, const Parameter& given);

/// Error{usage} for numbers and combinations that no tensor allows, by the rows and by the profile.
void check_request(const Request& request);

/// Error{usage} for Request::per_axis, pooled or mask: of a request without a figure and mask_to.
void expect_no_groups(const Request& request);

/// Whether elements are divided, not multiplied, by the scale.
[[nodiscard]] inline bool divides(const Request& request) {
  return request.scale && request.scale->divides;
}

/// The field that calculates with both bounds; null if the request gives none.
[[nodiscard]] const Field* user_of_bounds(const Request& request);

/// The request without a step and those after it: what gives the elements that a figure of the step is found
/// in.
[[nodiscard]] Request prefix(Request request, Field::Step step);

/// Takes a member out of the request that is a figure which the elements do not have, with all that needs it.
void omit(Request& request, const Field& figure);

/// The row of a name; null for others.
[[nodiscard]] const Field* field_named(std::string_view name) noexcept;

}  // namespace clipper
