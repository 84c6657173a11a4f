#pragma once

#include <optional>
#include <string>
#include <vector>

namespace clipper {

/// One input and where its result goes; without an output, in its own place.
struct Job {
  std::string input;
  std::optional<std::string> output;
};

/// Jobs in place. Error{usage} if one file is there twice: it would be scaled twice.
[[nodiscard]] std::vector<Job> jobs_in_place(const std::vector<std::string>& inputs);

/// Jobs that write below `directory`: an input keeps its path from the deepest directory that all inputs are
/// in. Makes the directories. Error{usage} if two inputs would become one output.
[[nodiscard]] std::vector<Job> jobs_into(const std::string& directory,
                                         const std::vector<std::string>& inputs);

}  // namespace clipper
