#include "compare/member_pairs.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <unordered_map>

namespace clipper {

std::vector<MemberPair> member_pairs(const Archives& archives) {
  const bool have_one_format = &archives.actual.format() == &archives.expected.format();
  const auto name_of = [&](const Container& archive, const Entry& member) -> std::string_view {
    return have_one_format ? member.name : archive.key_of(member);
  };
  std::vector<MemberPair> pairs;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Entry& member : archives.expected.entries()) {
    places[name_of(archives.expected, member)] = pairs.size();
    pairs.push_back({nullptr, &member});
  }
  for (const Entry& member : archives.actual.entries()) {
    const auto found = places.find(name_of(archives.actual, member));
    if (found != places.end())
      pairs[found->second].actual = &member;
    else
      pairs.push_back({&member, nullptr});
  }
  return pairs;
}

PairReport report_of(const Archives& archives, const MemberPair& pair) {
  PairReport report;
  report.actual = archives.actual.file().path();
  report.expected = archives.expected.file().path();
  report.member = pair.any().name;
  report.member_path = archives.actual.path_of(pair.any());
  return report;
}

void set_missing(PairReport& report, bool actual_is_missing, const std::string& expected) {
  report.result = PairResult::missing;
  report.reason = actual_is_missing ? "is missing" : fmt::format("{} is missing", expected);
}

void judge(const Matching& matching, PairReport& report) {
  report.broken_limits = matching.broken_limits(report);
  report.result = matching.passes(report) ? PairResult::ok : PairResult::different;
}

void compare_members(Engine& engine, CompareSettings settings, const Matching& matching,
                     const Archives& archives, const MemberPair& pair, PairReport& report) {
  settings.dtype.over_integers = false;
  const auto is_tensor = [&](const Container& archive, const Entry& member) {
    const Trailing trailing = settings.ignore_trailing ? Trailing::ignored : Trailing::refused;
    return archive.header(member, settings.dtype, trailing, npy::Types::comparable).header.has_value();
  };
  if (!is_tensor(archives.actual, *pair.actual) || !is_tensor(archives.expected, *pair.expected)) {
    settings.whole_files = true;
    report.compared = Compared::bytes;
  }
  InputFile actual = archives.actual.open(*pair.actual);
  InputFile expected = archives.expected.open(*pair.expected);
  compare_files(engine, settings, actual, expected, report);
  judge(matching, report);
}

}  // namespace clipper
