#pragma once

#include <string>
#include <vector>

namespace clipper {

/// A file, or standard input for "-", with a file's name in every line, or before every NUL.
struct FileList {
  std::string path;
  char separator = '\n';
};

/// The names. A last one may be without its separator. Error{io} if the list cannot be read, Error{usage} for
/// an empty name and for "-".
[[nodiscard]] std::vector<std::string> read_names(const FileList& list);

}  // namespace clipper
