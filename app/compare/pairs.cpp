#include "compare/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "command_line/tensor_tree.hpp"
#include "error.hpp"

namespace clipper {

namespace fs = std::filesystem;

std::vector<FilePair> file_pairs(const std::string& actual, const std::string& expected) {
  const bool directory = is_directory(actual);
  if (directory != is_directory(expected))
    throw Error(ErrorKind::usage, fmt::format("{} is a directory and {} is not",
                                              directory ? actual : expected, directory ? expected : actual));
  if (!directory) return {{actual, expected}};

  std::map<std::string, FilePair> pairs;
  const auto pair_of = [&](const std::string& name) -> FilePair& {
    return pairs
        .try_emplace(name, FilePair{fs::path(actual) / name, fs::path(expected) / name, false, false, true})
        .first->second;
  };
  TensorWalk walk;
  walk.found = [&](const std::string& name, TensorWalk::Kind) { pair_of(name).has_actual = true; };
  walk_tensors(actual, walk);
  walk.found = [&](const std::string& name, TensorWalk::Kind) { pair_of(name).has_expected = true; };
  walk_tensors(expected, walk);
  if (pairs.empty())
    throw Error(ErrorKind::input, fmt::format("{} and {} contain no .npy or .npz file", actual, expected));
  std::vector<FilePair> result;
  for (auto& [name, pair] : pairs) result.push_back(std::move(pair));
  return result;
}

std::vector<MemberPair> member_pairs(const std::vector<Entry>& actual, const std::vector<Entry>& expected) {
  std::vector<MemberPair> pairs;
  for (const Entry& member : expected) pairs.push_back({nullptr, &member});
  const auto name_of = [&](std::size_t place) -> std::string_view { return pairs[place].expected->name; };
  std::vector<std::size_t> sorted(pairs.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, {}, name_of);
  for (const Entry& member : actual) {
    const auto found = std::ranges::lower_bound(sorted, std::string_view(member.name), {}, name_of);
    if (found != sorted.end() && name_of(*found) == member.name)
      pairs[*found].actual = &member;
    else
      pairs.push_back({&member, nullptr});
  }
  return pairs;
}

}  // namespace clipper
