#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "clip/clip_options.hpp"
#include "clip/clip_report.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"

namespace spdlog {
class logger;
}

namespace clipper {

/// What is said while files are clipped, and how it ends: warnings and -v, --json, the progress, failures.
/// Callable from many threads.
class RunLog {
 public:
  RunLog(const Command& command, const Engine& engine);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog();

  /// What the progress is measured by; if nothing is expected, by the first file that is planned.
  void expect(std::size_t files, std::uint64_t bytes);

  [[nodiscard]] ClipReport report_of(const Job& job) const;  ///< what is known of it before it is begun

  void warn(const std::string& line);
  void planned(const ClipReport& report);  ///< what should be known of the plan; -v: what was chosen

  /// What will be said of a file that is done; made before it is in place, since what fails later would be
  /// taken for a failure of the file.
  struct Lines {
    std::string text;
    std::string json;
    bool written = false;
  };
  [[nodiscard]] Lines lines(const ClipReport& report) const;
  void done(const Lines& lines) noexcept;

  /// The file failed. Without --keep-going all work shall end: see stop_after_failure().
  void failed(ClipReport report, std::exception_ptr why) noexcept;

  /// Throws the first failure again, unless the command is to go on.
  void stop_after_failure();

  /// The highest status of all files, 0 if none failed; at the end. If what --json says could not be written,
  /// Error{not_durable}, or Error{io} if no file was.
  [[nodiscard]] int status() const;

 private:
  void note(const std::string& line);  ///< a warning, once for all files
  void print_json(const std::string& json) noexcept;

  const Command& command_;
  const Engine& engine_;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::size_t> files_ = 1;
  std::atomic<std::size_t> files_done_ = 0;
  std::atomic<bool> json_lost_ = false;
  std::atomic<bool> written_ = false;
  std::mutex mutex_;
  std::set<std::string> notes_;  ///< that were said
  int status_ = 0;
  std::exception_ptr failure_;  ///< the first, if the command is not to go on
  Progress progress_;
  std::unique_ptr<spdlog::logger> logger_;  ///< none unless the command is verbose
};

}  // namespace clipper
