#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <clipper_texts.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "element/joined.hpp"
#include "generate/generate_command.hpp"
#include "profiles/profiles_command.hpp"

namespace clipper {
namespace {

/// Characters that troff would replace by typographic characters or interpret as commands.
constexpr std::array kEscapes{std::pair{'\\', "\\e"},  std::pair{'-', "\\-"},   std::pair{'\'', "\\(aq"},
                              std::pair{'`', "\\(ga"}, std::pair{'^', "\\(ha"}, std::pair{'~', "\\(ti"},
                              std::pair{'"', "\\(dq"}};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

/// Escapes the text: troff finds no command in it, and hyphens of the page can be copied into a shell.
std::string escaped_for_troff(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char c : text) {
    const auto* const row = std::ranges::find(kEscapes, c, &std::pair<char, const char*>::first);
    if (row != kEscapes.end())
      result += row->second;
    else
      result += c;
  }
  return result;
}

/// Escapes lines that troff must not join.
std::string preformatted(std::string_view lines) {
  std::string text = ".nf\n";
  for (const std::string_view line : lines_of(lines)) text += escaped_for_troff(line) + "\n";
  return text + ".fi\n";
}

/// A term and its explanation, one line. `term` must already be escaped.
std::string item_to_troff(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, inline_to_troff(text));
}

using Schema = nlohmann::ordered_json;

constexpr std::string_view kHiddenHeading = "For tests and measurements";

std::string heading_of(const Option& option) {
  if (!option.names.starts_with('-')) return fmt::format("\\fI{}\\fR", escaped_for_troff(option.names));
  std::vector<std::string> names;
  for (const std::string_view name : names_of(option))
    names.push_back(fmt::format("\\fB{}\\fR", escaped_for_troff(name)));
  const std::string type = fmt::format("\\fI{}\\fR", escaped_for_troff(option.type));
  const std::string value = option.type.empty() ? "" : needs_value(option) ? " " + type : "[=" + type + "]";
  return fmt::format("{}{}", joined(names, ", "), value);
}

/// Whether the option has a long list of words that ends as that of an option before it on the page: the
/// dtypes.
bool repeats_words(std::span<const Option* const> page, const Option& option) {
  constexpr std::size_t kLong = 12;
  const auto is_same = [&](const Option* other) {
    return other->words != nullptr && other->words().size() > kLong && option.words != nullptr &&
           option.words().back() == other->words().back();
  };
  return std::ranges::find_if(page, is_same) < std::ranges::find(page, &option);
}

/// An option's details, followed by the list of its words unless the details name all of them.
std::string text_of(const Option& option, bool has_words = true) {
  std::string text(option.details);
  std::ranges::replace(text, '\n', ' ');
  if (option.words == nullptr || !has_words) return text;
  const std::vector<std::string_view> words = option.words();
  const bool said =
      std::ranges::all_of(words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
  const std::string_view what = option.type.empty() ? option.names : option.type;
  if (!said) text += fmt::format(" {} is one of {}.", what, joined(words, ", "));
  return text;
}

std::string item_of(const Option& option, bool has_words = true) {
  return item_to_troff(heading_of(option), text_of(option, has_words));
}

std::string replaced_words(std::string text, std::string_view title, std::string_view more) {
  const auto is_word_character = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(title); at != text.npos; at = text.find(title, at + 1)) {
    const std::size_t end = at + title.size();
    if (at == 0 || is_word_character(text[at - 1]) || is_word_character(text[end]) ||
        text.substr(end, 4) == " in ")
      continue;
    text.insert(end, more);
  }
  return text;
}

