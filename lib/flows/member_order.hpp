#pragma once

#include <cstddef>
#include <vector>

#include "files/container.hpp"
#include "flows/selection.hpp"

namespace clipper {

/// Returns the bytes before the first member of an archive that is written by `uses`. For a safetensors file
/// they are its header: that of the input or, if a member is dropped or gets another dtype, a new one as the
/// safetensors library writes it, and `uses` get the order of the new one.
[[nodiscard]] std::vector<std::byte> arrange_members(const Container& from, std::vector<MemberUse>& uses);

}  // namespace clipper
