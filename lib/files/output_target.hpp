#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "files/output_file.hpp"
#include "files/place.hpp"

namespace clipper {

/// What an output path refers to.
struct OutputTarget {
  enum class Kind : std::uint8_t { standard_output, new_file, stream, file };

  Kind kind;
  std::optional<Place> place;  ///< of a new or existing file, links resolved; nothing for a stream
  struct stat status {};       ///< if the target exists
};

/// Examines the path. Throws the errors of OutputFile::create() for a target that cannot be written. A target
/// that must be new is not looked at: the link that gives the output its name fails if there is a file.
[[nodiscard]] OutputTarget examine(const std::string& path, OutputFile::Existing existing);

/// Throws Error{refused} for an existing file that `existing` does not allow to be replaced; Error{io} if it
/// is a link that cannot be followed.
[[noreturn]] void refuse_existing(const std::string& path, OutputFile::Existing existing);

}  // namespace clipper
