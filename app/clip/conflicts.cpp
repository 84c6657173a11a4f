#include "clip/conflicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>

#include "error.hpp"
#include "files/container.hpp"
#include "files/place.hpp"

namespace clipper {
namespace {

/// The file that is read or written: for FILE:MEMBER the archive.
std::string file_of(const std::string& path) {
  const std::optional<MemberPath> member = member_path(path);
  return member ? member->archive : path;
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
    if (path == "." || path == "/") throw_system_error(path, "cannot be examined", EACCES);
    return below(of_directory(directory_of(path)), path);
  }

  [[nodiscard]] static Location below(Location location, const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name == "..")
      throw Error(ErrorKind::usage, fmt::format("{}: '..' after a directory that does not exist", path));
    if (!name.empty() && name != ".") location.missing.append("/").append(name);
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

  friend bool operator<(const Use& a, const Use& b) {
    return std::tie(a.hash, a.job, a.writes) < std::tie(b.hash, b.job, b.writes);
  }
};

class Conflicts {
 public:
  Conflicts(Jobs& jobs, const std::vector<OptionFile>& also_read, bool keeps_inputs)
      : jobs_(jobs), also_read_(also_read), keeps_inputs_(keeps_inputs) {}

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
      if (job.output && job.input != "-")
        uses_.push_back({job.regular_file ? *job.regular_file : locations_.of(job.input).hash(), i, false});
      const Location target = locations_.of(job.output.value_or(job.input));
      uses_.push_back({target.hash(), i, true});
      if (job.output && !target.missing.empty() && jobs_.size() > 1) jobs_.set_output_is_new(i);
    }
    for (std::size_t i = 0; i < also_read_.size(); ++i)
      uses_.push_back(
          {locations_.of(also_read_[i].path).hash(), static_cast<std::uint32_t>(jobs_.size() + i), false});
  }

  [[nodiscard]] std::string path_of(const Use& use) const {
    if (use.job >= jobs_.size()) return also_read_[use.job - jobs_.size()].path;
    const Job job = jobs_[use.job];
    return use.writes ? job.output.value_or(job.input) : job.input;
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
    if (is_own && (other.writes || !keeps_inputs_)) return;  // one file that is read and written: in place
    const std::string output = path_of(writer);
    const std::string path = path_of(other);
    if (!is_one_file(output, path)) return;
    const Job job = jobs_[writer.job];
    const auto refuse = [](const std::string& why) { throw Error(ErrorKind::usage, why); };
    if (other.job >= jobs_.size())
      refuse(fmt::format("{} would be written to {}, which {} reads", job.input, output,
                         also_read_[other.job - jobs_.size()].option));
    if (is_own)
      refuse(fmt::format("{}: IN is OUT; use another --output-dir, or --in-place to replace the input",
                         job.input));
    if (!other.writes)
      refuse(fmt::format("{} would be written to {}, which is {}", job.input, output,
                         output == path ? "also an input" : "the input " + path));
    if (!job.output && output == path) refuse(fmt::format("{} is an input twice", path));
    if (!job.output) refuse(fmt::format("{} and {} are the same file", output, path));
    refuse(fmt::format("{} and {} would both be written to {}{}", job.input, jobs_[other.job].input, output,
                       output == path ? "" : ", the same file as " + path));
  }

  Jobs& jobs_;
  const std::vector<OptionFile>& also_read_;
  bool keeps_inputs_;
  Locations locations_;
  std::vector<Use> uses_;
};

}  // namespace

void check_conflicts(Jobs& jobs, const std::vector<OptionFile>& also_read, bool keeps_inputs) {
  if (jobs.size() + also_read.size() > 1 || keeps_inputs) Conflicts(jobs, also_read, keeps_inputs).check();
}

}  // namespace clipper
