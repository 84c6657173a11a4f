#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "files/descriptor.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "os/os.hpp"

namespace clipper {

/// What an output path refers to.
struct OutputTarget {
  enum class Kind : std::uint8_t { standard_output, new_file, stream, file };

  Kind kind;
  std::optional<Place> place;  ///< of a new or existing file, links resolved; nothing for a stream
  os::Status status{};         ///< if the target exists
};

/// Examines the path. Throws the errors of OutputFile::create() for a target that cannot be written. A target
/// that must be new is not looked at: the link that gives the output its name fails if there is a file.
[[nodiscard]] OutputTarget examine(const std::string& path, OutputFile::Existing existing);

/// Throws Error{refused} for an existing file that `existing` does not allow to be replaced; Error{io} if it
/// is a link that cannot be followed.
[[noreturn]] void refuse_existing(const std::string& path, OutputFile::Existing existing);

/// A directory that no output leaves, whatever links are below it. Links that stay inside are followed. What
/// counts is where a directory is that is held open, not the names on the way there.
class OutputRoot {
 public:
  /// The directory may not exist yet, and may itself be a link. Error{io} if it cannot be examined.
  explicit OutputRoot(std::string path);

  /// Error{refused} if a link in `path`, which begins with the root's path, leads out of the root. Looks at
  /// the directories that exist.
  void check(const std::string& path) const;

  /// The same, and makes the directories that are missing, the root's, too. Error{io} if one cannot be made.
  void make_directories(const std::string& path);

  /// Error{refused} unless the place of the output `path` is in the root or below it. No place: a link leads
  /// to something else than a file.
  void expect_inside(const std::string& path, const std::optional<Place>& place) const;

 private:
  enum class Missing : bool { end, made };
  void follow(const std::string& path, Missing missing) const;
  void open();
  [[noreturn]] void refuse(const std::string& path) const;

  std::string path_;
  Descriptor fd_;  ///< none if the directory does not exist
  FileId id_;
};

}  // namespace clipper
