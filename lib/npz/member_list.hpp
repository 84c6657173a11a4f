#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "npz/archive.hpp"
#include "npz/end_record.hpp"

namespace clipper::npz {

/// The records of all members, which are held in memory, have at most this size.
inline constexpr std::size_t kMaxRecords = std::size_t{16} << 20U;

/// Reads the list of members: everything of Member but `data` and `local`.
[[nodiscard]] std::vector<Member> read_list(const ReadAt& read, std::uint64_t size, const End& end);

}  // namespace clipper::npz
