#include "clip/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "clip/layout.hpp"
#include "command_line/input_names.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/place.hpp"
#include "flows/selection.hpp"
#include "os/os.hpp"

namespace clipper {

void Jobs::add(std::string_view input, const std::optional<FileId>& regular_file, bool is_named) {
  jobs_.push_back({.input = texts_.add(input),
                   .regular_file = regular_file ? hash_of(*regular_file) : 0,
                   .is_named = is_named});
}

void Jobs::add_walked(std::string_view input) {
  add(input, std::nullopt, false);
  jobs_.back().is_walked = true;
}

void Jobs::sort_from(std::size_t first) {
  const auto begin = jobs_.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, jobs_.end(),
            [](const Entry& a, const Entry& b) { return std::strcmp(a.input, b.input) < 0; });
}

void Jobs::set_output(std::size_t job, std::string_view path) {
  Entry& entry = jobs_[job];
  const std::string_view input = entry.input;
  entry.output = input.ends_with(path) ? input.substr(input.size() - path.size()).data() : texts_.add(path);
}

void Jobs::keep(const std::vector<char>& kept) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (kept[i] != 0) jobs_[count++] = jobs_[i];
  jobs_.resize(count);
}

Job Jobs::operator[](std::size_t job) const {
  const Entry& entry = jobs_[job];
  Job result{entry.input, std::nullopt, entry.output_is_new, entry.is_walked, entry.is_named, entry.is_index};
  if (entry.output != nullptr) result.output = directory_ + entry.output;
  if (entry.regular_file != 0) result.regular_file = entry.regular_file;
  return result;
}

void make_directories(const Jobs& jobs, OutputRoot* root) {
  std::string last = ".";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string output = jobs[i].output.value_or("");
    std::string directory = directory_of(output);
    if (directory == std::exchange(last, directory)) continue;
    if (root != nullptr) {
      root->make_directories(output);
      continue;
    }
    std::error_code error;
    std::filesystem::create_directories(os::native(directory), error);
    if (error)
      throw Error(ErrorKind::io, fmt::format("{}: cannot be created: {}", directory, error.message()));
  }
}

namespace {

/// The directory and all directories above it, links resolved. Directories that do not exist are left out.
std::vector<FileId> directories_from(std::string path) {
  for (; !find_file(path); path = directory_of(path))
    if (path == directory_of(path)) throw_system_error(path, "cannot be examined", EACCES);
  std::vector<FileId> ids;
  for (path = resolved(path);; path = directory_of(path)) {
    if (const std::optional<FileId> id = find_file(path)) ids.push_back(*id);
    if (path == directory_of(path)) return ids;
  }
}

class Inputs {
 public:
  using Failed = std::function<void(const std::string&, std::exception_ptr)>;

  Inputs(const Command& command, Jobs& jobs, const Failed& failed)
      : command_(command),
        jobs_(jobs),
        fail_(failed),
        divides_sets_(!std::holds_alternative<Verify>(command.destination)) {
    const auto* const verify = std::get_if<Verify>(&command.destination);
    const auto* const into = verify != nullptr && verify->layout
                                 ? &*verify->layout
                                 : std::get_if<IntoDirectory>(&command.destination);
    const auto* const by_template = std::get_if<ByTemplate>(&command.destination);
    names_outputs_ = (into != nullptr && verify == nullptr) ||
                     (by_template != nullptr && has_placeholder(by_template->text));
    if (!command.recursive || into == nullptr) return;
    output_option_ = into->option;
    output_directory_ = into->path;
    output_directories_ = directories_from(into->path);
  }

  /// `is_named`: on the command line, not in the list.
  void take(const std::string& input, bool is_named) {
    os::Status status{};
    const bool exists = input != "-" && os::stat(input.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) {
      if (command_.recursive) return take_below(input);
      fail(input, ErrorKind::io, "is a directory; to clip the .npy and .npz files below it, add --recursive");
    } else if (const auto path = names_outputs_ ? member_path(input) : std::nullopt) {
      fail(input, ErrorKind::usage,
           fmt::format(
               "one member needs IN and OUT; --output-dir and --output take the archive {} and --member {}",
               path->archive, path->member));
    } else if (exists && divides_sets_ && is_index(input)) {
      take_set(input, is_named, false);
    } else {
      jobs_.add(input, exists && S_ISREG(status.st_mode) ? std::optional(id_of(status)) : std::nullopt,
                is_named);
    }
  }

