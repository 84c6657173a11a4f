#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/side_files.hpp"
#include "compare/compare_files.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "files/output_file.hpp"

namespace clipper {

struct Matching;

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

}  // namespace clipper
