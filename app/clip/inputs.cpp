#include "clip/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "command_line/file_list.hpp"
#include "command_line/tensor_tree.hpp"
#include "error.hpp"
#include "files/directory.hpp"
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
  Inputs(const Command& command, RunLog& log, Jobs& jobs) : command_(command), log_(log), jobs_(jobs) {
    const auto* const into = std::get_if<IntoDirectory>(&command.destination);
    if (!command.recursive || into == nullptr) return;
    output_directory_ = into->path;
    output_directories_ = directories_from(into->path);
  }

  void take(const std::string& input) {
    if (input == "-" || !is_directory(input)) return jobs_.add(input);
    if (command_.recursive) return take_below(input);
    try {
      throw Error(ErrorKind::io, fmt::format("{}: is a directory; to clip the .npy files below it, add "
                                             "--recursive",
                                             input));
    } catch (...) {
      fail(input);
    }
  }

 private:
  void take_below(const std::string& directory) {
    const std::size_t first = jobs_.size();
    jobs_.add_root(directory);
    TensorWalk walk;
    walk.links = TensorWalk::Links::skipped;
    bool is_root = true;
    walk.entered = [&](const FileId& id) {
      if (std::exchange(is_root, false)) jobs_.add_root_id(id);
      expect_no_output(id, directory);
    };
    walk.failed = [&](const std::string& path) { fail(path); };
    for_each_tensor(directory, walk, [&](const std::string& path) { jobs_.add_walked(path); });
    jobs_.sort_from(first);
  }

  void expect_no_output(const FileId& walked, const std::string& directory) const {
    if (std::ranges::find(output_directories_, walked) == output_directories_.end()) return;
    throw Error(ErrorKind::usage, fmt::format("--output-dir {} lies within the input directory {}; the next "
                                              "run would take results as inputs; choose a directory outside",
                                              output_directory_, directory));
  }

  /// Called in an exception handler.
  void fail(const std::string& directory) {
    ClipReport report = log_.report_of({directory, std::nullopt});
    report.is_directory = true;
    log_.failed(report, std::current_exception());
    log_.stop_after_failure();
  }

  const Command& command_;
  RunLog& log_;
  Jobs& jobs_;
  std::string output_directory_;
  std::vector<FileId> output_directories_;  ///< with --recursive: --output-dir and the directories above it
};

}  // namespace

void take_inputs(const Command& command, RunLog& log, Jobs& jobs) {
  Inputs inputs(command, log, jobs);
  for (const std::string& input : command.inputs) inputs.take(input);
  if (command.list) read_names(*command.list, [&](const std::string& name) { inputs.take(name); });
}

}  // namespace clipper
