#include "compare/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "console/json.hpp"
#include "console/terminal.hpp"
#include "element/element.hpp"
#include "element/joined.hpp"

namespace clipper {
namespace {

Json difference_json(const ElementComparison& comparison, std::optional<Difference> difference) {
  if (!difference) return {};
  if (comparison.has_float_differences()) return float_difference(*difference);
  return Json::number(DType::uint64, fmt::format("{}", *difference));
}

Json mismatch_json(const PairReport& report, const Mismatch& mismatch) {
  const DType dtype = report.comparison.dtype;
  const DType actual_dtype = report.comparison.actual_dtype.value_or(dtype);
  const Meaning& meaning = report.comparison.meaning;
  return {{"index", index_of(report.layout, mismatch.position)},
          {"actual", element_json(actual_dtype, meaning, mismatch.actual, mismatch.actual_imaginary)},
          {"expected", element_json(dtype, meaning, mismatch.expected, mismatch.expected_imaginary)},
          {"difference", difference_json(report.comparison, difference_of(report.comparison, mismatch))},
          {"ulp", ulps_between(report.comparison, mismatch)}};
}

void add_comparison(const PairReport& report, Json& json) {
  const ElementComparison& comparison = report.comparison;
  const auto absolute = passing_absolute(comparison, report.compared);
  const auto ulps = passing_ulps(comparison, report.compared);
  json.add("dtype", type_name(comparison.dtype, comparison.meaning));
  json.add("shape", report.layout.shape);
  json.add("compared", comparison.compared);
  json.add("mismatches", comparison.mismatches);
  Json largest;
  if (comparison.largest != 0)
    largest = {{"difference", difference_json(comparison, comparison.largest)},
               {"index", index_of(report.layout, comparison.largest_at)}};
  json.add("largest", std::move(largest));
  Json passes_with;
  if (comparison.mismatches != 0)
    passes_with = {{"atol", difference_json(comparison, absolute)}, {"ulp", ulps}};
  json.add("passes_with", std::move(passes_with));
  if (comparison.metrics) {
    const Metrics metrics = metrics_of(*comparison.metrics, comparison.compared);
    json.add("metrics", {{"max_relative", metrics.relative},
                         {"rmse", metrics.rmse},
                         {"cosine", metrics.cosine},
                         {"sqnr", metrics.sqnr}});
  }
  Json first = Json::list();
  for (const Mismatch& mismatch : comparison.first) first.add(mismatch_json(report, mismatch));
  json.add("first", std::move(first));
}

/// How the closing line and the object `summary` call a PairResult, in the order of the enumerators.
struct ResultWords {
  std::string_view text;
  std::string_view member;
};
constexpr std::array<ResultWords, PairCounts{}.size()> kResultWords{{{"ok", "ok"},
                                                                     {"FAIL", "different"},
                                                                     {"missing", "missing"},
                                                                     {"not compared", "failed"},
                                                                     {"created", "created"},
                                                                     {"updated", "updated"}}};

const ResultWords& words_of(PairResult result) {
  return kResultWords.at(static_cast<std::size_t>(result));
}

}  // namespace

int PairReport::status() const noexcept {
  switch (result) {
    case PairResult::different:
    case PairResult::missing: return static_cast<int>(ErrorKind::different);
    case PairResult::failed: return static_cast<int>(failed->kind);
    case PairResult::ok:
    case PairResult::created:
    case PairResult::updated: break;
  }
  return 0;
}

const std::string& name_of(const PairReport& report) {
  return report.member ? report.member_path : report.actual;
}

std::string message_of(const PairReport& report) {
  if (report.failed) return report.failed->message;
  if (!report.reason.empty()) return report.reason;
  if (!report.broken_limits.empty())
    return summary_text(report, report.compared, std::nullopt) + "; " + report.broken_limits;
  const std::string summary = summary_text(report, report.compared, ToleranceNames{"--atol ", "--ulp "});
  if (!report.lacks_metrics) return summary;
  return summary + (summary.empty() ? "" : "; ") + "no metrics: compared byte by byte";
}

std::vector<std::string> mismatch_lines(const PairReport& report) {
  std::vector<std::string> lines;
  for (const Mismatch& mismatch : report.comparison.first)
    lines.push_back(mismatch_text(report, report.compared, mismatch));
  return lines;
}

std::string as_text(const PairReport& report, std::size_t shown, const Paint& paint) {
  const std::string word = report.status() == 0 ? paint(Ink::good, "ok") : paint(Ink::error, "FAIL");
  const std::string message = message_of(report);
  std::string text = fmt::format(
      "{} {}\n", word, escape_for_terminal(name_of(report) + (message.empty() ? "" : ": ") + message));
  if (shown != 0 && report.reason.empty())
    for (const std::string& line : mismatch_lines(report)) text += fmt::format("  {}\n", line);
  return text;
}

std::string as_json(const PairReport& report) {
  Json json{{"version", kJsonVersion}};
  json.add_name("actual", report.actual).add_name("expected", report.expected);
  if (report.member) json.add_name("member", *report.member);
  json.add("status", report.status());
  if (!report.notes.empty()) json.add("notes", report.notes);
  if (report.result == PairResult::created || report.result == PairResult::updated)
    json.add("golden", words_of(report.result).member);
  if (report.failed)
    json.add("error", report.failed->message);
  else if (report.without_members)
    json.add("members", 0);
  else if (report.reason.empty())
    add_comparison(report, json);
  else
    json.add("reason", report.reason);
  return json.dump() + "\n";
}

std::string as_text(const PairCounts& counts) {
  std::uint64_t pairs = 0;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    pairs += counts.at(i);
    if (i == 0 || counts.at(i) != 0)
      words.push_back(fmt::format("{} {}", counts.at(i), kResultWords.at(i).text));
  }
  return fmt::format("{} pair{}: {}\n", pairs, pairs == 1 ? "" : "s", joined(words, ", "));
}

std::string as_json(const PairCounts& counts, int status) {
  Json json{{"version", kJsonVersion}, {"summary", true}, {"status", status}};
  std::uint64_t pairs = 0;
  for (const std::uint64_t count : counts) pairs += count;
  json.add("pairs", pairs);
  for (std::size_t i = 0; i < counts.size(); ++i) json.add(kResultWords.at(i).member, counts.at(i));
  return json.dump() + "\n";
}

}  // namespace clipper
