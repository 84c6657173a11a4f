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
/// in. Error{usage} if two would be written to one file, or one to another's input.
[[nodiscard]] std::vector<Job> jobs_into(const std::string& directory,
                                         const std::vector<std::string>& inputs);

/// Jobs whose outputs are named like the inputs: {dir}, {name}, {stem} and {ext} stand for the parts of
/// DIR/NAME and STEM.EXT ("." for no directory; EXT has its dot), {{ and }} for braces. Error{usage} for
/// anything else in braces, and as by jobs_into().
[[nodiscard]] std::vector<Job> jobs_named_by(const std::string& output_template,
                                             const std::vector<std::string>& inputs);

/// Makes the directories of the outputs. Error{io} if one cannot be made.
void make_directories(const std::vector<Job>& jobs);

}  // namespace clipper
