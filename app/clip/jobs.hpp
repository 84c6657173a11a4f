#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clip/clip_options.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "formats/formats.hpp"

namespace clipper {

/// One input and its output. Without an output, the result replaces the input.
struct Job {
  std::string input;
  std::optional<std::string> output;
  bool output_is_new = false;  ///< no file had the output's name when check_conflicts() looked
  bool is_walked = false;      ///< found below a directory that was given
  bool is_named = true;        ///< on the command line; false: found, or in a list
  bool is_index = false;       ///< of a set, whose files are jobs, too

  /// hash_of() the regular file that the input was when it was added, if known.
  std::optional<std::uint64_t> regular_file{};

  /// Whether the input may be a pipe. What was a regular file may be a FIFO by now, for whose writer the run
  /// would wait forever.
  [[nodiscard]] Streams streams() const {
    return is_walked || regular_file ? Streams::refused : Streams::taken;
  }
};

/// The jobs of a run, of which there may be millions. A job takes 32 bytes, the characters of its input and
/// a NUL. An output takes memory only if its path is not a suffix of the input's path.
class Jobs {
 public:
  void add(std::string_view input, const std::optional<FileId>& regular_file = std::nullopt,
           bool is_named = true);
  void add_walked(std::string_view input);

  /// Adds the identity of a directory whose walk begins.
  void add_root_id(const FileId& id) { root_ids_.push_back(id); }
  [[nodiscard]] const std::vector<FileId>& root_ids() const noexcept { return root_ids_; }

  /// A file below a directory that is no input, because its format is not one that the walk takes.
  void add_passed() { ++passed_; }
  [[nodiscard]] std::size_t passed() const noexcept { return passed_; }

  /// Sorts the jobs from `first` on by the bytes of their inputs' paths. They must not have outputs yet.
  void sort_from(std::size_t first);

  /// The output of a job is `directory`, which all jobs share and which may be empty, followed by `path`.
  void set_directory(std::string directory) { directory_ = std::move(directory); }
  void set_output(std::size_t job, std::string_view path);
  void set_output_is_new(std::size_t job) { jobs_[job].output_is_new = true; }
  [[nodiscard]] bool are_outputs_new() const;

  /// Removes each job whose element in `kept` is 0.
  void keep(const std::vector<char>& kept);

  [[nodiscard]] std::size_t size() const noexcept { return jobs_.size(); }
  [[nodiscard]] Job operator[](std::size_t job) const;

  /// Says that the job that was added last is one of the set with this number, from 1, or its index.
  void set_set(std::uint32_t set) { jobs_.back().set = set; }
  void set_is_index() { jobs_.back().is_index = true; }
  [[nodiscard]] std::uint32_t set_of(std::size_t job) const { return jobs_[job].set; }  ///< 0 without a set
  [[nodiscard]] bool is_index(std::size_t job) const { return jobs_[job].is_index; }

 private:
  struct Entry {
    const char* input = nullptr;
    const char* output = nullptr;    ///< without the directory
    std::uint64_t regular_file = 0;  ///< 0: unknown
    bool output_is_new = false;
    bool is_walked = false;
    bool is_named = true;
    bool is_index = false;
    std::uint32_t set = 0;
  };

  KeptTexts texts_;
  std::deque<Entry> jobs_;
  std::vector<FileId> root_ids_;
  std::size_t passed_ = 0;
  std::string directory_;
};

/// Makes the missing directories of all outputs: see OutputRoot if `root` is given. A run that fails later
/// leaves them: another process may write an output there, which has no name yet. Error{io} if one cannot be
/// made.
void make_directories(const Jobs& jobs, OutputRoot* root);

/// Adds the command's inputs, those in its list, and with --recursive the files that Command::walk takes
/// below directories, sorted by path. For an index, adds the files of its set, too, except for Verify. Links
/// to directories are skipped, unless they were given as inputs themselves: with --in-place they could lead
/// to files that nobody meant to change. Calls `failed`, which may throw, with each input that cannot be
/// taken: a directory without --recursive, a directory that cannot be read, a directory without such a file
/// unless this is allowed, and FILE:MEMBER where outputs are named after inputs. Error{usage} if the outputs
/// would be below a directory that is walked, where the next run would take them as inputs. Throws what
/// read_names() throws. Returns warnings: see "Models in several files" in clipper-formats(5).
[[nodiscard]] std::vector<std::string> take_inputs(
    const Command& command, Jobs& jobs,
    const std::function<void(const std::string& input, std::exception_ptr why)>& failed);

// Names for outputs, made from the paths of their inputs.

/// Names outputs below a directory. An output keeps its input's path as given, without "." and a leading
/// slash; if the only input is a directory, the path below it; with --relative-to, the path from that
/// directory; with --flat, the name. Error{usage} for a path as given with "..", which could lead out of the
/// directory; if --relative-to is no directory; and if an input, links followed, is not below it.
void write_below(const IntoDirectory& to, Jobs& jobs);

/// Names outputs by a template: see named_by().
void write_named(const std::string& output_template, Jobs& jobs);

/// Whether the template depends on the input.
[[nodiscard]] bool has_placeholder(std::string_view output_template);

/// All files that a run reads besides the inputs of its jobs: those of options, masks, and those behind all
/// of them, see files_behind(), each once.
[[nodiscard]] std::vector<ReadFile> everything_read(const ClipSettings& settings, const Jobs& jobs,
                                                    std::vector<ReadFile> of_options);
[[nodiscard]] std::vector<ReadFile> everything_read(const Command& command, const Jobs& jobs);

/// Error{usage} if a file that options ask for, its backup, or the log, is one that the run reads or writes,
/// also as a backup; of inputs and outputs the error says `role`.
void expect_apart(std::vector<SideFile> written, const Jobs& jobs, const std::vector<ReadFile>& read,
                  std::string_view role, const std::optional<Backup>& backup = std::nullopt);

/// Error{usage} if two jobs would write the same file, or if a job would write a file that another job reads
/// or that is in `also_read`. Who reads FILE:MEMBER reads FILE. Names may be links or mounts, or differ only
/// in case, therefore a file is identified by device and inode, and a missing file by its deepest existing
/// directory and the rest of its path. If there are several jobs, or with `keeps_inputs`, calls
/// set_output_is_new() for those whose outputs do not exist. With `keeps_inputs`, Error{usage} also for a job
/// that would write its own input. With `backup`, Error{usage} also if a job that replaces a file would keep
/// it under the name of a file that any job reads or writes. Error{io} if a file cannot be examined.
void check_conflicts(Jobs& jobs, const std::vector<ReadFile>& also_read, bool keeps_inputs,
                     const std::optional<Backup>& backup = std::nullopt);

/// A golden file and the input that it belongs to, which is no regular file.
struct LostInput {
  std::string input;
  std::string golden;
};

/// The golden files below `to` that belong to a directory that --recursive walks, under the same --include
/// and --exclude, but whose input has vanished; sorted by path for each directory. None with a list of files,
/// which may be a part of them. With --flat, `jobs` are all that is known of the inputs, and the patterns
/// cannot be applied to golden files: none then. Error{io} if a directory cannot be read.
[[nodiscard]] std::vector<LostInput> lost_inputs(const Command& command, const IntoDirectory& to,
                                                 const Jobs& jobs);

}  // namespace clipper
