#pragma once

#include <vector>

#include "npz/archive.hpp"

namespace clipper {

/// Two members of the same name. One of them is null if its archive lacks the name.
struct MemberPair {
  const npz::Member* actual = nullptr;
  const npz::Member* expected = nullptr;

  /// The member that exists.
  [[nodiscard]] const npz::Member& any() const { return actual != nullptr ? *actual : *expected; }
};

/// A pair for each name, in the order of the expected archive; names that it lacks come last.
[[nodiscard]] std::vector<MemberPair> member_pairs(const npz::Archive& actual, const npz::Archive& expected);

}  // namespace clipper
