#pragma once

#include <cstdint>
#include <string>

#include "npz/archive.hpp"

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

}  // namespace clipper::npz
