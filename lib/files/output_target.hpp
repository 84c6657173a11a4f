#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "files/output_file.hpp"
#include "files/place.hpp"

namespace clipper {

/// What a path stands for as an output.
struct OutputTarget {
  enum class Kind : std::uint8_t { standard_output, new_file, stream, file };

  Kind kind;
  std::optional<Place> place;  ///< of a new file, or of an existing one, links resolved
  struct stat status {};       ///< of what exists
};

/// Looks at what is there. Error for what cannot be written, as by OutputFile::create().
[[nodiscard]] OutputTarget examine(const std::string& path, OutputFile::Existing existing);

/// Error{refused} for a file that was found although `existing` lets none be replaced.
[[noreturn]] void refuse_existing(const std::string& path, OutputFile::Existing existing);

}  // namespace clipper
