#pragma once

#include <string_view>

/// The sections of the manual that no table of the program contains, in the markup of troff.hpp. A line of an
/// example that begins with "$ " is a command, the lines below it are what the command prints; a line "..."
/// stands for any lines. tests/cli/manual_test.cpp runs all of them.
namespace clipper::manual_text {

extern const std::string_view kDescription;
extern const std::string_view kCompare;
extern const std::string_view kInfo;
extern const std::string_view kProfilesCommand;
extern const std::string_view kDtypesAndBounds;
extern const std::string_view kProfileTables;  ///< what the words in the tables mean
extern const std::string_view kProfileRules;
extern const std::string_view kArchives;
extern const std::string_view kFiles;
extern const std::string_view kManyFiles;
extern const std::string_view kShards;
extern const std::string_view kExitStatus;
extern const std::string_view kJson;
extern const std::string_view kEnvironment;
extern const std::string_view kExamples;
extern const std::string_view kSeeAlso;

}  // namespace clipper::manual_text
