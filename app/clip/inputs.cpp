#include "clip/inputs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "clip/layout.hpp"
#include "command_line/file_list.hpp"
#include "command_line/tensor_tree.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/place.hpp"

namespace clipper {
namespace {

/// The directory and all directories above it, links resolved. Directories that do not exist are left out.
std::vector<FileId> directories_from(std::string path) {
  for (; !find_file(path); path = directory_of(path))
    if (path == "." || path == "/") throw_system_error(path, "cannot be examined", EACCES);
  std::vector<FileId> ids;
  for (path = resolved(path);; path = directory_of(path)) {
    if (const std::optional<FileId> id = find_file(path)) ids.push_back(*id);
    if (path == "/") return ids;
  }
}

class Inputs {
 public:
  using Failed = std::function<void(const std::string&, std::exception_ptr)>;

  Inputs(const Command& command, Jobs& jobs, const Failed& failed)
      : command_(command), jobs_(jobs), fail_(failed) {
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
    struct stat status {};
    const bool exists = input != "-" && ::stat(input.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) {
      if (command_.recursive) return take_below(input);
      fail(input, ErrorKind::io, "is a directory; to clip the .npy and .npz files below it, add --recursive");
    } else if (const auto path = names_outputs_ ? member_path(input) : std::nullopt) {
      fail(input, ErrorKind::usage,
           fmt::format(
               "one member needs IN and OUT; --output-dir and --output take the archive {} and --member {}",
               path->archive, path->member));
    } else {
      jobs_.add(input, exists && S_ISREG(status.st_mode) ? std::optional(id_of(status)) : std::nullopt,
                is_named);
    }
  }

 private:
  void take_below(const std::string& directory) {
    const std::size_t first = jobs_.size();
    TensorWalk walk;
    walk.links = TensorWalk::Links::skipped;
    walk.may_be_empty = command_.allow_empty;
    walk.include = command_.include;
    walk.exclude = command_.exclude;
    bool is_root = true;
    walk.entered = [&](const FileId& id) {
      if (std::exchange(is_root, false)) jobs_.add_root_id(id);
      expect_no_output(id, directory);
    };
    walk.failed = [&](const std::string& path) { fail_(path, std::current_exception()); };
    for_each_tensor(directory, walk, [&](const std::string& path) { jobs_.add_walked(path); });
    jobs_.sort_from(first);
  }

  void expect_no_output(const FileId& walked, const std::string& directory) const {
    if (std::ranges::find(output_directories_, walked) == output_directories_.end()) return;
    throw Error(ErrorKind::usage, fmt::format("{} {} lies within the input directory {}; the next run would "
                                              "take results as inputs; choose a directory outside",
                                              output_option_, output_directory_, directory));
  }

  void fail(const std::string& input, ErrorKind kind, const std::string& why) {
    fail_(input, std::make_exception_ptr(Error(kind, input + ": " + why)));
  }

  const Command& command_;
  Jobs& jobs_;
  const Failed& fail_;
  bool names_outputs_ = false;  ///< outputs are named after inputs
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
