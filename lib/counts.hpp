#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "clip/clip.hpp"
#include "clipper.h"
#include "clipper.hpp"
#include "contract/plan.hpp"

/// What a clip counts: one row for each number, which -v, --json, C, C++ and Python report.
namespace clipper {

struct CountedElements {
  /// How -v says the number: as a share of all elements, as a number, or as one unless it is 0. NaN have a
  /// text of their own.
  enum class Text : std::uint8_t { none, share, loss, number };

  std::string_view name;  ///< "became_infinite": in JSON, C and Python
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
      CountedElements{"raised", &ElementCounts::raised, &Counts::raised, &clipper_counts::raised, kAlways,
                      Text::share, "raised"},
      CountedElements{"lowered", &ElementCounts::lowered, &Counts::lowered, &clipper_counts::lowered, kAlways,
                      Text::share, "lowered"},
      CountedElements{"replaced", &ElementCounts::replaced, &Counts::replaced, &clipper_counts::replaced,
                      kIfReplaced, Text::share, "replaced"},
      CountedElements{"nan", &ElementCounts::nan, &Counts::nan, &clipper_counts::nan, kAlways},
      CountedElements{"nodata", &ElementCounts::nodata, &Counts::nodata, &clipper_counts::nodata, kIfNodata,
                      Text::number, "nodata"},
      CountedElements{"became_nodata", &ElementCounts::became_nodata, &Counts::became_nodata,
                      &clipper_counts::became_nodata, kIfNodata},
      CountedElements{"became_infinite", &ElementCounts::became_infinite, &Counts::became_infinite,
                      &clipper_counts::became_infinite, kIfLost, Text::loss, "became infinite"},
      CountedElements{"became_zero", &ElementCounts::became_zero, &Counts::became_zero,
                      &clipper_counts::became_zero, kIfLost, Text::loss, "became 0"}};
}();

}  // namespace clipper
