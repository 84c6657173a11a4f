#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "command_line/command_line.hpp"
#include "compare/pairs.hpp"
#include "element/tensor_layout.hpp"
#include "error.hpp"
#include "formats/formats.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// How the types or shapes of two tensors differ that clipper does not read, if both are of safetensors
/// files: their bytes alone do not say it.
std::string difference_of_types(const Entry& actual, const Entry& expected) {
  if (actual.type.empty() || expected.type.empty()) return "";
  if (actual.type != expected.type) return fmt::format("dtype {}, expected {}", actual.type, expected.type);
  if (actual.shape != expected.shape)
    return fmt::format("shape {}, expected {}", shape_text(actual.shape), shape_text(expected.shape));
  return "";
}

/// Prepares the comparison of two files or members of which one has no numbers. Judge it by Matching{}.
void set_bytes(const Matching& matching, CompareSettings& settings, PairReport& report) {
  settings.whole_files = true;
  const EachMismatch* const each = settings.rule.each;
  settings.rule = {};
  settings.rule.each = each;
  settings.rule.bits = true;
  settings.rule.listed = matching.rule.listed;
  report.compared = Compared::bytes;
  report.lacks_metrics = matching.rule.metrics;
}

/// Calls `read`. False if it refuses the type of the file.
template <class Read>
bool is_read(const Read& read) try {
  return read();
} catch (const Error& error) {
  if (refused_type(error).empty()) throw;
  return false;
}

bool is_tensor(InputFile& file, const Reading& how, npy::Types types) {
  return read_if_known(file, how) && is_read([&] {
           return !read_header(file, how, nullptr, std::nullopt, npy::Opaque::refused, types).other;
         });
}

/// The report about a pair, before anything is compared.
PairReport report_of(const Archives& archives, const MemberPair& pair) {
  PairReport report;
  report.actual = archives.actual.file().path();
  report.expected = archives.expected.file().path();
  report.member = pair.any().name;
  report.member_path = archives.actual.path_of(pair.any());
  return report;
}

}  // namespace

std::vector<MemberPair> member_pairs(const Archives& archives) {
  const bool have_one_format = &archives.actual.format() == &archives.expected.format();
  const auto name_of = [&](const Entry& member) -> std::string_view {
    return have_one_format ? member.name : member.key();
  };
  std::vector<MemberPair> pairs;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Entry& member : archives.expected.entries()) {
    places[name_of(member)] = pairs.size();
    pairs.push_back({nullptr, &member});
  }
  for (const Entry& member : archives.actual.entries()) {
    const auto found = places.find(name_of(member));
    if (found != places.end())
      pairs[found->second].actual = &member;
    else
      pairs.push_back({&member, nullptr});
  }
  return pairs;
}

void set_missing(PairReport& report, bool actual_is_missing, const std::string& expected) {
  report.result = PairResult::missing;
  report.reason = actual_is_missing ? "is missing" : fmt::format("{} is missing", expected);
}

void judge(const Matching& matching, PairReport& report) {
  report.broken_limits = matching.broken_limits(report);
  report.result = matching.passes(report) ? PairResult::ok : PairResult::different;
}

void set_updated(PairReport& report) {
  report.result = report.result == PairResult::missing ? PairResult::created : PairResult::updated;
}

bool read_if_known(InputFile& file, const Reading& how) {
  const auto read = [&] {
    read_as(file, how);
    return true;
  };
  return file.is_regular() ? is_read(read) : read();
}

void compare_tensors(Engine& engine, CompareSettings settings, const Matching& matching, InputFile& actual,
                     InputFile& expected, PairReport& report, npy::Types types) {
  const bool are_files = actual.is_regular() && expected.is_regular();  // a stream is read once
  const bool is_actual = !are_files || is_tensor(actual, settings.reading, types);
  const bool is_expected = !are_files || is_tensor(expected, settings.reading, types);
  const bool as_numbers = is_actual && is_expected;
  if (!as_numbers) set_bytes(matching, settings, report);
  if (is_actual == is_expected)
    compare_files(engine, settings, actual, expected, report);
  else
    report.reason =
        fmt::format("{} has a type that clipper does not read, {} has numbers",
                    (is_actual ? expected : actual).path(), (is_actual ? actual : expected).path());
  judge(as_numbers ? matching : Matching{}, report);
}

void compare_members(Engine& engine, CompareSettings settings, const Matching& matching,
                     const Archives& archives, const MemberPair& pair, PairReport& report, npy::Types types) {
  settings.reading.takes_integers = false;
  const auto is_tensor = [&](const Container& archive, const Entry& member) {
    const std::optional<npy::Header> header = archive.header(member, settings.reading, types).header;
    return header && !header->other;
  };
  const bool as_numbers =
      is_tensor(archives.actual, *pair.actual) && is_tensor(archives.expected, *pair.expected);
  if (!as_numbers) {
    set_bytes(matching, settings, report);
    report.reason = difference_of_types(*pair.actual, *pair.expected);
  }
  if (report.reason.empty()) {
    InputFile actual = archives.actual.open(*pair.actual);
    InputFile expected = archives.expected.open(*pair.expected);
    compare_files(engine, settings, actual, expected, report);
  }
  judge(as_numbers ? matching : Matching{}, report);
}

