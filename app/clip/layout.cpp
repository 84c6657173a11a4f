#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "clip/jobs.hpp"
#include "command_line/input_names.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// The absolute path without "//", ".", ".." and a slash at the end; "" for the root directory. `here` is the
/// working directory.
std::string normal(const fs::path& here, const std::string& path) {
  std::string text = os::text_of((here / os::native(path)).lexically_normal());
  if (text.ends_with('/')) text.pop_back();
  return text;
}

/// Paths from a root directory, which is identified by its inode because names may be links or mounts.
class PathsBelow {
 public:
  explicit PathsBelow(const std::string& root) : root_(root) {
    const std::optional<FileId> id = find_file(root);
    if (!id || !is_directory(root)) refuse(fmt::format("--relative-to: {} is not a directory", root));
    id_ = *id;
  }

  [[nodiscard]] std::string of(const std::string& input) {
    const std::string directory = directory_of(input);
    if (directory != last_directory_) {
      const std::optional<std::string> path = path_of(directory);
      if (!path) refuse(fmt::format("{}: not below the --relative-to directory {}", input, root_));
      last_path_ = path->empty() ? "" : *path + "/";
      last_directory_ = directory;
    }
    return last_path_ + name_of(input);
  }

 private:
  /// The directory's path from the root. Uses the path as given if it leads through the root without "..",
  /// because ".." after a link leads elsewhere than the text suggests. Otherwise resolves links.
  [[nodiscard]] std::optional<std::string> path_of(const std::string& directory) const {
    const std::string written = normal(here_, directory);
    const bool exists = find_file(directory).has_value();
    std::optional<std::string> real = rest_of(exists ? normal("", resolved(directory)) : written);
    if (!real || ("/" + directory + "/").find("/../") != std::string::npos) return real;
    std::optional<std::string> rest = rest_of(written);
    return rest ? rest : real;
  }

  /// The part of a normal path that follows the root; nothing if the path does not lead through the root.
  [[nodiscard]] std::optional<std::string> rest_of(const std::string& path) const {
    for (std::size_t end = 0;; end = std::min(path.find('/', end + 1), path.size())) {
      if (find_file(end == 0 ? "/" : path.substr(0, end)) == id_)
        return path.substr(std::min(end + 1, path.size()));
      if (end == path.size()) return std::nullopt;
    }
  }

  std::string root_;
  FileId id_;
  fs::path here_ = fs::current_path();
  std::string last_directory_;
  std::string last_path_;  ///< from the root to last_directory_, with a slash at the end
};

std::string path_below(const IntoDirectory& to, const Job& job) {
  std::string_view given = job.input;
  if (job.is_walked && to.only_input) given.remove_prefix(to.only_input->size());
  std::string path;
  while (!given.empty()) {
    const std::string_view name = given.substr(0, given.find('/'));
    given.remove_prefix(std::min(name.size() + 1, given.size()));
    if (name.empty() || name == ".") continue;
    if (to.flat)
      path.clear();
    else if (name == "..")
      refuse(fmt::format("{}: {} does not keep a path with ..; add --relative-to DIR, or --flat", job.input,
                         to.option));
    if (!path.empty()) path += '/';
    path += name;
  }
  return path;
}

}  // namespace

void write_below(const IntoDirectory& to, Jobs& jobs) {
  std::optional<PathsBelow> paths;
  if (to.relative_to) paths.emplace(*to.relative_to);
  jobs.set_directory(to.path.ends_with('/') ? to.path : to.path + "/");
  for (std::size_t i = 0; i < jobs.size(); ++i)
    jobs.set_output(i, paths ? paths->of(jobs[i].input) : path_below(to, jobs[i]));
}

void write_named(const std::string& output_template, Jobs& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs.set_output(i, named_by(output_template, jobs[i].input));
}

bool has_placeholder(std::string_view output_template) {
  for (std::size_t i = 0; i < output_template.size(); ++i) {
    if (output_template[i] != '{') continue;
    if (output_template.substr(i + 1, 1) != "{") return true;
    ++i;
  }
  return false;
}

namespace {

/// The file that is read or written: for FILE:MEMBER the archive.
std::string file_of(const std::string& path) {
  const std::optional<MemberPath> member = member_path(path);
  return member ? member->archive : path;
}

/// The name that the file gets when an output replaces it: beside the file that a link leads to. Nothing if
/// there is no file, or if it has this name already, by a run that was killed.
std::optional<std::string> backup_of(const std::string& output, const std::optional<Backup>& backup) {
  if (!backup || output == "-" || !find_file(file_of(output))) return std::nullopt;
  std::string kept = resolved(file_of(output)) + backup->suffix;
  if (is_same_file(file_of(output), kept)) return std::nullopt;
  return kept;
}

/// Where a path leads: to a file, or to names that do not exist yet below a directory.
struct Location {
  FileId file;
  std::string missing;

  friend bool operator==(const Location&, const Location&) = default;

