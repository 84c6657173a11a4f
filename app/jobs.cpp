#include "jobs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "error.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

fs::path common_part(const fs::path& a, const fs::path& b) {
  fs::path common;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end() && *i == *j; ++i, ++j) common /= *i;
  return common;
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw Error(ErrorKind::io, fmt::format("{}: cannot be created: {}", path.string(), error.message()));
}

}  // namespace

std::vector<Job> jobs_in_place(const std::vector<std::string>& inputs) {
  std::vector<Job> jobs;
  std::map<std::pair<dev_t, ino_t>, std::string> input_of;
  for (const std::string& input : inputs) {
    struct stat status {};
    const bool exists = ::stat(input.c_str(), &status) == 0;  // opening it says more
    const auto [known, is_new] = input_of.emplace(std::pair(status.st_dev, status.st_ino), input);
    if (exists && !is_new)
      throw Error(ErrorKind::usage, fmt::format("{} and {} are one file", known->second, input));
    jobs.push_back({input, std::nullopt});
  }
  return jobs;
}

std::vector<Job> jobs_into(const std::string& directory, const std::vector<std::string>& inputs) {
  std::vector<fs::path> paths;
  const fs::path here = fs::current_path();
  for (const std::string& input : inputs) paths.push_back((here / input).lexically_normal());
  fs::path root = paths.front().parent_path();
  for (const fs::path& path : paths) root = common_part(root, path.parent_path());

  std::vector<Job> jobs;
  std::map<std::string, std::string> input_of;
  std::set<fs::path> parents;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const fs::path output = directory / paths[i].lexically_relative(root);
    const auto [known, is_new] = input_of.emplace(output.string(), inputs[i]);
    if (!is_new)
      throw Error(ErrorKind::usage, fmt::format("{} and {} would both be written to {}", known->second,
                                                inputs[i], known->first));
    parents.insert(output.parent_path());
    jobs.push_back({inputs[i], output.string()});
  }
  for (const fs::path& parent : parents) make_directory(parent);
  return jobs;
}

}  // namespace clipper
