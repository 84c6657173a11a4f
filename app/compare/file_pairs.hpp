#pragma once

#include <string>
#include <vector>

namespace clipper {

/// Two files to be compared.
struct FilePair {
  std::string actual;
  std::string expected;
  bool has_actual = true;  ///< whether it is there; of files that were given themselves, not known yet
  bool has_expected = true;
  bool found = false;  ///< below two directories; only regular files are compared there
};

/// The two files; or of two directories everything called .npy that is below either, by its path there,
/// sorted. Links to directories are followed. Error{usage} for a file and a directory, Error{input} if there
/// is nothing of that name, Error{io} if a directory cannot be read or leads back to one that it is in.
[[nodiscard]] std::vector<FilePair> file_pairs(const std::string& actual, const std::string& expected);

}  // namespace clipper