  [[nodiscard]] std::uint64_t hash() const {
    return hash_of(file) ^ (missing.empty() ? 0 : std::hash<std::string>{}(missing));
  }
};

class Locations {
 public:
  [[nodiscard]] Location of(const std::string& path_or_member) {
    if (path_or_member == "-") return {{}, path_or_member};  // standard output
    const std::string path = file_of(path_or_member);
    const std::string directory = directory_of(path);
    const bool is_in_missing = directory == directory_ && !location_.missing.empty();
    if (const auto file = is_in_missing ? std::nullopt : find_file(path)) return {*file, ""};
    if (directory != directory_) {
      location_ = of_directory(directory);
      directory_ = directory;
    }
    return below(location_, path);
  }

 private:
  [[nodiscard]] static Location of_directory(const std::string& path) {
    if (const std::optional<FileId> file = find_file(path)) return {*file, ""};
    if (path == directory_of(path)) throw_system_error(path, "cannot be examined", EACCES);
    return below(of_directory(directory_of(path)), path);
  }

  [[nodiscard]] static Location below(Location location, const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name == "..") refuse(fmt::format("{}: '..' after a directory that does not exist", path));
    if (!name.empty() && name != ".") location.missing.append("/").append(os::folded(name));
    return location;
  }

  std::string directory_;  ///< the last directory; successive inputs are often in the same directory
  Location location_;      ///< of directory_
};

/// A file that a job reads or writes. 16 bytes, because every job has two uses and there may be millions.
struct Use {
  std::uint64_t hash;  ///< of the file's location
  std::uint32_t job;   ///< an index; jobs.size() + i is file i of `also_read`
  bool writes;
  bool is_backup = false;

  friend bool operator<(const Use& a, const Use& b) {
    return std::tie(a.hash, a.job, a.writes) < std::tie(b.hash, b.job, b.writes);
  }
};

class Conflicts {
 public:
  Conflicts(Jobs& jobs, const std::vector<ReadFile>& also_read, bool keeps_inputs,
            const std::optional<Backup>& backup)
      : jobs_(jobs), also_read_(also_read), keeps_inputs_(keeps_inputs), backup_(backup) {}

  void check() {
    collect();
    std::ranges::sort(uses_, std::less());
    for (auto begin = uses_.begin(); begin != uses_.end();) {
      const auto end =
          std::find_if(begin, uses_.end(), [&](const Use& use) { return use.hash != begin->hash; });
      for (auto writer = begin; writer != end; ++writer)
        if (writer->writes)
          for (auto other = begin; other != end; ++other) check_pair(*writer, *other);
      begin = end;
    }
  }

 private:
  void collect() {
    uses_.reserve(2 * jobs_.size() + also_read_.size());
    for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
      const Job job = jobs_[i];
      if (const std::string input = input_path(job.input); job.output && input != "-")
        uses_.push_back({job.regular_file ? *job.regular_file : locations_.of(input).hash(), i, false});
      const std::string output = output_path(job.output.value_or(job.input));
      const Location target = locations_.of(output);
      uses_.push_back({target.hash(), i, true});
      if (const auto kept = backup_of(output, backup_))
        uses_.push_back({locations_.of(*kept).hash(), i, true, true});
      if (job.output && !target.missing.empty() && jobs_.size() > 1) jobs_.set_output_is_new(i);
    }
    for (std::size_t i = 0; i < also_read_.size(); ++i)
      uses_.push_back(
          {locations_.of(also_read_[i].path).hash(), static_cast<std::uint32_t>(jobs_.size() + i), false});
  }

  [[nodiscard]] std::string path_of(const Use& use) const {
    if (use.job >= jobs_.size()) return also_read_[use.job - jobs_.size()].path;
    const Job job = jobs_[use.job];
    const std::string path = use.writes ? job.output.value_or(job.input) : job.input;
    return use.is_backup ? backup_of(path, backup_).value_or(path) : path;
  }

  /// Examines both files again, at the same time: an inode that was seen earlier may now belong to another
  /// file.
  [[nodiscard]] bool is_one_file(const std::string& a, const std::string& b) {
    const Location location = locations_.of(a);
    return location == locations_.of(b) &&
           (!location.missing.empty() || is_same_file(file_of(a), file_of(b)));
  }

  void check_pair(const Use& writer, const Use& other) {
    const bool is_own = writer.job == other.job;
    if (is_own && (other.writes || !(keeps_inputs_ || writer.is_backup)))
      return;                     // one file that is read and written: in place
    if (other.is_backup) return;  // as the writer
    const std::string output = path_of(writer);
    const std::string path = path_of(other);
    if (!is_one_file(output_path(output), other.writes ? output_path(path) : input_path(path))) return;
    const Job job = jobs_[writer.job];
    if (writer.is_backup)
      refuse(fmt::format("--backup: {} would be kept as {}, which is {}; use another SUFFIX",
                         job.output.value_or(job.input), output,
                         other.job >= jobs_.size() ? "read by " + also_read_[other.job - jobs_.size()].reader
                         : other.writes && jobs_[other.job].output ? "also an output"
                                                                   : "also an input"));
    if (other.job >= jobs_.size())
      refuse(fmt::format("{} would be written to {}, which {} reads", job.input, output,
                         also_read_[other.job - jobs_.size()].reader));
    if (is_own)
      refuse(fmt::format("{}: IN is OUT; choose another directory, or --in-place to replace the input",
                         job.input));
    if (!other.writes)
      refuse(fmt::format("{} would be written to {}, which is {}", job.input, output,
                         output == path ? "also an input" : "the input " + path));
    if (!job.output && output == path) refuse(fmt::format("{} is an input twice", path));
    if (!job.output) refuse(fmt::format("{} and {} are the same file", output, path));
    const bool keeps_name = output.ends_with(job.input.substr(beside(job.input, "").size()));
    refuse(fmt::format("{} and {} would both be written to {}{}{}", job.input, jobs_[other.job].input, output,
                       output == path ? "" : ", the same file as " + path,
                       keeps_name ? "" : "; --output-dir writes below a directory"));
  }

  Jobs& jobs_;
  const std::vector<ReadFile>& also_read_;
  bool keeps_inputs_;
  const std::optional<Backup>& backup_;
  Locations locations_;
  std::vector<Use> uses_;
};

