#pragma once

#include <vector>

#include "files/container.hpp"

namespace clipper {

/// Two members of the same name. One of them is null if its archive lacks the name.
struct MemberPair {
  const Entry* actual = nullptr;
  const Entry* expected = nullptr;

  /// The member that exists.
  [[nodiscard]] const Entry& any() const { return actual != nullptr ? *actual : *expected; }
};

/// A pair for each name, in the order of the expected archive; names that it lacks come last.
[[nodiscard]] std::vector<MemberPair> member_pairs(const std::vector<Entry>& actual,
                                                   const std::vector<Entry>& expected);

}  // namespace clipper
