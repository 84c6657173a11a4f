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

#include "command_line/command_spec.hpp"
#include "contract/fields.hpp"
#include "contract/profile.hpp"
#include "counts.hpp"
#include "element/dtype.hpp"
#include "element/text.hpp"

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
  return joined(names, ", ") + value_text(option, fmt::format("\\fI{}\\fR", escaped_for_troff(option.type)));
}

/// An option's details, followed by its rules and the list of its words, unless the details name all of them
/// or the list is long: that of the dtypes or profiles, which have a section.
std::string text_of(const CommandSpec& command, const Option& option) {
  constexpr std::size_t kLong = 18;
  std::string text = details_of(option);
  if (const std::string rules = rules_of(command, option); !rules.empty()) text += " " + rules;
  std::ranges::replace(text, '\n', ' ');
  if (option.words == nullptr || option.words().size() >= kLong) return text;
  const std::vector<std::string_view> words = option.words();
  const bool said =
      std::ranges::all_of(words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
  const std::string_view what = option.type.empty() ? option.names : option.type;
  if (!said) text += fmt::format(" {} is one of {}.", what, joined(words, ", "));
  return text;
}

std::string item_of(const CommandSpec& command, const Option& option) {
  return item_to_troff(heading_of(option), text_of(command, option));
}

std::string page_reference(std::string_view page) {
  return fmt::format("\\fB{}\\fR({})", escaped_for_troff(page.substr(0, page.size() - 2)), page.back());
}

std::string replaced_words(std::string text, std::string_view title, std::string_view more) {
  const auto is_word_character = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(title); at != text.npos; at = text.find(title, at + 1)) {
    const std::size_t end = at + title.size();
    const bool is_heading = text.compare(text.rfind('\n', at) + 1, 2, ".S") == 0;
    if (is_heading || at == 0 || is_word_character(text[at - 1]) || is_word_character(text[end]) ||
        text.substr(end, 4) == " in ")
      continue;
    text.insert(end, more);
  }
  return text;
}

