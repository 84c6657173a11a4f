#include "jobs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "error.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

/// Whether an error in looking at a path is lasting: it will keep the file from being opened, too, and is
/// said then.
bool is_of_the_path(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
         error == std::errc::permission_denied || error == std::errc::too_many_symbolic_link_levels ||
         error == std::errc::filename_too_long;
}

void check(const std::error_code& error, const fs::path& path) {
  if (error && !is_of_the_path(error))
    throw Error(ErrorKind::io, fmt::format("{}: cannot be examined: {}", path.string(), error.message()));
}

/// One path for all that lead to a file. Not its inode: a file that another process replaces meanwhile gets a
/// new one, perhaps one that another file had.
class Places {
 public:
  [[nodiscard]] std::string of(const fs::path& path) {
    std::error_code error;
    const bool is_link = fs::is_symlink(path, error);
    check(error, path);
    if (is_link) return without_links(path);
    std::string& directory = directories_[path.parent_path()];
    if (directory.empty()) directory = without_links(fs::absolute(path).parent_path());
    return fmt::format("{}/{}", directory, path.filename().string());
  }

 private:
  static std::string without_links(const fs::path& path) {
    std::error_code error;
    const fs::path found = fs::weakly_canonical(path, error);
    check(error, path);
    return error ? fs::absolute(path).lexically_normal() : found;
  }

  std::map<fs::path, std::string> directories_;
};

/// One text for all names of a file, hard links among them.
std::string identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return fmt::format("{} {}", status.st_dev, status.st_ino);
  check({errno, std::generic_category()}, path);
  return path;
}

fs::path common_part(const fs::path& a, const fs::path& b) {
  fs::path common;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end() && *i == *j; ++i, ++j) common /= *i;
  return common;
}

void check_outputs(const std::vector<Job>& jobs) {
  Places places;
  std::map<std::string, const Job*> reader_of;
  std::map<std::string, const Job*> writer_of;
  for (const Job& job : jobs) reader_of.emplace(places.of(job.input), &job);
  for (const Job& job : jobs) {
    const std::string place = places.of(*job.output);
    const auto [known, is_new] = writer_of.emplace(place, &job);
    if (!is_new)
      throw Error(ErrorKind::usage, fmt::format("{} and {} would both be written to {}", known->second->input,
                                                job.input, *known->second->output));
    const auto reader = reader_of.find(place);
    if (reader != reader_of.end() && places.of(job.input) != place)
      throw Error(ErrorKind::usage, fmt::format("{} would be written to {}, which is an input, too",
                                                job.input, reader->second->input));
  }
}

std::string part_of(const fs::path& input, std::string_view name) {
  if (input == "-") throw Error(ErrorKind::usage, "--output: standard input has no name");
  if (name == "dir") return input.has_parent_path() ? input.parent_path() : ".";
  if (name == "name") return input.filename();
  if (name == "stem") return input.stem();
  if (name == "ext") return input.extension();
  throw Error(ErrorKind::usage,
              fmt::format("--output: {{{}}} is not {{dir}}, {{name}}, {{stem}} or {{ext}}", name));
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

std::vector<Job> jobs_in_place(const std::vector<std::string>& inputs) {
  std::vector<Job> jobs;
  std::map<std::string, std::string> input_of;
  for (const std::string& input : inputs) {
    const auto [known, is_new] = input_of.emplace(identity_of(input), input);
    if (!is_new) throw Error(ErrorKind::usage, fmt::format("{} and {} are one file", known->second, input));
    jobs.push_back({input, std::nullopt});
  }
  return jobs;
}

std::vector<Job> jobs_into(const std::string& directory, const std::vector<std::string>& inputs) {
  std::vector<fs::path> paths;
  const fs::path here = fs::current_path();
  for (const std::string& input : inputs) paths.push_back((here / input).lexically_normal());
  fs::path root = paths.empty() ? fs::path() : paths.front().parent_path();
  for (const fs::path& path : paths) root = common_part(root, path.parent_path());

  std::vector<Job> jobs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    jobs.push_back({inputs[i], directory / paths[i].lexically_relative(root)});
  check_outputs(jobs);
  return jobs;
}

std::vector<Job> jobs_named_by(const std::string& output_template, const std::vector<std::string>& inputs) {
  std::vector<Job> jobs;
  for (const std::string& input : inputs) jobs.push_back({input, filled_in(output_template, input)});
  check_outputs(jobs);
  return jobs;
}

void make_directories(const std::vector<Job>& jobs) {
  std::set<fs::path> directories;
  for (const Job& job : jobs) directories.insert(fs::path(job.output.value_or("")).parent_path());
  directories.erase(fs::path());
  for (const fs::path& directory : directories) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error)
      throw Error(ErrorKind::io,
                  fmt::format("{}: cannot be created: {}", directory.string(), error.message()));
  }
}

}  // namespace clipper
