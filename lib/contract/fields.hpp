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

  enum class Stage : std::uint8_t {
    clip,
    before,
    after
  };  ///< only profile clipper has what is after the clip

  std::string_view name;    ///< "min_above_max"
  std::string_view option;  ///< "--min-above-max"
  Member member;
  Grammar grammar = Grammar::typed;
  bool broadcasts = false;  ///< may be an array
  Stage stage = Stage::after;
  bool is_detail = false;    ///< changes no element unless another member does
  bool repeats = false;      ///< what has been clipped with it stays the same if it is clipped again
  bool uses_bounds = false;  ///< calculates with both bounds, which are finite then
  bool is_range = false;     ///< is what others calculate with in place of the bounds
  bool groups = false;       ///< says of which elements the figures are
  std::string_view of{};     ///< the member without which it is nothing

  /// Whether the request has another value than by default.
  [[nodiscard]] bool is_given(const Request& request) const;

  /// Gives one request the member's value of the other.
  void copy(const Request& from, Request& to) const;

  /// The member that is a number; null for others, and for lists of numbers.
  [[nodiscard]] constexpr std::optional<Parameter> Request::*number() const {
    const auto* const found = std::get_if<std::optional<Parameter> Request::*>(&member);
    return found == nullptr ? nullptr : *found;
  }

  /// Whether several texts are a list.
  [[nodiscard]] constexpr bool is_list() const {
    return std::holds_alternative<std::vector<Parameter> Request::*>(member) ||
           std::holds_alternative<std::vector<std::int64_t> Request::*>(member);
  }
};

namespace fields {

using Grammar = Field::Grammar;
using Stage = Field::Stage;

/// In the order in which their mistakes are reported.
inline constexpr std::array kAll{
    Field{.name = "profile",
          .option = "--profile",
          .member = &Request::profile,
          .stage = Stage::clip,
          .is_detail = true,
          .repeats = true},
    Field{.name = "min_above_max",
          .option = "--min-above-max",
          .member = &Request::min_above_max,
          .stage = Stage::clip,
          .is_detail = true,
          .repeats = true},
    Field{.name = "min",
          .option = "--min",
          .member = &Request::min,
          .grammar = Grammar::bound,
          .broadcasts = true,
          .stage = Stage::clip,
          .repeats = true},
    Field{.name = "max",
          .option = "--max",
          .member = &Request::max,
          .grammar = Grammar::bound,
          .broadcasts = true,
          .stage = Stage::clip,
          .repeats = true},
    Field{.name = "scale",
          .option = "--scale",
          .member = &Request::scale,
          .grammar = Grammar::scale,
          .broadcasts = true,
          .stage = Stage::before},
    Field{.name = "bias",
          .option = "--bias",
          .member = &Request::bias,
          .grammar = Grammar::number,
          .broadcasts = true,
          .stage = Stage::before},
    Field{.name = "replace_below",
          .option = "--replace-below",
          .member = &Request::replace_below,
          .grammar = Grammar::result,
          .repeats = true,
          .of = "min"},
    Field{.name = "replace_above",
          .option = "--replace-above",
          .member = &Request::replace_above,
          .grammar = Grammar::result,
          .repeats = true,
          .of = "max"},
    Field{.name = "subtract",
          .option = "--subtract",
          .member = &Request::subtract,
          .grammar = Grammar::factor,
          .broadcasts = true},
    Field{.name = "divide",
          .option = "--divide",
          .member = &Request::divide,
          .grammar = Grammar::factor,
          .broadcasts = true},
    Field{.name = "divide_zero",
          .option = "--divide-zero",
          .member = &Request::divide_zero,
          .grammar = Grammar::divisor,
          .is_detail = true,
          .repeats = true,
          .of = "divide"},
    Field{.name = "max_norm", .option = "--max-norm", .member = &Request::max_norm},
    Field{.name = "norm",
          .option = "--norm",
          .member = &Request::norm,
          .is_detail = true,
          .repeats = true,
          .of = "max_norm"},
    Field{.name = "zero_point",
          .option = "--zero-point",
          .member = &Request::zero_point,
          .grammar = Grammar::number,
          .repeats = true},
    Field{.name = "nan",
          .option = "--nan",
          .member = &Request::nan,
          .stage = Stage::clip,
          .is_detail = true,
          .repeats = true},
    Field{.name = "to", .option = "--to", .member = &Request::to},
    Field{.name = "round", .option = "--round", .member = &Request::round},
    Field{.name = "saturate",
          .option = "--saturate",
          .member = &Request::saturate,
          .is_detail = true,
          .repeats = true},
    Field{.name = "stretch", .option = "--stretch", .member = &Request::stretch, .uses_bounds = true},
    Field{.name = "stretch_from",
          .option = "--stretch-from",
          .member = &Request::stretch_from,
          .grammar = Grammar::figure,
          .is_detail = true,
          .is_range = true},
    Field{.name = "per_axis",
          .option = "--per-axis",
          .member = &Request::per_axis,
          .is_detail = true,
          .repeats = true,
          .groups = true},
    Field{.name = "pooled",
          .option = "--pooled",
          .member = &Request::pooled,
          .is_detail = true,
          .repeats = true,
          .groups = true},
    Field{.name = "mask",
          .option = "--mask",
          .member = &Request::mask,
          .grammar = Grammar::mask,
          .is_detail = true,
          .repeats = true,
          .groups = true},
    Field{.name = "nodata",
          .option = "--nodata",
          .member = &Request::nodata,
          .is_detail = true,
          .repeats = true},
    Field{.name = "nodata_to",
          .option = "--nodata-to",
          .member = &Request::nodata_to,
          .grammar = Grammar::figure},
    Field{.name = "mask_to",
          .option = "--mask-to",
          .member = &Request::mask_to,
          .grammar = Grammar::figure,
          .repeats = true,
          .of = "mask"}};

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

}  // namespace fields

[[nodiscard]] constexpr bool is_grouping(const Field& field) {
  return field.groups;
}

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

/// The field that calculates with both bounds; null if the request gives none.
[[nodiscard]] const Field* user_of_bounds(const Request& request);

/// Takes a member out of the request that is a figure which the elements do not have, with all that needs it.
void omit(Request& request, const Field& figure);

/// The row of a name; null for others.
[[nodiscard]] const Field* field_named(std::string_view name) noexcept;

}  // namespace clipper
