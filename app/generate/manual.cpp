#include "generate/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/json_members.hpp"
#include "generate/manual_text.hpp"
#include "generate/troff.hpp"
#include "profiles/profiles_command.hpp"

namespace clipper {
namespace {

constexpr std::string_view kHiddenHeading = "For tests and measurements";

/// What the manual says about a command besides its description and its options.
struct CommandText {
  std::string_view name;
  const std::string_view* text;
};

constexpr std::array kCommandTexts{
    CommandText{"compare", &manual_text::kCompare},
    CommandText{"info", &manual_text::kInfo},
    CommandText{"profiles", &manual_text::kProfilesCommand},
};

std::string heading_of(const Option& option) {
  if (!option.names.starts_with('-')) return fmt::format("\\fI{}\\fR", escaped_for_troff(option.names));
  std::vector<std::string> names;
  for (const std::string_view name : names_of(option))
    names.push_back(fmt::format("\\fB{}\\fR", escaped_for_troff(name)));
  const std::string value =
      option.type.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped_for_troff(option.type));
  return fmt::format("{}{}", fmt::join(names, ", "), value);
}

/// An option's details, followed by the list of its words unless the details name all of them.
std::string text_of(const Option& option) {
  std::string text(option.details);
  std::ranges::replace(text, '\n', ' ');
  if (option.words == nullptr) return text;
  const std::vector<std::string_view> words = option.words();
  const bool said =
      std::ranges::all_of(words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
  const std::string_view what = option.type.empty() ? option.names : option.type;
  if (!said) text += fmt::format(" {} is one of {}.", what, fmt::join(words, ", "));
  return text;
}

std::string item_of(const Option& option) {
  return item_to_troff(heading_of(option), text_of(option));
}

std::string positionals_of(const CommandSpec& command) {
  std::string text;
  for (const Positional& positional : command.positionals) text += item_of(*positional.option);
  return text;
}

std::string options_section(const CommandSpec& main) {
  std::string text = positionals_of(main);
  std::string_view group;
  for (const Option* const option : main.options) {
    if (option->group != std::exchange(group, option->group))
      text += fmt::format(".SS {}\n", group == kHidden ? kHiddenHeading : group);
    text += item_of(*option);
  }
  return text;
}

/// Explains the options that only this command has, and names the options that `main` has, too.
std::string own_options(const CommandSpec& command, const CommandSpec& main) {
  std::string text = positionals_of(command);
  std::vector<std::string> others;
  for (const Option* const option : command.options)
    if (std::ranges::find(main.options, option) == main.options.end())
      text += item_of(*option);
    else
      others.push_back(heading_of(*option));
  if (!others.empty())
    text += fmt::format(".PP\nOPTIONS explains the other options of this command: {}.\n",
                        fmt::join(others, "; "));
  return text;
}

std::string synopsis(const CommandSpecs& commands) {
  std::string text;
  for (const CommandSpec* const command : commands)
    for (const std::string_view form : command->forms)
      text += fmt::format("{}\\fB{}\\fR {}\n", text.empty() ? "" : ".br\n", title_of(*command),
                          escaped_for_troff(form));
  return text;
}

std::string command_section(const CommandSpec& command, const CommandSpec& main) {
  std::string text =
      fmt::format(".SS {}\n{}\n", escaped_for_troff(title_of(command)), inline_to_troff(command.description));
  const auto* const more = std::ranges::find(kCommandTexts, command.name, &CommandText::name);
  if (more != kCommandTexts.end()) text += ".PP\n" + to_troff(*more->text);
  return text + own_options(command, main);
}

std::string commands_section(const CommandSpecs& commands) {
  std::string text;
  for (const CommandSpec* const command : std::span(commands).subspan(1))
    text += command_section(*command, *commands.front());
  return text;
}

std::string table(std::initializer_list<std::string_view> headings) {
  return preformatted(profile_table(std::span(headings.begin(), headings.size())));
}

std::string profiles_section() {
  constexpr std::string_view kParagraph = ".PP\n";
  return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}", kParagraph, table({"PROFILE", "DTYPES", "DIMS"}),
                     table({"PROFILE", "BOUNDS", "ABSENT", "TEXT TO", "INEXACT"}),
                     table({"PROFILE", "MIN>MAX", "NAN BOUND", "SCALE", "STANDS FOR"}),
                     to_troff(manual_text::kProfileTables), to_troff(manual_text::kProfileRules));
}

std::string json_section() {
  std::string text = to_troff(manual_text::kJson);
  for (const JsonObject& object : kJsonObjects) {
    text += fmt::format(".SS The object {}\n{}.\n", object.name, inline_to_troff(object.meaning));
    for (const JsonMember& member : kJsonMembers)
      if (member.object == object.name)
        text += item_to_troff(fmt::format("\\fB{}\\fR", member.name), fmt::format("{}.", member.meaning));
  }
  return text;
}

std::string files_section() {
  return to_troff(manual_text::kFiles) + to_troff(manual_text::kManyFiles) + to_troff(manual_text::kShards);
}

}  // namespace

std::string manual(const CommandSpecs& commands) {
  const CommandSpec& main = *commands.front();
  std::string text = fmt::format(
      ".\\\" Written by clipper --generate man.\n"
      ".TH CLIPPER 1 {} \"clipper {}\" \"User Commands\"\n"
      ".\\\" No hyphenation, and a right margin as ragged as it comes: commands stay in one piece.\n"
      ".nh\n.ad l\n",
      CLIPPER_RELEASED, escaped_for_troff(CLIPPER_VERSION));
  const auto section = [&](std::string_view title, const std::string& body) {
    text += fmt::format(".SH {}\n{}", title, body);
  };
  section("NAME", fmt::format("clipper \\- {}\n", escaped_for_troff(main.summary)));
  section("SYNOPSIS", synopsis(commands));
  section("DESCRIPTION", to_troff(manual_text::kDescription));
  section("OPTIONS", options_section(main));
  section("COMMANDS", commands_section(commands));
  section("DTYPES AND BOUNDS", to_troff(manual_text::kDtypesAndBounds));
  section("PROFILES", profiles_section());
  section("ARCHIVES", to_troff(manual_text::kArchives));
  section("FILES AND SAFETY", files_section());
  section("EXIT STATUS", to_troff(manual_text::kExitStatus));
  section("JSON", json_section());
  section("ENVIRONMENT", to_troff(manual_text::kEnvironment));
  section("EXAMPLES", to_troff(manual_text::kExamples));
  section("SEE ALSO", to_troff(manual_text::kSeeAlso));
  return text;
}

}  // namespace clipper