PairWalk::PairWalk(Settings settings, const Engine& engine, std::size_t files,
                   const std::function<std::uint64_t(std::size_t)>& size)
    : settings_(std::move(settings)),
      output_(settings_.output),
      files_(files),
      tally_(engine.done(), files, size),
      progress_(settings_.progress, [this] { return tally_.extent(); }),
      reports_(output_.reports, settings_.name) {}

void PairWalk::attempt(PairReport& report, const std::function<Outcome()>& work) {
  try {
    if (work() == Outcome::in_members) return;
  } catch (const Unprintable&) {  // of a member
    throw;
  } catch (...) {
    held_.clear();
    report.failed = explained(std::current_exception());
    report.result = PairResult::failed;
    print_error(*report.failed);
  }
  warn(report);
  count(report);
  if (const std::string text = text_of(report); !text.empty()) print(text);
}

/// Who writes a golden file warns by itself.
void PairWalk::warn(const PairReport& report) {
  if (report.result != PairResult::ok && report.result != PairResult::different) return;
  for (const std::string& note : report.notes)
    if (notes_.insert(note).second) print_warning(note);
}

void PairWalk::count(const PairReport& report) {
  ++counts_.at(static_cast<std::size_t>(report.result));
  status_ = std::max(status_, report.status());
  write_report([&] { reports_.add(report); });
}

std::string PairWalk::text_of(const PairReport& report) const {
  if (output_.json) return as_json(report);
  const bool is_shown = !output_.quiet && !report.failed && (output_.verbose || report.status() != 0);
  return is_shown ? as_text(report, output_.shown, paint_) : "";
}

int PairWalk::end(bool several) {
  if (!output_.allow_empty && std::ranges::all_of(counts_, [](std::uint64_t count) { return count == 0; }))
    throw Error(ErrorKind::input, "nothing was compared: no tensor is chosen; --allow-empty permits that");
  const std::string uses = settings_.matching.uses_text();
  const bool has_summary = several || !uses.empty();
  if (has_summary && output_.json)
    print(as_json(counts_, status_, settings_.matching));
  else if (has_summary && !output_.quiet)
    print(as_text(counts_, uses));
  write_report([&] { reports_.end(counts_); });
  return status_;
}

/// What is wrong with a report is about no pair: it ends the run, as standard output does.
void PairWalk::write_report(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    throw Unprintable(has_written() ? ErrorKind::not_durable : error.kind(), error.message(),
                      error.system_error());
  }
}

bool PairWalk::has_written() const {
  return count_of(PairResult::created) + count_of(PairResult::updated) != 0;
}

/// A caller that takes Error{io} for "nothing was done" would do the next step with the old golden files.
void PairWalk::print(const std::string& text) {
  if (!print_above_progress(stdout, {text}))
    fail_to_print(has_written() ? ErrorKind::not_durable : ErrorKind::io);
}

void PairWalk::take(const std::string& actual, const std::string& expected,
                    const std::function<Outcome(PairReport&)>& work) {
  add(actual, expected, work);
  if (++taken_ == files_ && finishing_) end_work();
  finishing_.reset();
  tally_.next();
}

void PairWalk::add(const std::string& actual, const std::string& expected,
                   const std::function<Outcome(PairReport&)>& work) {
  PairReport report;
  report.actual = actual;
  report.expected = expected;
  report.compared = settings_.matching.compared;
  attempt(report, [&] { return work(report); });
}

void PairWalk::take_members(const Archives& archives, const std::vector<MemberPair>& pairs,
                            std::uint64_t bytes, const std::string& name,
                            const std::function<void(const MemberPair&, PairReport&)>& work,
                            const std::function<void()>& update) {
  tally_.expect(bytes);
  for (const MemberPair& pair : pairs) {
    PairReport report = report_of(archives, pair);
    report.compared = settings_.matching.compared;
    const std::string key(pair.any().key());
    const auto compare = [&] {
      if (pair.actual != nullptr && pair.expected != nullptr) choose_rules(report, {key, name + ":" + key});
      work(pair, report);
      return Outcome::found;
    };
    if (!settings_.updates) {
      attempt(report, compare);
      continue;
    }
    compare();
    if (report.status() == 0) {
      attempt(report, [] { return Outcome::found; });
      continue;
    }
    set_updated(report);
    held_.push_back({output_.reports.junit.empty() ? "" : name_of(report), report.result, text_of(report)});
  }
  if (!held_.empty()) update();
  for (const Held& each : std::exchange(held_, {})) {
    PairReport report;
    report.actual = each.name;
    report.result = each.result;
    count(report);
    if (!each.text.empty()) print(each.text);
  }
}

const PairRules& PairWalk::choose_rules(const PairReport& report, const std::vector<std::string>& names) {
  rules_ = {settings_.matching.of(names), {}, settings_.compare};
  if (const EachMismatch each = reports_.each_mismatch(report)) {
    rules_.each = [this, each](const ElementComparison& block) { write_report([&] { each(block); }); };
    rules_.matching.rule.each = &rules_.each;
  }
  rules_.settings.rule = rules_.matching.rule;
  return rules_;
}

}  // namespace clipper
