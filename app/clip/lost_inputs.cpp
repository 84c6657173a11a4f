#include "clip/lost_inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "clip/layout.hpp"
#include "command_line/tensor_tree.hpp"
#include "files/place.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

/// The directory of the golden files of what lies in an input directory.
std::string golden_directory(const IntoDirectory& to, const std::string& directory) {
  Jobs jobs;
  jobs.add_walked((fs::path(directory) / "x").native());
  write_below(to, jobs);
  return directory_of(*jobs[0].output);
}

}  // namespace

std::vector<LostInput> lost_inputs(const Command& command, const IntoDirectory& to, const Jobs& jobs) {
  std::vector<LostInput> lost;
  const bool has_patterns = !command.include.empty() || !command.exclude.empty();
  if (!command.recursive || command.list || (to.flat && has_patterns)) return lost;
  std::set<std::string> outputs;
  for (std::size_t i = 0; i < jobs.size() && to.flat; ++i) outputs.insert(*jobs[i].output);
  for (const std::string& directory : command.inputs) {
    if (!is_directory(directory)) continue;
    const fs::path golden = golden_directory(to, directory);
    if (!is_directory(golden)) continue;
    const auto first = static_cast<std::ptrdiff_t>(lost.size());
    TensorWalk walk;
    walk.include = command.include;
    walk.exclude = command.exclude;
    walk.found = [&](const std::string& name, TensorWalk::Kind kind) {
      if (!may_be_tensor(kind)) return;
      LostInput each{fs::path(directory) / name, golden / name};
      std::error_code ignored;
      const bool exists = to.flat ? name.find('/') != name.npos || outputs.contains(each.golden)
                                  : fs::is_regular_file(each.input, ignored);
      if (!exists) lost.push_back(std::move(each));
    };
    walk_tensors(golden, walk);
    std::sort(lost.begin() + first, lost.end(),
              [](const LostInput& a, const LostInput& b) { return a.golden < b.golden; });
    if (to.flat) break;  // all directories have the same golden one
  }
  return lost;
}

}  // namespace clipper
