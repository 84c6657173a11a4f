#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "compare/compare_report.hpp"
#include "console/progress.hpp"
#include "files/output_file.hpp"

namespace clipper {

/// What --report asks for.
struct ReportTargets {
  std::vector<std::string> junit;  ///< paths of JUnit XML files
  bool github = false;             ///< workflow commands on standard error
};

/// "github" or "junit=FILE", each of which may be given again. Throws Error{usage} for other texts.
[[nodiscard]] ReportTargets parse_reports(const std::vector<std::string>& texts);

/// The results of pairs for continuous integration: JUnit XML by the schema of Jenkins (junit-10.xsd), and
/// annotations of GitHub.
class Reports {
 public:
  /// Creates the JUnit files, which get their names at the end. Error{io} if one cannot be created. `name` is
  /// that of the test suite.
  Reports(const ReportTargets& targets, std::string name, Progress& progress);
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports();  ///< end(), without exceptions

  void add(const PairReport& report);

  /// Completes the reports; later calls do nothing. Error{io} if a file cannot be written.
  void end(const PairCounts& counts);

 private:
  void write_junit();

  bool github_;
  std::string name_;
  Progress& progress_;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::string cases_;  ///< the elements of the test suite
  std::size_t tests_ = 0;
  std::size_t failures_ = 0;
  std::size_t errors_ = 0;
};

}  // namespace clipper
