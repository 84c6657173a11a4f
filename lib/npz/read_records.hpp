#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npz/archive.hpp"

/// The steps of read_archive(), in this order.
namespace clipper::npz {

/// What the records at the end of an archive say.
struct End {
  std::uint64_t count = 0;  ///< of members
  std::uint64_t list_begin = 0;
  std::uint64_t list_size = 0;  ///< the list ends where the records at the end begin
  std::string comment;
};

/// Finds and reads the records at the end. Error{input} unless there is exactly one way to read
/// them, and if the list is too short for its members or has too many.
[[nodiscard]] End read_end(const ReadAt& read, std::uint64_t size);

/// Reads the list of members, in its order: everything but `data` and `local`.
[[nodiscard]] std::vector<Member> read_list(const ReadAt& read, std::uint64_t size, const End& end);

/// Reads what is in front of each member's data, and sets `data` and `local`. Error{input} if it disagrees
/// with the list, which begins at byte `end`, or if there are other bytes between the members.
void read_local_headers(const ReadAt& read, std::vector<Member>& members, std::uint64_t end);

}  // namespace clipper::npz
