#pragma once

#include <cstdint>
#include <vector>

#include "npz/archive.hpp"
#include "npz/end_record.hpp"

namespace clipper::npz {

/// Reads the list of members, in its order: everything but `data` and `local`.
[[nodiscard]] std::vector<Member> read_list(const ReadAt& read, std::uint64_t size, const End& end);

}  // namespace clipper::npz
