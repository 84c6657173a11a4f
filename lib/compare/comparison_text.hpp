#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compare/compare_files.hpp"
#include "compare/comparison.hpp"

/// The result of a comparison, for people. Differences of floats have three significant digits. The tolerance
/// that the text suggests is rounded up, so that the tensors pass with it.
namespace clipper {

/// What was compared: elements, their bits, or all bytes of the files as uint8 elements.
enum class Compared : std::uint8_t { values, bits, bytes };

/// How the text names tolerances, up to the number: "--atol ".
struct ToleranceNames {
  std::string_view absolute;
  std::string_view ulps;
  std::string_view relative = "";  ///< for report_text() only
};

/// The smallest absolute tolerance, and the fewest ulps, with which all elements would match; nothing if
/// there is none.
[[nodiscard]] std::optional<Difference> passing_absolute(const ElementComparison& comparison,
                                                         Compared compared);
[[nodiscard]] std::optional<std::uint64_t> passing_ulps(const ElementComparison& comparison,
                                                        Compared compared);

/// "[0] actual -3.5 expected 0 (3.5, 1080033280 ulp)"
[[nodiscard]] std::string mismatch_text(const FileComparison& files, Compared compared,
                                        const Mismatch& mismatch);

/// "2 of 6 differ (33.3 %); first ...; max abs ...; would pass with ...". If all match: "max abs ...", or
/// nothing. There must be no reason why no elements were compared.
/// Without names the text has no tolerances. With metrics they come last: "max rel 0.01, RMSE 0.5, cosine
/// 0.99998, SQNR 45.1 dB".
[[nodiscard]] std::string summary_text(const FileComparison& files, Compared compared,
                                       const std::optional<ToleranceNames>& names);

/// The same for an assertion, in lines: how many differ, by which rule; NaN among them; the largest
/// differences; those that are listed; and which of the given tolerances, or any if none is given, would let
/// all pass. At least one pair must differ.
[[nodiscard]] std::string report_text(const FileComparison& files, const ComparisonRule& rule,
                                      const ToleranceNames& names);

}  // namespace clipper
