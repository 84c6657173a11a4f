#pragma once

#include <sys/resource.h>

#include "cli/clipper.hpp"

/// Runs --in-place --direct to its end, or interrupts it.
namespace clipper::testing {

inline const std::vector<float> kElements = scattered_floats(300'000);
inline const std::string kInput = float32_file(kElements);

inline std::vector<float> scaled_and_clipped() {
  std::vector<float> elements = kElements;
  for (float& element : elements) element = element * 0.5F + 1;
  return clipped(elements, 0, 6);
}
inline const std::string kOutput = float32_file(scaled_and_clipped());

/// An operation in parts of 128 KiB. Repeating it would change the result again.
inline Words direct(const Words& arguments, const char* chunk_size = "4096") {
  Words words{"-i", "--direct", "--scale", "0.5", "--bias", "1", "--min", "0", "--max", "6"};
  words.insert(words.end(), {"--chunk-size", chunk_size});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

/// Limits files to `size` bytes: the journal fits, the later parts of the tensor do not. For
/// Settings::prepare.
inline std::function<void()> stop_at(rlim_t size) {
  return [size] {
    const rlimit limit{size, size};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(125);
  };
}
inline const std::function<void()> stop_in_the_middle = stop_at(600'000);

inline constexpr const char* kJournal = ".x.npy.clipper-journal";

/// Creates a file, and interrupts the command that clips it: leaves the unfinished file and its journal.
inline void interrupt(const WorkingDirectory& directory, const std::string& name, const std::string& content,
                      const std::function<void()>& stop = stop_in_the_middle) {
  directory.write(name, content);
  check_refused(directory.run(direct({name}), stop), 4, "unreadable until");
}

inline std::string constant(float value) {
  return float32_file(std::vector<float>(kElements.size(), value));
}

}  // namespace clipper::testing
