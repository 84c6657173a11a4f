#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "files/container.hpp"
#include "flows/clipping.hpp"

namespace clipper {

/// What is done to a member of an archive.
struct MemberUse {
  MemberAction action = MemberAction::clipped;
  std::string_view reason;  ///< why the member is not clipped: "bool", "not chosen"
  std::uint64_t size = 0;   ///< bytes of the elements to clip
  std::uint64_t clipped_size = 0;
  std::optional<DType> to{};      ///< the dtype of the clipped elements, if it is another one
  const Entry* member = nullptr;  ///< of the archive
};

/// Decides for all members, in the archive's order, from their headers and without their elements. Throws the
/// errors of planning, and Error{usage} for a chosen name that the archive lacks. Error{input} for a member
/// that was chosen by its name and cannot be clipped and, if Selection::other says so, for every other member
/// that is not clipped.
[[nodiscard]] std::vector<MemberUse> member_uses(const ClipSettings& settings, const Container& archive);

[[nodiscard]] bool has_clipped_member(const std::vector<MemberUse>& uses);

/// Error{input} if no member is clipped although there are members.
void expect_clipped_member(const ClipSettings& settings, const Container& archive,
                           const std::vector<MemberUse>& uses);

}  // namespace clipper
