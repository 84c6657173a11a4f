#include "clip/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <variant>

#include "contract/fields.hpp"
#include "error.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"
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

bool Jobs::are_outputs_new() const {
  return std::ranges::all_of(jobs_, &Entry::output_is_new);
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
    if (root != nullptr)
      root->make_directories(output);
    else
      make_directory(directory);
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
      fail(input, "is a directory; to clip the files below it, add --recursive");
    } else if (const auto path = names_outputs_ ? member_path(input) : std::nullopt) {
      fail(input,
           fmt::format(
               "one member needs IN and OUT; --output-dir and --output take the archive {} and --member {}",
               path->archive, path->member));
    } else if (exists && divides_sets_ && is_index(input)) {
      take_set(input, is_named, false);
    } else {
      const auto id = exists && S_ISREG(status.st_mode) ? std::optional(id_of(status)) : std::nullopt;
      if (id && divides_sets_ && has_suffix(input, ".safetensors")) parts_.emplace(*id, jobs_.size());
      jobs_.add(input, id, is_named);
    }
  }

  /// Called after all inputs: takes the sets of which all files are inputs by name, and leaves the files to
  /// their sets. Returns warnings about indexes that get no result and do not stay true.
  [[nodiscard]] std::vector<std::string> take_sets_of_parts() {
    std::vector<std::string> warnings;
    const auto& settings = command_.settings;
    const auto* const in_place = std::get_if<InPlace>(&command_.destination);
    const bool stays_true = in_place != nullptr && !in_place->is_direct && !has_cast(settings.request) &&
                            settings.selection.other != Selection::Other::drop;
    if (!stays_true)
      for (const std::string& index : indexes_beside_parts(warnings))
        if (std::string warning = take_named_set(index); !warning.empty())
          warnings.push_back(std::move(warning));
    std::vector<char> kept(jobs_.size(), 1);
    for (const auto& [id, job] : parts_)
      if (files_of_sets_.contains(id)) kept[job] = 0;
    if (!parts_.empty()) jobs_.keep(kept);
    return warnings;
  }

 private:
  /// The indexes in the directories of parts_, sorted. Warns of directories that cannot be read.
  [[nodiscard]] std::set<std::string> indexes_beside_parts(std::vector<std::string>& warnings) const {
    std::set<std::string> indexes;
    std::set<std::string> directories;
    for (const auto& [id, job] : parts_) {
      const std::string input = jobs_[job].input;
      if (!directories.insert(beside(input, "")).second) continue;
      const std::string directory = directory_of(input);
      std::error_code error;
      std::filesystem::directory_iterator entry;
      do entry = std::filesystem::directory_iterator(os::native(directory), error);
      while (error == std::errc::interrupted);
      for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
        if (const std::string name = os::text_of(entry->path().filename()); is_index(name))
          indexes.insert(beside(input, name));
      if (!error) continue;
      if (!is_of_name(error.value())) throw_system_error(directory, "cannot be read", error.value());
      warnings.push_back(
          fmt::format("{}: cannot be read: {}; an index in it gets no result", directory, error.message()));
    }
    return indexes;
  }

  /// Takes the set if all of its files are parts_. Returns a warning if only some are, or it cannot be taken.
  [[nodiscard]] std::string take_named_set(const std::string& index) {
    std::string part;
    std::size_t others = 0;
    try {
      for (const std::string& path : paths_of_set(index)) {
        const std::optional<FileId> id = find_file(path);
        if (id && files_of_sets_.contains(*id)) return "";  // its index is an input
        if (!id || !parts_.contains(*id))
          ++others;
        else if (part.empty())
          part = path;
      }
      if (part.empty()) return "";
      if (others == 0 && command_.share)
        return index +
               ": gets no result, because --shard divides its files; "
               "name the index with --skip-existing when all shards are done";
      if (others == 0) add_set(index, command_.names_inputs, false);
    } catch (const Error& error) {
      if (const int number = error.system_error(); number != 0 && !is_of_name(number)) throw;
      return fmt::format("{}; the index gets no result", error.what());
    }
    if (others == 0) return "";
    return fmt::format(
        "{}: names {}, but gets no result, because {} of its files {}; to clip the whole set, name the index",
        index, part, others, others == 1 ? "is no input" : "are no inputs");
  }

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
    walk.passed = [&](const std::string& /*path*/) { jobs_.add_passed(); };
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

  void take_set(const std::string& index, bool is_named, bool is_walked) {
    try {
      add_set(index, is_named, is_walked);
    } catch (...) {
      fail_(index, std::current_exception());
    }
  }

  /// Adds the files of a set, and its index; nothing after an error.
  void add_set(const std::string& index, bool is_named, bool is_walked) {
    expect_way(index);
    const InputFile file = InputFile::open_regular(index);
    const Container set(file, KeptFor::reading);
    std::map<FileId, std::string> claimed = claim_files(set);
    const std::vector<MemberUse> uses = member_uses(command_.settings, set);
    if (is_named) expect_clipped_member(command_.settings, set, uses);
    ++sets_;
    const auto add = [&](const std::string& path, const os::Status& status, bool named) {
      if (is_walked)
        jobs_.add_walked(path);
      else
        jobs_.add(path, id_of(status), named);
      jobs_.set_set(sets_);
    };
    for (const SetFile& part : set.files()) add(part.path, part.status, false);
    add(index, file.status(), is_named);
    jobs_.set_is_index();
    files_of_sets_.merge(claimed);
  }

  /// Two sets that share a file would both change it, or each other's output.
  [[nodiscard]] std::map<FileId, std::string> claim_files(const Container& set) const {
    const std::string& index = set.file().path();
    const auto* const into = std::get_if<IntoDirectory>(&command_.destination);
    std::map<FileId, std::string> claimed;
    for (const auto& [path, status] : set.files()) {
      const std::string name = path.substr(beside(index, "").size());
      if (into != nullptr && into->flat && name.find('/') != name.npos)
        refuse(index + ": --flat would part it from its file " + name);
      expect_found(index, path, name);
      const auto taken = files_of_sets_.find(id_of(status));
      const bool is_first = taken == files_of_sets_.end();
      if (is_first && claimed.emplace(id_of(status), index).second) continue;
      refuse(
          is_first || taken->second == index
              ? index + ": is an input twice"
              : fmt::format("{} and {} both name {}; a run takes one of them", taken->second, index, path));
    }
    return claimed;
  }

  /// Error{usage} if the index would not find the result of its file: what --output names all alike is
  /// renamed, unless the name stays.
  void expect_found(const std::string& index, const std::string& path, const std::string& name) const {
    const auto* const to = std::get_if<ByTemplate>(&command_.destination);
    if (to == nullptr) return;
    constexpr std::string_view kAdvice = "end its pattern with /{name}, or use --output-dir or --in-place";
    const std::string new_index = named_by(to->text, index);
    const std::string output = named_by(to->text, path);
    if (!is_index(new_index))
      refuse(fmt::format("{}: --output would name it {}, which is no name of an index; {}", index, new_index,
                         kAdvice));
    if (output != beside(new_index, name))
      refuse(
          fmt::format("{}: --output would write its file {} to {}, where the new index does not find it; {}",
                      index, name, output, kAdvice));
  }

  /// The results of a set need the names that the index has, and the index needs all results.
  void expect_way(const std::string& index) const {
    const Destination& to = command_.destination;
    const auto* const out = std::get_if<ToFile>(&to);
    std::string_view why;
    if (std::holds_alternative<ShardOf>(to))
      why = "stands for several files, of which --shard K/N IN OUT takes one; use --output-dir";
    else if (out != nullptr && !is_index(out->path))
      why = "stands for several files; use --output-dir or --in-place, or an OUT.safetensors.index.json";
    else if (const auto* const in_place = std::get_if<InPlace>(&to);
             in_place != nullptr && !in_place->is_direct &&
             command_.settings.selection.other == Selection::Other::drop)
      why = "--unclipped drop could not finish after an interruption in place; use --output-dir";
    if (!why.empty()) refuse(fmt::format("{}: {}", index, why));
  }

  void expect_no_output(const FileId& walked, const std::string& directory) const {
    if (std::ranges::find(output_directories_, walked) == output_directories_.end()) return;
    refuse(fmt::format("{} {} lies within the input directory {}; {}; choose a directory outside",
                       output_option_, output_directory_, directory,
                       divides_sets_ ? "the next run would take results as inputs"
                                     : "its golden files would be inputs, too"));
  }

  void fail(const std::string& input, const std::string& why) {
    fail_(input, std::make_exception_ptr(Error(ErrorKind::usage, input + ": " + why)));
  }

  const Command& command_;
  Jobs& jobs_;
  const Failed& fail_;
  bool divides_sets_;                            ///< the files of a set are jobs
  bool names_outputs_ = false;                   ///< outputs are named after inputs
  std::map<FileId, std::string> files_of_sets_;  ///< the index that names each
  std::map<FileId, std::size_t> parts_;          ///< jobs of safetensors files that are inputs by their names
  std::uint32_t sets_ = 0;
  std::string_view output_option_;
  std::string output_directory_;
  std::vector<FileId> output_directories_;  ///< with --recursive: --output-dir and the directories above it
};

}  // namespace

std::vector<std::string> take_inputs(const Command& command, Jobs& jobs, const Inputs::Failed& failed) {
  Inputs inputs(command, jobs, failed);
  for (const std::string& input : command.inputs) inputs.take(input, command.names_inputs);
  if (command.list) read_names(*command.list, [&](const std::string& name) { inputs.take(name, false); });
  return inputs.take_sets_of_parts();
}

}  // namespace clipper
