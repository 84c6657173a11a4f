#include "file_pairs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "error.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

/// By their paths below the directory; whatever is called so, as a link that leads nowhere must not be
/// overlooked.
std::vector<std::string> tensors_below(const std::string& directory) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory))
      if (entry.path().native().ends_with(".npy") && !entry.is_directory())
        names.push_back(entry.path().lexically_relative(directory).native());
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::io, fmt::format("{}: cannot be read: {}",
                                           error.path1().empty() ? directory : error.path1().native(),
                                           error.code().message()));
  }
  return names;
}

}  // namespace

std::vector<FilePair> file_pairs(const std::string& actual, const std::string& expected) {
  std::error_code ignored;
  const bool directory = fs::is_directory(actual, ignored);
  if (directory != fs::is_directory(expected, ignored))
    throw Error(ErrorKind::usage, fmt::format("{} is a directory and {} is not",
                                              directory ? actual : expected, directory ? expected : actual));
  if (!directory) return {{actual, expected}};

  std::map<std::string, FilePair> pairs;
  const auto pair_of = [&](const std::string& name) -> FilePair& {
    return pairs.try_emplace(name, FilePair{fs::path(actual) / name, fs::path(expected) / name, false, false})
        .first->second;
  };
  for (const std::string& name : tensors_below(actual)) pair_of(name).has_actual = true;
  for (const std::string& name : tensors_below(expected)) pair_of(name).has_expected = true;
  if (pairs.empty())
    throw Error(ErrorKind::input, fmt::format("{} and {} have no .npy file", actual, expected));
  std::vector<FilePair> result;
  for (auto& [name, pair] : pairs) result.push_back(std::move(pair));
  return result;
}

}  // namespace clipper
