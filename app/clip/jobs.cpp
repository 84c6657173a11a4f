#include "clip/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "error.hpp"
#include "files/place.hpp"

namespace clipper {

const char* Jobs::kept_text(std::string_view text) {
  char* const kept = static_cast<char*>(memory_.allocate(text.size() + 1, 1));
  *std::ranges::copy(text, kept).out = '\0';
  return kept;
}

void Jobs::add(std::string_view input, const std::optional<FileId>& regular_file, bool is_named) {
  jobs_.push_back(
      {kept_text(input), nullptr, regular_file ? hash_of(*regular_file) : 0, false, false, is_named});
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
  entry.output = input.ends_with(path) ? input.substr(input.size() - path.size()).data() : kept_text(path);
}

void Jobs::keep(const std::vector<char>& kept) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (kept[i] != 0) jobs_[count++] = jobs_[i];
  jobs_.resize(count);
}

Job Jobs::operator[](std::size_t job) const {
  const Entry& entry = jobs_[job];
  Job result{entry.input, std::nullopt, entry.output_is_new, entry.is_walked, entry.is_named};
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
    std::filesystem::create_directories(directory, error);
    if (error)
      throw Error(ErrorKind::io, fmt::format("{}: cannot be created: {}", directory, error.message()));
  }
}

}  // namespace clipper