/// The page's text, in which a section of another page that is named in capitals, but not in a heading, is
/// followed by that page's name: "DTYPES AND BOUNDS in clipper-bounds(7)". A subsection is known by several
/// words up to a comma.
std::string with_pages(std::string text, const PageTemplate& own) {
  for (const PageTemplate& page : kPages) {
    const std::string name = " in " + page_reference(page.name);
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
  for (const Positional& positional : command.positionals) text += item_of(command, *positional.option);
  return text;
}

/// The names of the options that `page` explains in place of the command's own page.
std::string explained_elsewhere(const CommandSpec& command, std::string_view page) {
  std::vector<std::string> names;
  for (const Option* const option : command.options)
    if (option->page == page)
      names.push_back(fmt::format("\\fB{}\\fR", escaped_for_troff(long_name(*option))));
  return fmt::format(".TP\n{} explains\n{}\n", page_reference(page), joined(names, ", "));
}

std::string options_section(const CommandSpec& command, std::string_view own_page) {
  std::string text = positionals_of(command);
  std::vector<std::string_view> pages;
  for (const auto& [heading, options] : groups_of(command)) {
    const auto is_here = [&](const Option* option) {
      return option->page.empty() || option->page == own_page;
    };
    if (command.has_groups && std::ranges::any_of(options, is_here))
      text += fmt::format(".SS {}\n", heading == kHidden ? kHiddenHeading : heading_text(heading));
    for (const Option* const option : options) {
      if (is_here(option))
        text += item_of(command, *option);
      else if (std::ranges::find(pages, option->page) == pages.end())
        pages.push_back(option->page);
    }
  }
  if (!pages.empty()) text += ".SS Options of other pages\n.PD 0\n";
  for (const std::string_view page : pages) text += explained_elsewhere(command, page);
  return text + (pages.empty() ? "" : ".PD\n");
}

/// The options of the first command that this page explains.
std::string options_of_page(const CommandSpec& command, std::string_view page) {
  std::string text;
  for (const Option* const option : command.options)
    if (option->page == page) text += item_of(command, *option);
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

/// A member of an object, or of an object in it, "shard.index", and what it means.
struct JsonMember {
  std::string path;
  std::string description;

  bool operator==(const JsonMember&) const = default;
};

void take_members(const Schema& object, const std::string& prefix, std::vector<JsonMember>& members) {
  if (object.contains("items")) take_members(object["items"], prefix, members);
  if (!object.contains("properties")) return;
  for (const auto& [name, member] : object["properties"].items()) {
    members.push_back({prefix + name, member["description"].get<std::string>()});
    take_members(member, members.back().path + ".", members);
  }
}

/// The members, without blank lines between them.
std::string member_lines(const std::vector<JsonMember>& members) {
  std::string text = ".PD 0\n";
  for (const JsonMember& member : members)
    text += fmt::format(".HP 4\n\\fB{}\\fR: {}.\n", member.path, inline_to_troff(member.description));
  return text + ".PD\n";
}

/// What a row of fields::kAll says of the member of `request`, whose value is as typed. Its kind is that of
/// the row's member: all flags are as saturate, all pairs as stretch.
Schema schema_of(const Field& field, const CommandSpec& clip) {
  const auto is = [&]<class Value>(Value Request::*) {
    return std::holds_alternative<Value Request::*>(field.member);
  };
  const Option& option = *option_named(clip, field.option());
  const bool may_be_file = field.broadcasts || field.grammar == Field::Grammar::number ||
                           field.grammar == Field::Grammar::result || field.grammar == Field::Grammar::mask;
  Schema value{{"$ref", may_be_file ? "#/$defs/typed_or_array" : "#/$defs/typed"}};
  if (is(&Request::saturate)) value = {{"const", true}};
  if (is(&Request::per_axis)) value = {{"type", "integer"}};
  if (is(&Request::to) || is(&Request::stretch)) value = {{"type", "string"}};
  if (option.words != nullptr && !is(&Request::to) && !is(&Request::nan)) {
    value = {{"enum", Schema::array()}};
    for (const std::string_view word : option.words())
      value["enum"].push_back(Schema::accept(word) ? Schema::parse(word) : Schema(word));
  }
  if (field.is_list()) value = {{"type", "array"}, {"items", value}};
  value["description"] = fmt::format("{}: {}", field.option(), field.line);
  return value;
}

/// The schema with what the tables of fields, counts, dtypes and profiles say.
Schema full_schema(const CommandSpec& clip) {
  Schema schema = Schema::parse(kJsonSchema);
  Schema& objects = schema["$defs"];
  for (const Field& field : fields::kAll)
    objects["request"]["properties"][std::string(field.name)] = schema_of(field, clip);
  for (const CountedElements& row : kCountedElements)
    objects["clip"]["properties"][std::string(row.name)] = {{"description", row.details},
                                                            {"$ref", "#/$defs/count"}};
  for (const DTypeTraits& row : kDTypes) objects["dtype"]["enum"].push_back(row.name);
  for (const Profile& profile : ::clipper::profiles())
    objects["profile_name"]["enum"].push_back(profile.name);
  return schema;
}

/// The objects, before which stand the members that several of them have in the same words.
std::string json_objects(const CommandSpec& clip) {
  const Schema schema = full_schema(clip);
  std::vector<std::pair<std::string, std::vector<JsonMember>>> objects;
  std::vector<JsonMember> all;
  for (const auto& [name, object] : schema["$defs"].items()) {
    if (std::ranges::count(schema["oneOf"], Schema{{"$ref", "#/$defs/" + name}}) == 0) continue;
    take_members(object, "", objects.emplace_back(name, std::vector<JsonMember>()).second);
    all.insert(all.end(), objects.back().second.begin(), objects.back().second.end());
  }
  std::vector<JsonMember> shared;
  for (const JsonMember& member : all)
    if (std::ranges::count(all, member) > 1 && std::ranges::find(shared, member) == shared.end())
      shared.push_back(member);
  std::string text = ".SS Keys of several objects\n" + member_lines(shared);
  for (auto& [name, members] : objects) {
    std::vector<std::string> common;
    std::erase_if(members, [&](const JsonMember& member) {
      const bool is_shared = std::ranges::find(shared, member) != shared.end();
      if (is_shared) common.push_back("\\fB" + member.path + "\\fR");
      return is_shared;
    });
    text += fmt::format(".SS The object {}\n{}.\n", name,
                        inline_to_troff(schema["$defs"][name]["description"].get<std::string>()));
    if (!common.empty()) text += fmt::format("Above: {}.\n", joined(common, ", "));
    text += member_lines(members);
  }
  return text;
}

/// What stands in the manual for a line ".Generated WHAT OF" of the page's template.
std::string generated(const CommandSpecs& commands, std::string_view page, std::string_view what,
                      std::string_view of) {
  const auto command = std::ranges::find(commands, of, &CommandSpec::name);
  if (what == "synopsis" && of.empty()) return synopsis(commands);
  if (what == "profiles") return profiles(of);
  if (what == "json") return json_objects(*commands.front());
  if (what == "page") return options_of_page(*commands.front(), page);
  if (command == commands.end()) throw std::logic_error("the manual has no such command");
  if (what == "description") return inline_to_troff((*command)->description) + "\n";
  if (what == "synopsis") return synopsis({*command});
  return what == "arguments" ? positionals_of(**command) : options_section(**command, page);
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

std::string json_schema(const CommandSpec& clip) {
  return full_schema(clip).dump(2) + "\n";
}

Words page_names() {
  return words_in<kPages, &PageTemplate::name>();
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
    text += generated(commands, page, what, place.substr(std::min(what.size() + 1, place.size())));
  }
  return with_pages(std::move(text), own);
}

}  // namespace clipper
