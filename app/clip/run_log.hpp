#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clip/clip_options.hpp"
#include "clip/jobs.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "contract/arrays.hpp"
#include "engine/engine.hpp"
#include "flows/clip_file.hpp"
#include "shards/shard_files.hpp"

namespace spdlog {
class logger;
}
namespace clipper {

/// What follows json_start() in a line of --json.
struct JsonRest {
  std::string member;
  std::string plan;
  std::string result;
  std::vector<std::shared_ptr<const ParameterArray>> found;  ///< for each kValues of the plan
};

/// The lines of --json about one file or about the members of an archive, in little memory: the plans of
/// members that follow each other are often the same.
class JsonLines {
 public:
  /// What all lines begin with: see json_start().
  void set_start(std::string start) { start_ = std::move(start); }

  void add(JsonRest json);

  /// Prints the lines, and with them the values of found arrays, of which there may be millions. Allocates
  /// nothing. Returns errno of a line that cannot be written, 0 otherwise.
  [[nodiscard]] int print(std::FILE* stream) const noexcept;

  [[nodiscard]] bool is_large() const noexcept { return texts_.is_large() || found_size_ > kLargeFound; }

 private:
  static constexpr std::string_view kSame = "=";  ///< no JSON
  static constexpr std::size_t kLargeFound = 65536;

  std::string start_;
  LineBlocks texts_;
  std::vector<std::shared_ptr<const ParameterArray>> found_;  ///< of the plans in texts_
  std::size_t found_size_ = 0;                                ///< bytes
  std::string plan_;                                          ///< of the last line
  std::size_t plan_found_ = 0;                                ///< how many of found_ it has
};

/// How many members of an archive were clipped, copied and dropped.
using ActionCounts = std::array<std::uint64_t, 3>;

/// What -v, --json and warnings report about one file, or about one member of an archive.
struct ClipReport : ClipResult {
  Job job;
  bool has_output = true;                 ///< false for a directory, and where an output has no name
  std::optional<ActionCounts> members{};  ///< of an archive that is done
  std::uint64_t others = 0;               ///< of them: not converted by --to, or removed in place
  std::set<std::string> reasons{};        ///< why these were not clipped
  const Request* request = nullptr;       ///< as the command has it
  bool trial = false;                     ///< --dry-run
  std::optional<Shard> shard;             ///< of one tensor; plan and counts cover only this shard
  bool is_part = false;                   ///< the output needs --finalize
  double seconds = 0;
  std::optional<Failure> failed;
};

/// Warnings about bounds that the dtype cannot hold: "--min 1.5 becomes 1 for int32"; and about bounds that
/// this tensor does not have: "a.npz:w: --min 1% is no bound: all elements are NaN".
[[nodiscard]] std::vector<std::string> notes_on(const Plan& plan, const std::string& name);

/// Text for people: "x.npy: clipped 12.4 % (8.1 % raised, 4.3 % lowered), 3 NaN kept". Not for failures.
[[nodiscard]] std::string as_text(const ClipReport& report);

/// The object `clip` of clipper.schema.json is both texts, one after the other, without a newline. The
/// start is the same for all members of an archive.
[[nodiscard]] std::string json_start(const ClipReport& report);

[[nodiscard]] JsonRest json_rest(const ClipReport& report);

/// "clipped", "copied" or "dropped".
[[nodiscard]] std::string_view word_of(MemberAction action);

/// Prints what happens while files are clipped: warnings, the lines of -v and --json, progress, failures.
/// Collects the exit status. Callable from many threads.
class RunLog {
 public:
  /// Whether the program ends when all files are done, or the run is a part of --verify.
  enum class Scope : std::uint8_t { run, part };

  RunLog(const Command& command, const Engine& engine, Scope scope = Scope::run);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  /// Sets the total of the progress: the files and bytes still to do; 0 if the bytes are unknown. Without a
  /// call, the total is the first file.
  void expect(std::size_t files, std::uint64_t bytes);

  [[nodiscard]] ClipReport report_of(const Job& job) const;  ///< filled with what is known before the start

  void skipped(const Job& job);                             ///< the input is not done, because of its output
  void unfinished(const Job& job, const std::string& why);  ///< it is done in spite of its output
  void sized(std::uint64_t bytes) noexcept;                 ///< the total of the progress, unless it is known
  void planned(const ClipReport& report);  ///< prints notes on the plan, and with -v the settings

  /// Warns of elements that become what marks nodata.
  void note_nodata(const ClipReport& report);

