#pragma once

#include <string>
#include <vector>

/// What the commands' options are, in words: read from CLI11, for those who write about them.
namespace clipper {

struct OptionText {
  std::vector<std::string> names;     ///< "-i", "--in-place"; none if it has its place only
  std::string value;                  ///< "FILE"; empty if it takes none
  std::vector<std::string> words;     ///< that its value may be, as far as they are known
  std::string help;                   ///< one line
  std::string group;                  ///< empty: not in --help
  std::vector<std::string> excludes;  ///< names of options
};

struct CommandText {
  std::string name;  ///< the first word behind "clipper"; empty for what clipper does without one
  std::string usage;
  std::string summary;  ///< part of the description's first line, starting lower-case
  std::string description;
  std::string footer;
  std::vector<OptionText> options;      ///< in the order of --help
  std::vector<OptionText> positionals;  ///< likewise
};

/// Every command but those that hide (CLI11: a group without name), the one without a name first.
[[nodiscard]] std::vector<CommandText> command_texts();

}  // namespace clipper
