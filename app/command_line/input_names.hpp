#pragma once

#include <functional>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contract/profile.hpp"
#include "files/place.hpp"
#include "formats/formats.hpp"

/// The names of inputs: from lists of files, and from directories.
namespace clipper {

/// Copies of texts, each of which ends with a NUL and takes the memory of its characters.
class KeptTexts {
 public:
  [[nodiscard]] const char* add(std::string_view text);

 private:
  std::pmr::monotonic_buffer_resource memory_;
};

/// A list of file names. The separator follows each name; it may be missing after the last.
struct FileList {
  std::string path;  ///< "-" is standard input
  char separator = '\n';
  bool may_be_empty = false;
};

/// Calls `add` with every name. Error{io} if the list cannot be read. Error{input} if it has no name, unless
/// it may be empty. Error{usage} for an empty name, "-", a name longer than a path can be, and a list with
/// the other separator.
void read_names(const FileList& list, const std::function<void(const std::string&)>& add);

/// A walk through a directory and all directories below it, in no particular order. Paths in calls are
/// relative to the directory that is walked. A walk holds one descriptor, however deep the tree is.
struct TensorWalk {
  /// Links to directories that are met on the way. The directory itself may always be given by a link.
  enum class Links : bool { skipped, followed };

  /// What a name leads to, links to files followed. `other` is a FIFO, socket or device.
  enum class Kind { file, directory, other, nowhere };

  Links links = Links::followed;
  bool may_be_empty = false;               ///< for for_each_tensor()
  Walked takes = Walked::unless_replaced;  ///< of formats that nothing asks for
  bool has_other_names = false;            ///< files of any name may be tensors, if `include` asks for them

  /// Patterns of fnmatch() for paths; * also stands for /. NAME.safetensors.index.json is found as
  /// NAME.safetensors, too. Without `include`, all names of the formats in `takes` are taken. A set of which
  /// `exclude` leaves out a file, but not the index, is an Error{usage} for `failed`.
  std::vector<std::string> include;
  std::vector<std::string> exclude;

  /// Called for every file that is taken.
  std::function<void(const std::string& path, Kind kind)> found;

  /// Called for every file that is not taken because its format is not in `takes`; not with `include`.
  std::function<void(const std::string& path)> passed = [](const std::string&) {};

  /// Called for every directory before its names are read.
  std::function<void(const FileId& directory)> entered = [](const FileId&) {};

  /// Called in an exception handler, with the full path of a directory or a link that cannot be read. If the
  /// function returns, the walk goes on without that directory or link; by default it throws.
  std::function<void(const std::string& full_path)> failed = [](const std::string&) { throw; };
};

/// Error{io}, for `failed`, if a directory cannot be read, or if following links leads back to a directory
/// that the walk is in: every tensor in such a loop would have endlessly many paths.
void walk_tensors(const std::string& directory, const TensorWalk& walk);

[[nodiscard]] bool is_directory(const std::string& path);

/// The paths of the files of all sets of which `paths` has the index, for a walk that would meet them twice.
/// None of an index that cannot be read: whoever opens it reports the error.
[[nodiscard]] std::set<std::string> files_of_sets(const std::vector<std::string>& paths);

/// Whether a name is a tensor's: a regular file, or a link that leads nowhere, so that opening the link is an
/// error that names it. Other kinds are left out, as `find -type f` does.
[[nodiscard]] constexpr bool may_be_tensor(TensorWalk::Kind kind) {
  return kind == TensorWalk::Kind::file || kind == TensorWalk::Kind::nowhere;
}

/// Calls `add` with the full path of every file below the directory that the walk takes and that may be a
/// tensor. If there is none, no other failure, and the walk may not be empty,
/// `walk.failed` is called with an Error{input}. Replaces `walk.found`.
void for_each_tensor(const std::string& directory, TensorWalk walk,
                     const std::function<void(const std::string& full_path)>& add);

/// What a template makes of an input. For DIR/NAME, {dir} is DIR ("." if the path has no directory) and
/// {name} is NAME, which is {stem} followed by {ext}; {ext} includes its dot. {{ and }} are literal braces.
/// Error{usage} for any other text in braces.
[[nodiscard]] std::string named_by(std::string_view output_template, const std::string& input,
                                   std::string_view option = "--output");

/// Takes the text of --mask: reads the file, unless each input has a mask of its own.
void set_mask(Request& request, const std::string& text, const Reading& files);

/// Whether each input has a mask of its own, and the file of an input's: an archive has one.
[[nodiscard]] bool is_mask_of_each(const std::optional<Parameter>& mask);
[[nodiscard]] std::string mask_of(const Parameter& mask, const std::string& input);

/// Reads the mask of an input, if each has its own.
void read_mask(Request& request, const std::string& input, const Reading& files);

}  // namespace clipper
