#include "command_line/choices.hpp"

#include <algorithm>
#include <array>

#include "contract/plan.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

struct MinAboveMaxWord {
  std::string_view word;
  MinAboveMax meaning;
};

constexpr std::array kMinAboveMaxWords{MinAboveMaxWord{"error", MinAboveMax::error},
                                       MinAboveMaxWord{"min", MinAboveMax::min},
                                       MinAboveMaxWord{"max", MinAboveMax::max}};

}  // namespace

std::vector<std::string_view> profile_names() {
  std::vector<std::string_view> names;
  for (const Profile& row : profiles()) {
    if (std::find(names.begin(), names.end(), row.family) == names.end()) names.push_back(row.family);
    if (row.name != row.family) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string_view> nan_words() {
  return {kNanWords.begin(), kNanWords.end()};
}

std::vector<std::string_view> min_above_max_words() {
  std::vector<std::string_view> words;
  for (const MinAboveMaxWord& row : kMinAboveMaxWords) words.push_back(row.word);
  return words;
}

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes) names.push_back(row.name);
  return names;
}

std::vector<std::string_view> simd_level_names() {
  std::vector<std::string_view> names;
  for (const SimdLevel level : kSimdLevels) names.push_back(to_string(level));
  return names;
}

std::vector<std::string_view> trailing_words() {
  return {"error", "ignore"};
}

std::vector<std::string_view> color_words() {
  return {"auto", "always", "never"};
}

std::vector<std::string_view> other_words() {
  return {"copy", "drop", "error"};
}

std::optional<MinAboveMax> min_above_max_named(std::string_view word) {
  for (const MinAboveMaxWord& row : kMinAboveMaxWords)
    if (row.word == word) return row.meaning;
  return std::nullopt;
}

}  // namespace clipper
