#include "clip/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "command_line/tensor_tree.hpp"
#include "error.hpp"
#include "files/place.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Calls `take` with each name in the path; "." and the empty names between slashes do not count.
template <class Take>
void for_each_name(std::string_view path, Take take) {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (!name.empty() && name != ".") take(name);
  }
}

/// The absolute path without "//", ".", ".." and a slash at the end; "" for the root directory. `here` is the
/// working directory.
std::string normal(std::string_view here, std::string_view path) {
  std::string result;
  const auto take = [&](std::string_view name) {
    if (name == "..")
      result.resize(result.empty() ? 0 : result.rfind('/'));
    else
      result.append("/").append(name);
  };
  if (!path.starts_with('/')) for_each_name(here, take);
  for_each_name(path, take);
  return result;
}

/// Paths from a root directory, which is identified by its inode because names may be links or mounts.
class PathsBelow {
 public:
  explicit PathsBelow(const std::string& root) : root_(root) {
    const std::optional<FileId> id = find_file(root);
    if (!id || !is_directory(root))
      throw Error(ErrorKind::usage, fmt::format("--relative-to: {} is not a directory", root));
    id_ = *id;
  }

  [[nodiscard]] std::string of(const std::string& input) {
    const std::string directory = directory_of(input);
    if (directory != last_directory_) {
      const std::optional<std::string> path = path_of(directory);
      if (!path)
        throw Error(ErrorKind::usage,
                    fmt::format("{}: not below the --relative-to directory {}", input, root_));
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
  std::string here_ = fs::current_path();
  std::string last_directory_;
  std::string last_path_;  ///< from the root to last_directory_, with a slash at the end
};

std::string path_below(const IntoDirectory& to, const Job& job) {
  std::string_view given = job.input;
  if (job.is_walked && to.only_input) given.remove_prefix(to.only_input->size());
  std::string path;
  for_each_name(given, [&](std::string_view name) {
    if (to.flat)
      path.clear();
    else if (name == "..")
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} does not keep a path with ..; add --relative-to DIR, or --flat",
                              job.input, to.option));
    if (!path.empty()) path += '/';
    path += name;
  });
  return path;
}

std::string part_of(const fs::path& input, std::string_view name) {
  if (input == "-")
    throw Error(ErrorKind::usage, fmt::format("--output: standard input has no {{{}}}", name));
  if (name == "dir") return input.has_parent_path() ? input.parent_path() : ".";
  if (name == "name") return input.filename();
  if (name == "stem") return input.stem();
  if (name == "ext") return input.extension();
  throw Error(
      ErrorKind::usage,
      fmt::format("--output: unknown placeholder {{{}}}; use {{dir}}, {{name}}, {{stem}} or {{ext}}", name));
}

std::string filled_in(std::string_view output_template, const fs::path& input) {
  std::string output;
  for (std::size_t i = 0; i < output_template.size(); ++i) {
    const std::string_view rest = output_template.substr(i);
    if (rest.starts_with("{{") || rest.starts_with("}}")) {
      output += rest.front();
      ++i;
    } else if (rest.front() == '{') {
      const std::size_t end = rest.find('}');
      output += part_of(input, end == std::string_view::npos ? rest : rest.substr(1, end - 1));
      i += end;
    } else {
      output += rest.front();
    }
  }
  return output;
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
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs.set_output(i, filled_in(output_template, jobs[i].input));
}

bool has_placeholder(std::string_view output_template) {
  for (std::size_t i = 0; i < output_template.size(); ++i) {
    if (output_template[i] != '{') continue;
    if (output_template.substr(i + 1, 1) != "{") return true;
    ++i;
  }
  return false;
}

}  // namespace clipper
