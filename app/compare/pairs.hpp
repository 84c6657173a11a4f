#pragma once

#include <string>
#include <vector>

#include "files/container.hpp"

namespace clipper {

/// Two files to compare.
struct FilePair {
  std::string actual;
  std::string expected;
  bool has_actual = true;  ///< whether `actual` exists; files given by name are assumed to exist
  bool has_expected = true;
  bool found = false;  ///< found below a directory, where only regular files are compared
};

/// The two files; for two directories, a pair for each .npy or .npz path below either directory, sorted by
/// path. Links to directories are followed. Error{usage} for a file and a directory, Error{input} if neither
/// directory contains such a file, Error{io} if a directory cannot be read or is part of a loop of links.
[[nodiscard]] std::vector<FilePair> file_pairs(const std::string& actual, const std::string& expected);

/// Two members of the same name. One of them is null if its archive lacks the name.
struct MemberPair {
  const Entry* actual = nullptr;
  const Entry* expected = nullptr;

  /// The member that exists.
  [[nodiscard]] const Entry& any() const { return actual != nullptr ? *actual : *expected; }
};

/// A pair for each name, in the order of the expected archive; names that it lacks come last.
[[nodiscard]] std::vector<MemberPair> member_pairs(const std::vector<Entry>& actual,
                                                   const std::vector<Entry>& expected);

}  // namespace clipper
