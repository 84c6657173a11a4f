#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "compare/compare_report.hpp"
#include "compare/reports.hpp"
#include "console/color.hpp"
#include "console/progress.hpp"

namespace clipper {

/// What is printed about pairs.
struct PairOutput {
  std::size_t shown = 0;  ///< max mismatches to list
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  ReportTargets reports{};
};

/// Prints the results of pairs of files, or of members of archives, and collects the exit status.
class PairLog {
 public:
  /// `progress` is the line that makes room for the results, `name` that of the test suite in reports.
  /// Error{io} if a report cannot be created.
  PairLog(const PairOutput& output, std::string name, Progress& progress);

  /// Whether a report has a result, or the reports of members have it.
  enum class Outcome : std::uint8_t { found, in_members };

  /// Calls `work`, which fills in the report, and prints the result, or the error that `work` throws. If what
  /// is printed gets lost: Error{io}, or Error{not_durable} after a golden file was written. So does end().
  void attempt(PairReport& report, const std::function<Outcome()>& work);

  /// Prints the closing line if there are `several` pairs. Returns the exit status: the highest of all pairs.
  [[nodiscard]] int end(bool several);

 private:
  void print(const std::string& text);
  [[nodiscard]] bool has_written() const;

  const PairOutput& output_;
  Progress& progress_;
  Paint paint_;
  Reports reports_;
  PairCounts counts_{};
  int status_ = 0;
};

}  // namespace clipper
