#pragma once

#include <cstdint>
#include <functional>

#include "npz/archive.hpp"
#include "npz/end_record.hpp"

namespace clipper::npz {

/// Reads the list of members, and gives `use` each member in its order: everything but `data` and `local`.
void read_list(const ReadAt& read, std::uint64_t size, const End& end,
               const std::function<void(Member)>& use);

}  // namespace clipper::npz
