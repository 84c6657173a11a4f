#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "command_line/command_spec.hpp"
#include "command_line/shared_options.hpp"
#include "compare/match_options.hpp"
#include "compare/pairs.hpp"
#include "console/json.hpp"
#include "element/element.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"

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
  const LogicalType& meaning = report.comparison.meaning;
  return {{"index", index_of(report.layout, mismatch.position)},
          {"actual_element", element_json(actual_dtype, meaning, mismatch.actual, mismatch.actual_imaginary)},
          {"expected_element", element_json(dtype, meaning, mismatch.expected, mismatch.expected_imaginary)},
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

/// The listed mismatches, one line each.
std::vector<std::string> mismatch_lines(const PairReport& report) {
  std::vector<std::string> lines;
  for (const Mismatch& mismatch : report.comparison.first)
    lines.push_back(mismatch_text(report, report.compared, mismatch));
  return lines;
}

constexpr std::string_view kJunit = "junit=";
constexpr std::string_view kCsv = "csv=";
constexpr std::size_t kMaxRows = 65536;      ///< bytes of CSV or XML that are written together
constexpr std::size_t kHead = 256;           ///< bytes for the head of XML, which is written at the end
constexpr std::size_t kMaxAnnotations = 10;  ///< GitHub shows no more of one step

using Replacements = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// One replacement after the other.
std::string replaced(std::string text, const Replacements& table) {
  for (const auto& [from, to] : table)
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

/// XML cannot represent control characters, U+FFFE and U+FFFF: they become \\xNN.
std::string xml(std::string_view text) {
  return replaced(escape_for_terminal(text), {{"&", "&amp;"},
                                              {"<", "&lt;"},
                                              {">", "&gt;"},
                                              {"\"", "&quot;"},
                                              {"'", "&apos;"},
                                              {"\xef\xbf\xbe", "\\xef\\xbf\\xbe"},
                                              {"\xef\xbf\xbf", "\\xef\\xbf\\xbf"}});
}

/// The data of a workflow command of GitHub; a property also escapes what ends it.
std::string github_data(std::string_view text) {
  return escape_for_terminal(replaced(std::string(text), {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}}));
}

std::string github_property(std::string_view text) {
  return replaced(github_data(text), {{":", "%3A"}, {",", "%2C"}});
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
  Json json = named_object("compare");
  json.add_name("actual", report.actual).add_name("expected", report.expected);
  if (report.member) json.add_name("member", *report.member);
  json.add("status", report.status());
  if (!report.notes.empty()) json.add("notes", report.notes);
  if (report.result == PairResult::created || report.result == PairResult::updated)
    json.add("golden", words_of(report.result).member);
  if (report.failed)
    json.add("error", report.failed->message);
  else if (report.without_members)
    json.add("empty", true);
  else if (report.reason.empty())
    add_comparison(report, json);
  else
    json.add("reason", report.reason);
  return json.dump() + "\n";
}

std::string as_text(const PairCounts& counts, const std::string& uses) {
  std::uint64_t pairs = 0;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    pairs += counts.at(i);
    if (i == 0 || counts.at(i) != 0)
      words.push_back(fmt::format("{} {}", counts.at(i), kResultWords.at(i).text));
  }
  return fmt::format("{} pair{}: {}{}{}\n", pairs, pairs == 1 ? "" : "s", joined(words, ", "),
                     uses.empty() ? "" : "; ", uses);
}

std::string as_json(const PairCounts& counts, int status, const Matching& matching) {
  Json json = named_object("compare_summary");
  json.add("status", status);
  std::uint64_t pairs = 0;
  for (const std::uint64_t count : counts) pairs += count;
  json.add("pairs", pairs);
  for (std::size_t i = 0; i < counts.size(); ++i) json.add(kResultWords.at(i).member, counts.at(i));
  if (matching.adjustments.empty()) return json.dump() + "\n";
  Json uses = Json::list();
  for (std::size_t i = 0; i < matching.adjustments.size(); ++i) {
    const Adjustment& each = matching.adjustments[i];
    uses.add({{"option", long_name(*each.option)},
              {"pattern", each.pattern},
              {"value", each.value},
              {"pairs", (*matching.uses)[i]}});
  }
  json.add("tolerances", std::move(uses));
  return json.dump() + "\n";
}

ReportTargets parse_reports(const std::vector<std::string>& texts) {
  constexpr std::array<std::string_view, 3> kWords{"junit=FILE", "csv=FILE", "github"};
  ReportTargets targets;
  for (const std::string& text : texts) {
    if (text == "github")
      targets.github = true;
    else if (text.starts_with(kJunit) && text.size() > kJunit.size())
      targets.junit.push_back(text.substr(kJunit.size()));
    else if (text.starts_with(kCsv) && text.size() > kCsv.size())
      targets.csv.push_back(text.substr(kCsv.size()));
    else
      refuse_unknown("--report: unknown value", text, kWords);
  }
  return targets;
}

std::vector<SideFile> files_of(const ReportTargets& targets, const std::optional<std::string>& difference) {
  std::vector<SideFile> files;
  for (const auto* const paths : {&targets.junit, &targets.csv})
    for (const std::string& path : *paths) files.push_back({long_name(match_options::kReport), path});
  if (difference) files.push_back({"--diff-out", *difference});
  return files;
}

