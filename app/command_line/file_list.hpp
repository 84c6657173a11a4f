#pragma once

#include <functional>
#include <string>

namespace clipper {

/// A file, or standard input for "-", with a file's name in every line, or before every NUL.
struct FileList {
  std::string path;
  char separator = '\n';
};

/// Calls `add` with every name. A last one may be without its separator. Error{io} if the list cannot be
/// read, Error{usage} for a name that cannot be a file's, among them all names of a list with the other
/// separator.
void read_names(const FileList& list, const std::function<void(const std::string&)>& add);

}  // namespace clipper
