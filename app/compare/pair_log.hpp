#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compare/compare_files.hpp"
#include "compare/compare_report.hpp"
#include "compare/match_options.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "engine/engine.hpp"
#include "formats/container.hpp"

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

/// Reports that one of two files or members is missing.
void set_missing(PairReport& report, bool actual_is_missing, const std::string& expected);

/// Says whether two files or members that were compared pass.
void judge(const Matching& matching, PairReport& report);

/// Says that the golden file or member, which failed or was missing, is replaced by the actual one.
void set_updated(PairReport& report);

/// read_as(), except that a regular file stays as it is if it has a type that clipper does not read. False
/// then.
bool read_if_known(InputFile& file, const Reading& how);

/// Compares two open files of one tensor each: byte by byte if they are regular and have types that clipper
/// does not read, such as strings. Those are equal or different, whatever `matching` tolerates, and have no
/// metrics.
/// With Types::all, raw bytes are such a type unless settings.reading says what they are.
void compare_tensors(Engine& engine, CompareSettings settings, const Matching& matching, InputFile& actual,
                     InputFile& expected, PairReport& report, npy::Types types = npy::Types::comparable);

/// The same for two members of archives, which may be no tensors at all.
void compare_members(Engine& engine, CompareSettings settings, const Matching& matching,
                     const Archives& archives, const MemberPair& pair, PairReport& report,
                     npy::Types types = npy::Types::comparable);

/// What is printed about pairs.
struct PairOutput {
  std::size_t shown = 0;  ///< max mismatches to list
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  ReportTargets reports{};
  bool allow_empty = false;  ///< nothing to compare is no error
};

/// What decides about one pair.
struct PairRules {
  Matching matching;
  EachMismatch each;
  CompareSettings settings;
};

/// The walk through pairs of files, or of members of archives, one after the other, which `clipper compare`
/// and `clipper --verify` share. Prints the results, and collects the exit status.
class PairWalk {
 public:
  /// Whether a report has a result, or the reports of members have it.
  enum class Outcome : std::uint8_t { found, in_members };

  struct Settings {
    const PairOutput& output;
    std::string name;  ///< of the test suite in reports
    const Matching& matching;
    CompareSettings compare;
    bool updates = false;  ///< expected files that fail are replaced
    Progress::When progress = Progress::When::automatic;
  };

  /// Of `files` pairs, the i-th has an expected size of size(i) bytes. Error{io} if a report cannot be
  /// created.
  PairWalk(Settings settings, const Engine& engine, std::size_t files,
           const std::function<std::uint64_t(std::size_t)>& size);

  /// One pair of files: `work` fills in the report. Prints the result, or the error that `work` throws;
  /// before the result the report's notes, each once, unless a golden file was written. If what is printed
  /// gets lost: Error{io}, or Error{not_durable} after a golden file was written. So does end().
  void take(const std::string& actual, const std::string& expected,
            const std::function<Outcome(PairReport&)>& work);

  /// The same for a pair that is not one of the `files`.
  void add(const std::string& actual, const std::string& expected,
           const std::function<Outcome(PairReport&)>& work);

  /// The pairs of members of the current pair of archives, which hold `bytes` and are called `name` for
  /// patterns: `work` fills in the report of a pair, and `update` replaces the expected archive.
  void take_members(const Archives& archives, const std::vector<MemberPair>& pairs, std::uint64_t bytes,
                    const std::string& name, const std::function<void(const MemberPair&, PairReport&)>& work,
                    const std::function<void()>& update);

  /// Chooses the rules of the current pair, which has any of these names. They hold until the next call.
  const PairRules& choose_rules(const PairReport& report, const std::vector<std::string>& names);
  [[nodiscard]] const PairRules& rules() const noexcept { return rules_; }

  /// Corrects the size of the current pair of files.
  void expect(std::uint64_t bytes) noexcept { tally_.expect(bytes); }

  /// An expected file is about to get its name: signals wait until its report is printed.
  void begin_finishing() { finishing_.emplace(); }
  [[nodiscard]] bool is_finishing() const noexcept { return finishing_.has_value(); }

  /// Whether no pair has failed with an error.
  [[nodiscard]] bool has_read_all() const { return count_of(PairResult::failed) == 0; }

  /// Prints the closing line if there are `several` pairs, or patterns for tolerances. Returns the exit
  /// status: the highest of all pairs. Error{input} if there was no pair, unless PairOutput::allow_empty.
  [[nodiscard]] int end(bool several);

 private:
  struct Held {
    std::string name;  ///< for reports
    PairResult result;
    std::string text;
  };

  void attempt(PairReport& report, const std::function<Outcome()>& work);
  void warn(const PairReport& report);
  void count(const PairReport& report);
  [[nodiscard]] std::uint64_t count_of(PairResult result) const {
    return counts_.at(static_cast<std::size_t>(result));
  }
  [[nodiscard]] std::string text_of(const PairReport& report) const;
  void print(const std::string& text);
  void write_report(const std::function<void()>& work);
  [[nodiscard]] bool has_written() const;

  Settings settings_;
  const PairOutput& output_;
  std::size_t files_;
  std::size_t taken_ = 0;
  FileTally tally_;
  Progress progress_;
  Paint paint_ = paint_for(STDOUT_FILENO);
  Reports reports_;
  PairCounts counts_{};
  int status_ = 0;
  PairRules rules_;
  std::optional<Finishing> finishing_;
  std::set<std::string> notes_;  ///< printed so far

  /// The results of members that fail, in the memory of what is printed, until the golden archive is written.
  /// A failure drops them.
  std::deque<Held> held_;
};

}  // namespace clipper