void expect_apart(const std::vector<SideFile>& written, const Reading& reading, std::size_t pairs,
                  const std::function<std::pair<std::string, std::string>(std::size_t i)>& pair) {
  const SideFiles files(written);
  const Request none;
  FilesRead read(none, reading, {});
  for (std::size_t i = 0; i < pairs && !files.empty(); ++i) {
    const auto [actual, expected] = pair(i);
    for (const std::string& path : {actual, expected}) {
      files.expect_other_than(input_path(path), kComparedFile);
      read.add_behind(path);
    }
  }
  files.expect_other_than(read.all());
}

Reports::Reports(const ReportTargets& targets, std::string name)
    : github_(targets.github), name_(std::move(name)) {
  const auto create = [](const std::string& path) {
    expect_no_member(path);
    return std::make_unique<OutputFile>(
        OutputFile::create(path, OutputFile::Existing::replace, OutputFile::Durability::none));
  };
  for (const std::string& path : targets.junit) files_.push_back(create(path));
  for (const std::string& path : targets.csv) tables_.push_back(create(path));
  holds_cases_ = !std::ranges::all_of(files_, [](const auto& file) { return file->is_regular(); });
  rows_ = "actual,expected,member,index,actual_element,expected_element\n";
}

Reports::~Reports() {
  try {
    write_junit();
    write_csv();
    for (const auto& file : tables_) file->commit();
  } catch (...) {  // NOLINT(bugprone-empty-catch): another exception is on its way to the user
  }
}

void Reports::add(const PairReport& report) {
  ++tests_;
  const bool passed = report.status() == 0;
  failures_ += !passed && !report.failed ? 1 : 0;
  errors_ += report.failed ? 1 : 0;
  if (github_ && !passed && failures_ + errors_ <= kMaxAnnotations)
    print_above_progress(stderr,
                         {fmt::format("::error file={}::{}: {}\n", github_property(report.expected),
                                      github_data(name_of(report)), github_data(message_of(report)))});
  if (files_.empty()) return;
  if (cases_.size() >= kMaxRows) write_cases();
  cases_ += fmt::format("  <testcase classname=\"clipper.{}\" name=\"{}\" time=\"{:.6f}\"", name_,
                        xml(name_of(report)), seconds_since(added_));
  added_ = std::chrono::steady_clock::now();
  if (passed) {
    cases_ += "/>\n";
    return;
  }
  const std::string_view element = report.failed ? "error" : "failure";
  const std::string message = xml(message_of(report));
  cases_ += fmt::format(">\n    <{} message=\"{}\">{}", element, message, message);
  for (const std::string& line : mismatch_lines(report)) cases_ += "\n" + xml(line);
  cases_ += fmt::format("</{}>\n  </testcase>\n", element);
}

void Reports::end(const PairCounts& counts) {
  if (std::exchange(github_, false) && failures_ + errors_ != 0) {
    const std::string line = as_text(counts);
    print_above_progress(stderr, {"::error::clipper ", name_, ": ", line});
  }
  write_junit();
  write_csv();
  for (const auto& file : std::exchange(tables_, {})) file->commit();
}

EachMismatch Reports::each_mismatch(const PairReport& report) {
  if (tables_.empty()) return {};
  return [this, &report](const ElementComparison& block) {
    const std::string pair = fmt::format("{},{},{}", csv_field(report.actual), csv_field(report.expected),
                                         csv_field(report.member.value_or("")));
    for (const Mismatch& mismatch : block.first)
      rows_ += fmt::format(
          "{},{},{},{}\n", pair, csv_field(index_text(report.layout, mismatch.position)),
          element_text(block.actual_dtype.value_or(block.dtype), block.meaning, mismatch.actual,
                       mismatch.actual_imaginary),
          element_text(block.dtype, block.meaning, mismatch.expected, mismatch.expected_imaginary));
    if (rows_.size() >= kMaxRows) write_csv();
  };
}

void Reports::write_csv() {
  for (const auto& file : tables_) file->write(std::as_bytes(std::span(rows_)));
  rows_.clear();
}

std::string Reports::head() const {
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"clipper {}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" time=\"{:.6f}\"",
      name_, tests_, failures_, errors_, seconds_since(begun_));
  if (has_cases_) text.resize(kHead - 2, ' ');
  return text + ">\n";
}

/// Writes the cases so far, after room for the head.
void Reports::write_cases() {
  if (holds_cases_) return;
  if (!std::exchange(has_cases_, true)) cases_.insert(0, kHead, ' ');
  for (const auto& file : files_) file->write(std::as_bytes(std::span(cases_)));
  cases_.clear();
}

void Reports::write_junit() {
  if (files_.empty()) return;
  const std::string head = this->head();
  const std::string text = (has_cases_ ? "" : head) + cases_ + "</testsuite>\n";
  for (const auto& file : std::exchange(files_, {})) {
    file->write(std::as_bytes(std::span(text)));
    if (has_cases_) file->write_at(std::as_bytes(std::span(head)), 0);
    file->commit();
  }
}

}  // namespace clipper