/// The directory of the golden files of what lies in an input directory.
std::string golden_directory(const IntoDirectory& to, const std::string& directory) {
  Jobs jobs;
  jobs.add_walked(os::joined(directory, "x"));
  write_below(to, jobs);
  return directory_of(*jobs[0].output);
}

}  // namespace

/// An index whose files are jobs names no other files.
std::vector<ReadFile> everything_read(const ClipSettings& settings, const Jobs& jobs,
                                      std::vector<ReadFile> of_options) {
  FilesRead files(settings.request, settings.reading, std::move(of_options));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string input = jobs[i].input;
    if (!jobs.is_index(i)) files.add_behind(input);
    files.add_masks(input);
  }
  return files.all();
}

/// Those of options, before those of masks and inputs.
std::vector<ReadFile> everything_read(const Command& command, const Jobs& jobs) {
  std::vector<ReadFile> files = number_files(command.settings.request);
  if (!command.applied.empty()) files.insert(files.begin(), {"--apply", command.applied});
  const std::string list = command.list ? input_path(command.list->path) : "-";
  if (list != "-")
    files.push_back({command.list->separator == '\0' ? "--files0-from" : "--files-from", list});
  return everything_read(command.settings, jobs, std::move(files));
}

void expect_apart(std::vector<SideFile> written, const Jobs& jobs, const std::vector<ReadFile>& read,
                  std::string_view role, const std::optional<Backup>& backup) {
  for (const SideFile& file : std::vector(written))
    if (auto kept = backup_of(file.path, backup)) written.push_back({"--backup", std::move(*kept)});
  const SideFiles files(written);
  if (files.empty()) return;
  files.expect_other_than(read);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job job = jobs[i];
    const std::string output = job.output.value_or(job.input);
    files.expect_other_than(input_path(job.input), role);
    if (job.output) files.expect_other_than(output_path(output), role);
    if (const auto kept = backup_of(output, backup))
      files.expect_other_than(*kept, "the backup of " + output);
  }
}

void check_conflicts(Jobs& jobs, const std::vector<ReadFile>& also_read, bool keeps_inputs,
                     const std::optional<Backup>& backup) {
  if (jobs.size() + also_read.size() > 1 || keeps_inputs || backup)
    Conflicts(jobs, also_read, keeps_inputs, backup).check();
}

std::vector<LostInput> lost_inputs(const Command& command, const IntoDirectory& to, const Jobs& jobs) {
  std::vector<LostInput> lost;
  const bool has_patterns = !command.walk.include.empty() || !command.walk.exclude.empty();
  if (!command.recursive || command.list || (to.flat && has_patterns)) return lost;
  std::set<std::string> outputs;
  for (std::size_t i = 0; i < jobs.size() && to.flat; ++i) outputs.insert(*jobs[i].output);
  for (const std::string& directory : command.inputs) {
    if (!is_directory(directory)) continue;
    const std::string golden = golden_directory(to, directory);
    if (!is_directory(golden)) continue;
    const auto first = static_cast<std::ptrdiff_t>(lost.size());
    TensorWalk walk = command.walk;
    std::vector<std::string> indexes;
    walk.found = [&](const std::string& name, TensorWalk::Kind kind) {
      if (!may_be_tensor(kind)) return;
      if (is_index(name)) indexes.push_back(os::joined(golden, name));
      LostInput each{os::joined(directory, name), os::joined(golden, name)};
      std::error_code ignored;
      const bool exists = to.flat ? name.find('/') != name.npos || outputs.contains(each.golden)
                                  : fs::is_regular_file(os::native(each.input), ignored);
      if (!exists) lost.push_back(std::move(each));
    };
    walk_tensors(golden, walk);
    const std::set<std::string> parts = files_of_sets(indexes);
    lost.erase(std::remove_if(lost.begin() + first, lost.end(),
                              [&](const LostInput& each) { return parts.contains(each.golden); }),
               lost.end());
    std::sort(lost.begin() + first, lost.end(),
              [](const LostInput& a, const LostInput& b) { return a.golden < b.golden; });
    if (to.flat) break;  // all directories have the same golden one
  }
  return lost;
}

}  // namespace clipper
