#pragma once

#include <functional>
#include <string>

namespace clipper {

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

}  // namespace clipper
