#pragma once

#include <sys/resource.h>

#include "cli/clipper.hpp"

/// Runs --in-place --direct to its end, or interrupts it.
namespace clipper::testing {

inline const std::vector<float> kElements = scattered_floats(300'000);
inline const std::string kInput = float32_file(kElements);

inline const std::string kOutput = float32_file(clipped(kElements, 0, 6));

/// An operation in parts of 128 KiB.
inline Words direct(const Words& arguments, const char* chunk_size = "4096") {
  Words words{"-i", "--direct", "--min", "0", "--max", "6", "--chunk-size", chunk_size};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

/// Forbids writes beyond `size` bytes of a file: the later parts of the tensor. For Settings::prepare.
inline std::function<void()> stop_at(rlim_t size) {
  return [size] {
    const rlimit limit{size, size};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(125);
  };
}
inline const std::function<void()> stop_in_the_middle = stop_at(600'000);

/// Creates a file, and interrupts the command that clips it.
inline void interrupt(const WorkingDirectory& directory, const std::string& name,
                      const std::string& content) {
  directory.write(name, content);
  check_refused(directory.run(direct({name}), stop_in_the_middle), 4, "unreadable until");
}

}  // namespace clipper::testing