/// The page's text, in which a section of another page that is named in capitals is followed by that page's
/// name: "DTYPES AND BOUNDS in clipper-bounds(7)". A subsection is known by several words up to a comma.
std::string with_pages(std::string text, const PageTemplate& own) {
  for (const PageTemplate& page : kPages) {
    const std::string name = fmt::format(
        " in \\fB{}\\fR({})", escaped_for_troff(page.name.substr(0, page.name.size() - 2)), page.name.back());
    for (const std::string_view line : lines_of(page.text)) {
      if (page.name == own.name || !line.starts_with(".S")) continue;
      std::string title(line.substr(4, line.find(',') - 4));
      if (line.starts_with(".SS") ? title.find(' ') == title.npos : own.text.find(line) != own.text.npos)
        continue;
      std::ranges::transform(title, title.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      text = replaced_words(std::move(text), title, name);
    }
  }
  return text;
}

std::string positionals_of(const CommandSpec& command) {
  std::string text;
  for (const Positional& positional : command.positionals) text += item_of(*positional.option);
  return text;
}

std::string options_section(const CommandSpec& command) {
  std::string text = positionals_of(command);
  for (const auto& [heading, options] : groups_of(command)) {
    if (command.has_groups) text += fmt::format(".SS {}\n", heading == kHidden ? kHiddenHeading : heading);
    for (const Option* const option : options)
      text += item_of(*option, !repeats_words(command.options, *option));
  }
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

/// The tables of profiles with these columns.
std::string profiles(std::string_view columns) {
  std::vector<std::string_view> headings;
  while (!columns.empty()) {
    headings.push_back(columns.substr(0, columns.find(", ")));
    columns.remove_prefix(std::min(headings.back().size() + 2, columns.size()));
  }
  return preformatted(profile_table(headings));
}

/// The members of an object, and of the objects in it: "shard", "shard.index".
std::string members_of(const Schema& object, const std::string& prefix = "") {
  std::string text;
  if (object.contains("items")) text += members_of(object["items"], prefix);
  if (!object.contains("properties")) return text;
  for (const auto& [name, member] : object["properties"].items()) {
    const std::string path = prefix + name;
    text += item_to_troff(fmt::format("\\fB{}\\fR", path), member["description"].get<std::string>() + ".");
    text += members_of(member, path + ".");
  }
  return text;
}

std::string json_objects() {
  const Schema schema = Schema::parse(kJsonSchema);
  std::string text;
  for (const auto& [name, object] : schema["$defs"].items())
    if (std::ranges::count(schema["oneOf"], Schema{{"$ref", "#/$defs/" + name}}) != 0)
      text += fmt::format(".SS The object {}\n{}.\n{}", name,
                          inline_to_troff(object["description"].get<std::string>()), members_of(object));
  return text;
}

/// What stands in the manual for a line ".Generated WHAT OF" of the template.
std::string generated(const CommandSpecs& commands, std::string_view what, std::string_view of) {
  const auto command = std::ranges::find(commands, of, &CommandSpec::name);
  if (what == "synopsis" && of.empty()) return synopsis(commands);
  if (what == "profiles") return profiles(of);
  if (what == "json") return json_objects();
  if (command == commands.end()) throw std::logic_error("the manual has no such command");
  if (what == "description") return inline_to_troff((*command)->description) + "\n";
  if (what == "synopsis") return synopsis({*command});
  return what == "arguments" ? positionals_of(**command) : options_section(**command);
}

}  // namespace

std::string inline_to_troff(std::string_view text) {
  std::string result;
  bool bold = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string part = escaped_for_troff(text.substr(0, end));
    if (!part.empty()) result += bold ? fmt::format("\\fB{}\\fR", part) : part;
    bold = !bold;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

Words page_names() {
  Words names;
  for (const PageTemplate& page : kPages) names.push_back(page.name);
  return names;
}

std::string manual(std::string_view page, const CommandSpecs& commands) {
  constexpr std::string_view kGenerated = ".Generated ";
  const PageTemplate& own = *std::ranges::find(kPages, page, &PageTemplate::name);
  std::string text;
  for (const std::string_view line : lines_of(own.text)) {
    if (!line.starts_with(kGenerated)) {
      text.append(line).append("\n");
      continue;
    }
    const std::string_view place = line.substr(kGenerated.size());
    const std::string_view what = place.substr(0, place.find(' '));
    text += generated(commands, what, place.substr(std::min(what.size() + 1, place.size())));
  }
  return with_pages(std::move(text), own);
}

}  // namespace clipper
