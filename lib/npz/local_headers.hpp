#pragma once

#include <cstdint>
#include <vector>

#include "npz/archive.hpp"

namespace clipper::npz {

/// Reads what is in front of each member's data, and sets `data` and `local`. Error{input} if it disagrees
/// with the list, which begins at byte `end`, or if there are other bytes between the members.
void read_local_headers(const ReadAt& read, std::vector<Member>& members, std::uint64_t end);

}  // namespace clipper::npz
