#pragma once

#include <string>
#include <vector>

#include "compare/compare_files.hpp"
#include "compare/compare_report.hpp"
#include "compare/match_options.hpp"
#include "engine/engine.hpp"
#include "files/container.hpp"

/// The members of two archives, paired by name; by key if one is an .npz archive and the other is not.
namespace clipper {

/// Two members of the same name. One of them is null if its archive lacks the name.
struct MemberPair {
  const Entry* actual = nullptr;
  const Entry* expected = nullptr;

  /// The member that exists.
  [[nodiscard]] const Entry& any() const { return actual != nullptr ? *actual : *expected; }
};

/// The archive that is checked, and the one that it should be equal to.
struct Archives {
  const Container& actual;
  const Container& expected;
};

/// A pair for each name, in the order of the expected archive; names that it lacks come last.
[[nodiscard]] std::vector<MemberPair> member_pairs(const Archives& archives);

/// The report about a pair, before anything is compared.
[[nodiscard]] PairReport report_of(const Archives& archives, const MemberPair& pair);

/// Reports that one of two files or members is missing.
void set_missing(PairReport& report, bool actual_is_missing, const std::string& expected);

/// Says whether two files or members that were compared pass.
void judge(const Matching& matching, PairReport& report);

/// Prepares the comparison of two files or members of which one has no numbers: equal or different, whatever
/// the tolerance. Judge it by Matching{}.
void set_bytes(const Matching& matching, CompareSettings& settings, PairReport& report);

/// Compares two members, byte by byte if one of them is no tensor that clipper reads: those are equal or
/// different, whatever `matching` tolerates, and have no metrics. With Types::all, members of raw bytes are
/// no tensors unless settings.dtype says what they are.
void compare_members(Engine& engine, CompareSettings settings, const Matching& matching,
                     const Archives& archives, const MemberPair& pair, PairReport& report,
                     npy::Types types = npy::Types::comparable);

}  // namespace clipper
