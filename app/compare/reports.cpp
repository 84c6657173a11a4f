#include "compare/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "command_line/command_spec.hpp"
#include "command_line/values.hpp"
#include "console/terminal.hpp"

namespace clipper {
namespace {

constexpr std::string_view kJunit = "junit=";
constexpr std::size_t kMaxAnnotations = 10;  ///< GitHub shows no more of one step

struct Replaced {
  char from;
  std::string_view to;
};

template <std::size_t kCount>
std::string replaced(std::string_view text, const std::array<Replaced, kCount>& table) {
  std::string result;
  for (const char c : text) {
    const auto* const row = std::ranges::find(table, c, &Replaced::from);
    if (row == table.end())
      result += c;
    else
      result += row->to;
  }
  return result;
}

/// XML cannot represent control characters, U+FFFE and U+FFFF: they become \\xNN.
std::string xml(std::string_view text) {
  constexpr std::array<Replaced, 5> kEntities{
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}}};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNoCharacters{
      {{"\xef\xbf\xbe", "\\xef\\xbf\\xbe"}, {"\xef\xbf\xbf", "\\xef\\xbf\\xbf"}}};
  std::string result = replaced(escape_for_terminal(text), kEntities);
  for (const auto& [bytes, words] : kNoCharacters)
    for (std::size_t at = 0; (at = result.find(bytes, at)) != std::string::npos; at += words.size())
      result.replace(at, bytes.size(), words);
  return result;
}

/// The data of a workflow command of GitHub; a property also escapes what ends it.
std::string github_data(std::string_view text) {
  constexpr std::array<Replaced, 3> kData{{{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}}};
  return escape_for_terminal(replaced(text, kData));
}

std::string github_property(std::string_view text) {
  constexpr std::array<Replaced, 2> kProperty{{{':', "%3A"}, {',', "%2C"}}};
  return replaced(github_data(text), kProperty);
}

}  // namespace

ReportTargets parse_reports(const std::vector<std::string>& texts) {
  constexpr std::array<std::string_view, 2> kWords{"junit=FILE", "github"};
  ReportTargets targets;
  for (const std::string& text : texts) {
    if (text == "github")
      targets.github = true;
    else if (text.starts_with(kJunit) && text.size() > kJunit.size())
      targets.junit.push_back(text.substr(kJunit.size()));
    else
      refuse_unknown("--report: unknown value", text, kWords);
  }
  return targets;
}

Reports::Reports(const ReportTargets& targets, std::string name, Progress& progress)
    : github_(targets.github), name_(std::move(name)), progress_(progress) {
  for (const std::string& path : targets.junit)
    files_.push_back(std::make_unique<OutputFile>(
        OutputFile::create(path, OutputFile::Existing::replace, OutputFile::Durability::none)));
}

Reports::~Reports() {
  try {
    write_junit();
  } catch (...) {  // NOLINT(bugprone-empty-catch): another exception is on its way to the user
  }
}

void Reports::add(const PairReport& report) {
  ++tests_;
  const bool passed = report.status() == 0;
  failures_ += !passed && !report.failed ? 1 : 0;
  errors_ += report.failed ? 1 : 0;
  if (github_ && !passed && failures_ + errors_ <= kMaxAnnotations)
    progress_.print(stderr, fmt::format("::error file={}::{}: {}\n", github_property(report.actual),
                                        github_data(name_of(report)), github_data(message_of(report))));
  if (files_.empty()) return;
  cases_ += fmt::format("  <testcase classname=\"clipper.{}\" name=\"{}\"", name_, xml(name_of(report)));
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
    progress_.print(stderr, "::error::clipper " + name_ + ": " + line);
  }
  write_junit();
}

void Reports::write_junit() {
  if (files_.empty()) return;
  const std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"clipper {}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\">\n{}</testsuite>\n",
      name_, tests_, failures_, errors_, cases_);
  for (const auto& file : std::exchange(files_, {})) {
    file->write(std::as_bytes(std::span(text)));
    file->commit();
  }
}

}  // namespace clipper
