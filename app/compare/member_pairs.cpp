#include "compare/member_pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>

namespace clipper {

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
