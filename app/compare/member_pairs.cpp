#include "compare/member_pairs.hpp"

#include <cstddef>
#include <string_view>
#include <unordered_map>

namespace clipper {

std::vector<MemberPair> member_pairs(const npz::Archive& actual, const npz::Archive& expected) {
  std::vector<MemberPair> pairs;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const npz::Member& member : expected.members) {
    places.emplace(member.name, pairs.size());
    pairs.push_back({nullptr, &member});
  }
  for (const npz::Member& member : actual.members) {
    const auto found = places.find(member.name);
    if (found == places.end())
      pairs.push_back({&member, nullptr});
    else
      pairs[found->second].actual = &member;
  }
  return pairs;
}

}  // namespace clipper
