#include "command_line/shared_options.hpp"

#include <algorithm>

#include "contract/plan.hpp"
#include "element/dtype.hpp"
#include "element/type_choice.hpp"
#include "simd/levels.hpp"

namespace clipper {
Words profile_names() {
  Words names;
  for (const Profile& row : profiles()) {
    if (std::find(names.begin(), names.end(), row.family) == names.end()) names.push_back(row.family);
    if (row.name != row.family) names.push_back(row.name);
  }
  return names;
}

Words nan_words() {
  return {kNanWords.begin(), kNanWords.end()};
}

Words round_words() {
  return {kRoundWords.begin(), kRoundWords.end()};
}

Words dtype_names() {
  Words names;
  for (const DTypeTraits& row : kDTypes) names.push_back(row.name);
  return names;
}

Words type_words() {
  Words words(TypeChoice::kKinds.begin(), TypeChoice::kKinds.end());
  for (const DTypeTraits& row : kDTypes) words.push_back(row.name);
  return words;
}

Words simd_level_names() {
  Words names;
  for (const SimdLevel level : kSimdLevels) names.push_back(to_string(level));
  return names;
}

}  // namespace clipper
