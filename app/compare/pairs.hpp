#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/shared_options.hpp"
#include "compare/compare_files.hpp"
#include "compare/match_options.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "engine/engine.hpp"
#include "files/output_file.hpp"
#include "formats/container.hpp"

/// The pairs of files, or of members of archives, that compare and --verify look at: their results, the
/// reports of these, and the walk through the pairs.
namespace clipper {

/// What became of a pair.
enum class PairResult : std::uint8_t { ok, different, missing, failed, created, updated };

/// The result of comparing two files, or two members of archives.
struct PairReport : FileComparison {
  std::string actual;                 ///< path as given, or below the given directory
  std::string expected;               ///< path as given, or below the given directory
  std::optional<std::string> member;  ///< of two archives: its name in both
  std::string member_path;            ///< "a.npz:w", for text
  bool without_members = false;       ///< two archives that have no members
  PairResult result = PairResult::ok;
  std::optional<Failure> failed;
  Compared compared = Compared::values;
  bool lacks_metrics = false;      ///< they were asked for, but bytes have none
  std::string broken_limits;       ///< of metrics; no tolerance would let the pair pass then
  std::vector<std::string> notes;  ///< with --verify: notes_on() of the plan

  /// The exit status: 0, 1 (ErrorKind::different), or that of the failure.
  [[nodiscard]] int status() const noexcept;
};

/// How many pairs had each PairResult.
using PairCounts = std::array<std::uint64_t, 6>;

/// The path of the actual file, or of the actual member.
[[nodiscard]] const std::string& name_of(const PairReport& report);

/// Why the pair fails, or how its elements differ although it passes: one line without the name.
[[nodiscard]] std::string message_of(const PairReport& report);

/// Text for people: a line "ok ACTUAL" or "FAIL ACTUAL: ...", followed by at most `shown` mismatches. Not for
/// failures.
[[nodiscard]] std::string as_text(const PairReport& report, std::size_t shown, const Paint& paint);

/// One line: the object `compare` of clipper.schema.json.
[[nodiscard]] std::string as_json(const PairReport& report);

/// The closing line: "26 pairs: 24 ok, 1 FAIL, 1 missing". `uses` is Matching::uses_text().
[[nodiscard]] std::string as_text(const PairCounts& counts, const std::string& uses = "");

/// One line: the object `compare_summary` of clipper.schema.json.
[[nodiscard]] std::string as_json(const PairCounts& counts, int status, const Matching& matching);

/// What --report asks for.
struct ReportTargets {
  std::vector<std::string> junit{};  ///< paths of JUnit XML files
  std::vector<std::string> csv{};    ///< paths of files with all mismatches
  bool github = false;               ///< workflow commands on standard error
};

/// "github", "junit=FILE" or "csv=FILE", each of which may be given again. Throws Error{usage} for other
/// texts.
[[nodiscard]] ReportTargets parse_reports(const std::vector<std::string>& texts);

/// The files of reports, and that of --diff-out.
[[nodiscard]] std::vector<SideFile> files_of(const ReportTargets& targets,
                                             const std::optional<std::string>& difference = std::nullopt);

inline constexpr std::string_view kComparedFile = "one of the compared files";  ///< for SideFiles

/// Error{usage} if one of them, or the log, is a file of pair(i), one of `pairs`, or read with it.
void expect_apart(const std::vector<SideFile>& written, const Reading& reading, std::size_t pairs,
                  const std::function<std::pair<std::string, std::string>(std::size_t i)>& pair);

/// The results of pairs for continuous integration: JUnit XML by the schema of Jenkins (junit-10.xsd), and
/// annotations of GitHub; and all mismatches as CSV.
class Reports {
 public:
  /// Creates the files, which get their names at the end. Error{io} if one cannot be created. `name` is
  /// that of the test suite.
  Reports(const ReportTargets& targets, std::string name);
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports();  ///< end(), without exceptions

  void add(const PairReport& report);

  /// Writes the mismatches of the pair to the reports that have all of them, as they are found. Empty if
  /// there is no such report. The function must not outlive `report` and this.
  [[nodiscard]] EachMismatch each_mismatch(const PairReport& report);

  /// Completes the reports; later calls do nothing. Error{io} if a file cannot be written.
  void end(const PairCounts& counts);

 private:
  [[nodiscard]] std::string head() const;
  void write_cases();
  void write_junit();
  void write_csv();

  bool github_;
  std::string name_;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::unique_ptr<OutputFile>> tables_;
  std::string rows_;  ///< of `tables_`, not written yet
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point added_ = begun_;  ///< the end of the last case
  std::string cases_;                                     ///< the elements of the test suite, not written yet
  bool holds_cases_ = false;  ///< a report is a stream, whose head cannot be written after the cases
  bool has_cases_ = false;    ///< cases are written
  std::size_t tests_ = 0;
  std::size_t failures_ = 0;
  std::size_t errors_ = 0;
};

// The members of two archives, paired by name; by key if one is an .npz archive and the other is not.

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