 private:
  void take_below(const std::string& directory) {
    const std::size_t first = jobs_.size();
    TensorWalk walk = command_.walk;
    walk.links = TensorWalk::Links::skipped;
    walk.may_be_empty = command_.allow_empty;
    bool is_root = true;
    walk.entered = [&](const FileId& id) {
      if (std::exchange(is_root, false)) jobs_.add_root_id(id);
      expect_no_output(id, directory);
    };
    walk.failed = [&](const std::string& path) { fail_(path, std::current_exception()); };
    std::vector<std::string> indexes;
    for_each_tensor(directory, walk, [&](const std::string& path) {
      if (is_index(path)) indexes.push_back(path);
      if (!is_index(path) || !divides_sets_) jobs_.add_walked(path);
    });
    leave_out(first, files_of_sets(indexes));
    std::ranges::sort(indexes);
    for (const std::string& index : indexes)
      if (divides_sets_) take_set(index, false, true);
    jobs_.sort_from(first);
  }

  void leave_out(std::size_t first, const std::set<std::string>& paths) {
    if (paths.empty()) return;
    std::vector<char> kept(jobs_.size(), 1);
    for (std::size_t i = first; i < kept.size(); ++i)
      if (paths.contains(jobs_[i].input)) kept[i] = 0;
    jobs_.keep(kept);
  }

  /// Adds the files of a set, and its index.
  void take_set(const std::string& index, bool is_named, bool is_walked) {
    try {
      expect_way(index);
      const InputFile file = InputFile::open_regular_file(index);
      const Container set(file, Records::dropped);
      claim_files(set);
      const std::vector<MemberUse> uses = member_uses(command_.settings, set);
      if (is_named) expect_clipped_member(command_.settings, set, uses);
      for (const SetFile& part : set.files()) {
        const std::string name = part.path.substr(beside(index, "").size());
        const auto* const into = std::get_if<IntoDirectory>(&command_.destination);
        if (into != nullptr && into->flat && name.find('/') != name.npos)
          throw Error(ErrorKind::usage, index + ": --flat would part it from its file " + name);
        if (is_walked)
          jobs_.add_walked(part.path);
        else
          jobs_.add(part.path, id_of(part.status), false);
      }
      if (is_walked)
        jobs_.add_walked(index);
      else
        jobs_.add(index, id_of(file.status()), is_named);
      jobs_.set_is_index();
    } catch (...) {
      fail_(index, std::current_exception());
    }
  }

  /// Two sets that share a file would both change it, or each other's output.
  void claim_files(const Container& set) {
    const std::string& index = set.file().path();
    for (const auto& [path, status] : set.files()) {
      const auto [taken, is_first] = files_of_sets_.emplace(id_of(status), index);
      if (is_first) continue;
      throw Error(ErrorKind::usage, taken->second == index
                                        ? index + ": is an input twice"
                                        : fmt::format("{} and {} both name {}; a run takes one of them",
                                                      taken->second, index, path));
    }
  }

  /// The results of a set need the names that the index has, and the index needs all results.
  void expect_way(const std::string& index) const {
    const Destination& to = command_.destination;
    const auto* const out = std::get_if<ToFile>(&to);
    std::string_view why;
    if (command_.share || std::holds_alternative<PartOf>(to) || std::holds_alternative<SlabOf>(to))
      why = "stands for several files, which --shard would not all have; name the files";
    else if (std::holds_alternative<ByTemplate>(to))
      why = "stands for several files, whose names --output would change; use --output-dir or --in-place";
    else if (out != nullptr && !is_index(out->path))
      why = "stands for several files; use --output-dir or --in-place, or an OUT.safetensors.index.json";
    else if (std::holds_alternative<InPlace>(to) &&
             command_.settings.selection.other == Selection::Other::drop)
      why = "--other drop could not finish after an interruption in place; use --output-dir";
    if (!why.empty()) throw Error(ErrorKind::usage, fmt::format("{}: {}", index, why));
  }

  void expect_no_output(const FileId& walked, const std::string& directory) const {
    if (std::ranges::find(output_directories_, walked) == output_directories_.end()) return;
    throw Error(ErrorKind::usage,
                fmt::format("{} {} lies within the input directory {}; {}; choose a directory outside",
                            output_option_, output_directory_, directory,
                            divides_sets_ ? "the next run would take results as inputs"
                                          : "its golden files would be inputs, too"));
  }

  void fail(const std::string& input, ErrorKind kind, const std::string& why) {
    fail_(input, std::make_exception_ptr(Error(kind, input + ": " + why)));
  }

  const Command& command_;
  Jobs& jobs_;
  const Failed& fail_;
  bool divides_sets_;                            ///< the files of a set are jobs
  bool names_outputs_ = false;                   ///< outputs are named after inputs
  std::map<FileId, std::string> files_of_sets_;  ///< the index that names each
  std::string_view output_option_;
  std::string output_directory_;
  std::vector<FileId> output_directories_;  ///< with --recursive: --output-dir and the directories above it
};

}  // namespace

void take_inputs(const Command& command, Jobs& jobs, const Inputs::Failed& failed) {
  Inputs inputs(command, jobs, failed);
  for (const std::string& input : command.inputs) inputs.take(input, command.names_inputs);
  if (command.list) read_names(*command.list, [&](const std::string& name) { inputs.take(name, false); });
}

}  // namespace clipper
