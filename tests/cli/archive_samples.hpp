#pragma once

#include "cli/numbered.hpp"
#include "support/archives.hpp"

/// Archives for tests, and the results of clip() for them.
namespace clipper::testing {

inline std::string int32_file(const std::vector<std::int32_t>& elements) {
  return npy_file("<i4", "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

/// A tensor that no profile takes.
inline const std::string kMask = npy_file("|b1", "False", "(2,)", std::string("\0\1", 2));

/// Two tensors, and two members that cannot be clipped.
inline std::string mixed_archive() {
  return npz_file(
      {{"w.npy", input(1)}, {"mask.npy", kMask}, {"b.npy", int32_file({-5, 3, 70})}, {"note.txt", "text"}});
}
inline std::string mixed_result() {
  return npz_file(
      {{"w.npy", output(1)}, {"mask.npy", kMask}, {"b.npy", int32_file({0, 3, 6})}, {"note.txt", "text"}});
}

/// One tensor, which contains the number.
inline std::string archive(int number) {
  return npz_file({{"w.npy", input(number)}});
}
inline std::string archive_result(int number) {
  return npz_file({{"w.npy", output(number)}});
}

}  // namespace clipper::testing
