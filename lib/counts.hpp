#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "clip/clip.hpp"
#include "clipper.h"
#include "clipper.hpp"
#include "contract/plan.hpp"

/// What a clip counts: one row for each number, which -v, --json, C, C++ and Python report. The manual, the
/// schema and Python's Counts describe it by its details.
namespace clipper {

struct CountedElements {
  /// How -v says the number: as a share of all elements, as a number, or as one unless it is 0. NaN have a
  /// text of their own.
  enum class Text : std::uint8_t { none, share, loss, number };

  std::string_view name;     ///< "became_infinite": in JSON, C and Python
  std::string_view details;  ///< without a period
  std::uint64_t ElementCounts::*counted;
  std::uint64_t Counts::*in_cpp;
  std::uint64_t clipper_counts::*in_c;
  bool (*is_reported)(const Plan& plan);  ///< whether JSON has it
  Text kind = Text::none;
  std::string_view text{};  ///< after the number: "became infinite"
};

/// In the order in which JSON has them, `changed` before those of which the text is a loss.
inline constexpr std::array kCountedElements = [] {
  using Text = CountedElements::Text;
  constexpr auto kAlways = [](const Plan&) { return true; };
  constexpr auto kIfReplaced = [](const Plan& plan) { return plan.replaces_beyond(); };
  constexpr auto kIfNodata = [](const Plan& plan) { return plan.nodata.has_value(); };
  constexpr auto kIfLost = [](const Plan& plan) { return plan.may_lose(); };
  return std::array{
      CountedElements{"raised",
                      "Elements whose x * scale + bias is less than min, or whose result, after the rounding "
                      "of a cast or of round, is less than the lowest value of its dtype",
                      &ElementCounts::raised, &Counts::raised, &clipper_counts::raised, kAlways, Text::share,
                      "raised"},
      CountedElements{"lowered",
                      "Elements whose x * scale + bias is greater than max, or whose result, after the "
                      "rounding of a cast or of round, is greater than the highest value of its dtype",
                      &ElementCounts::lowered, &Counts::lowered, &clipper_counts::lowered, kAlways,
                      Text::share, "lowered"},
      CountedElements{"replaced", "Raised and lowered elements that replace_below or replace_above replaced",
                      &ElementCounts::replaced, &Counts::replaced, &clipper_counts::replaced, kIfReplaced,
                      Text::share, "replaced"},
      CountedElements{"nan", "Elements that are NaN after scale and bias", &ElementCounts::nan, &Counts::nan,
                      &clipper_counts::nan, kAlways},
      CountedElements{"nodata", "Elements that nodata names, which no other count includes",
                      &ElementCounts::nodata, &Counts::nodata, &clipper_counts::nodata, kIfNodata,
                      Text::number, "nodata"},
      CountedElements{"became_nodata", "Other elements that became what marks nodata",
                      &ElementCounts::became_nodata, &Counts::became_nodata, &clipper_counts::became_nodata,
                      kIfNodata},
      CountedElements{"became_infinite",
                      "Finite elements, neither raised nor lowered, that became infinite: by scale, bias, a "
                      "cast or a later step",
                      &ElementCounts::became_infinite, &Counts::became_infinite,
                      &clipper_counts::became_infinite, kIfLost, Text::loss, "became infinite"},
      CountedElements{
          "became_zero",
          "Elements, neither raised nor lowered, that rounding made 0, before the zero point is added",
          &ElementCounts::became_zero, &Counts::became_zero, &clipper_counts::became_zero, kIfLost,
          Text::loss, "became 0"}};
}();

}  // namespace clipper