  /// What done() prints. Made before the file is in place, because running out of memory after the file is in
  /// place would be reported as a failure of the file.
  struct Lines {
    LineBlocks members_text;
    std::string text;
    JsonLines json;
    std::uint64_t elements = 0;
    std::uint64_t left_out = 0;  ///< of elements
    std::uint64_t clipped = 0;
    bool written = false;
    std::string_view became;  ///< of a file that was not clipped: see what_became()
    std::set<std::string> reasons;
    std::uint64_t members = 0;  ///< of an archive: ClipReport::others
    std::string closing;        ///< the line about an archive that is the only input
    std::string in_place;       ///< for count_in_place(); empty if the output is a stream
  };
  void add_member(const ClipReport& member, Lines& lines) const;  ///< of an archive that is not finished
  void add(const ClipReport& report, Lines& lines) const;         ///< of a file, after its members
  void done(const Lines& lines) noexcept;

  /// A result that is in place although its file failed does not stop the run: the index of a set needs the
  /// other files, too.
  void finish_sets() noexcept { finishes_sets_ = true; }

  /// Of several inputs, only Level::trace tells the details. So many files below directories are no inputs,
  /// because their formats are others.
  void set_inputs(bool are_many, std::size_t passed) noexcept;

  /// Whether the last line has the numbers of elements, the time and the speed: then elements are counted.
  [[nodiscard]] bool has_totals() const noexcept { return has_totals_; }

  /// Reports that the file failed. Without --keep-going, the next call of stop_after_failure() throws.
  void failed(ClipReport report, std::exception_ptr why) noexcept;

  /// Whether every file is done and its result in place, also where that may not be on the disk.
  [[nodiscard]] bool has_all_results() const noexcept { return files_done_ == files_ && files_lost_ == 0; }

  /// Throws the first failure, unless the command has --keep-going.
  void stop_after_failure();

  /// print_summary() will be called; a signal that ends the program before prints the JSON in its place.
  void announce_summary() const;

  /// Called at the end. Of many inputs, prints how many were clipped and what became of the others: with -v
  /// or has_totals(), if there are others, skipped files or failures, or as JSON. Of one archive, says how
  /// many members --to has not converted, or the run has removed in place.
  void print_summary(bool is_batch);

  /// Called at the end: the highest status of all files, 0 if none failed. If lines of --json could not be
  /// written, throws Error{not_durable}, or Error{io} if no output was written.
  [[nodiscard]] int status() const;

 private:
  /// Files, or members, that were not clipped.
  struct Others {
    std::uint64_t count = 0;
    std::set<std::string> reasons;
  };
  void tally(const Lines& lines);
  void add_elements(const ClipReport& report, Lines& lines) const;
  [[nodiscard]] Level detail_level(Level of_one) const { return are_many_ ? Level::trace : of_one; }
  [[nodiscard]] std::string totals_text() const;
  [[nodiscard]] std::string others_text() const;
  void note(const std::string& line);  ///< a warning, once for all files

  /// Integers that are clipped beside floats of the same run, and that nobody chose, are a warning at its
  /// end.
  void note_order(const Request& request);
  void note_integers(const ClipReport& report);
  void warn_of_integers();
  void print_json(const Lines& lines) noexcept;
  void count(bool failed, bool written, std::string_view in_place) noexcept;
  [[nodiscard]] std::FILE* json_stream() const { return command_.tensor_on_stdout ? stderr : stdout; }

  const Command& command_;
  const Engine& engine_;
  const Scope scope_;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::size_t> files_ = 1;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool is_expected_ = false;  ///< files_ is known
  bool are_many_ = false;
  bool has_totals_ = false;
  std::atomic<bool> has_settings_ = false;  ///< are printed
  std::atomic<std::uint64_t> elements_ = 0;
  std::atomic<std::uint64_t> left_out_ = 0;  ///< of elements_
  std::atomic<std::uint64_t> clipped_ = 0;
  bool finishes_sets_ = false;
  std::atomic<std::size_t> files_done_ = 0;
  std::atomic<std::size_t> files_failed_ = 0;
  std::atomic<std::size_t> files_lost_ = 0;  ///< of them: without a result in place
  std::size_t files_skipped_ = 0;
  std::size_t files_passed_ = 0;
  std::size_t files_unfinished_ = 0;  ///< their outputs were not whole
  std::atomic<int> json_lost_ = 0;    ///< errno of a line of --json that could not be written
  std::atomic<bool> written_ = false;
  std::mutex mutex_;
  std::set<std::string> notes_;                ///< printed so far
  bool has_floats_ = false;                    ///< of safetensors files
  std::string integers_;                       ///< the first by name in these files: "a.safetensors:ids"
  std::map<std::string_view, Others> others_;  ///< files by what became of them
  Others members_;
  std::string closing_;
  int status_ = 0;
  std::exception_ptr failure_;  ///< the first; never set with --keep-going
  Progress progress_;
};

}  // namespace clipper
