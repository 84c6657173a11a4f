#include "command_line/command_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <vector>

#include "clipper.hpp"
#include "element/text.hpp"
#include "npz/codecs.hpp"
#include "parallel/pool.hpp"
#include "simd/levels.hpp"

namespace clipper {

const CommandSpec* command_named(const CommandSpecs& commands, std::string_view word) {
  const auto named = std::ranges::find(commands, word == "clip" ? "" : word, &CommandSpec::name);
  return named == commands.end() || word.empty() ? nullptr : *named;
}

std::vector<OptionGroup> groups_of(const CommandSpec& spec) {
  std::vector<OptionGroup> groups;
  for (const Option* const option : spec.options) {
    const std::string_view heading = spec.has_groups || option->group == kHidden ? option->group : "options";
    auto group = std::ranges::find(groups, heading, &OptionGroup::heading);
    if (group == groups.end()) group = groups.insert(group, {heading, {}});
    group->options.push_back(option);
  }
  return groups;
}

std::string heading_text(std::string_view group) {
  std::string text(group);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string title_of(const CommandSpec& spec) {
  return fmt::format("clipper{}{}", spec.name.empty() ? "" : " ", spec.name);
}

std::vector<std::string> usages_of(const CommandSpec& spec) {
  std::vector<std::string> usages;
  for (const std::string_view form : spec.forms) usages.push_back(fmt::format("{} {}", title_of(spec), form));
  return usages;
}

std::vector<std::string_view> names_of(const Option& option) {
  if (short_name(option) == option.names) return {option.names};
  return {short_name(option), long_name(option)};
}

bool has_name(std::string_view names, const Option& option) {
  if (names.empty()) return false;
  return fmt::format(" {} ", names).find(fmt::format(" {} ", long_name(option))) != std::string::npos;
}

const Exclusion* exclusion(const Option& option, const Option& other) {
  const auto* const found = std::ranges::find_if(
      option.excludes, [&](const Exclusion& each) { return has_name(each.names, other); });
  return found == std::end(option.excludes) ? nullptr : found;
}

std::string details_of(const Option& option) {
  return fmt::format("{}{}{}", option.details, option.more.empty() ? "" : " ", option.more);
}

namespace {

/// "`--a`, `--b` and `--c`".
std::string listed_text(const std::vector<std::string_view>& names, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}`{}`", i == 0 ? "" : i + 1 == names.size() ? last : ", ", names[i]);
  return text;
}

std::vector<std::string_view> names_in(const CommandSpec& spec, std::string_view names) {
  std::vector<std::string_view> found;
  for (const Option* const option : spec.options)
    if (has_name(names, *option)) found.push_back(long_name(*option));
  return found;
}

std::vector<std::string_view> excluded_by(const CommandSpec& spec, const Option& option) {
  std::vector<std::string_view> names;
  for (const Option* const other : spec.options)
    if (exclusion(option, *other) != nullptr || exclusion(*other, option) != nullptr)
      names.push_back(long_name(*other));
  return names;
}

}  // namespace

std::string rules_of(const CommandSpec& spec, const Option& option) {
  constexpr std::size_t kMany = 20;  // who excludes so many is not named by each of them
  std::vector<std::string_view> excluded = excluded_by(spec, option);
  std::erase_if(excluded, [&](std::string_view name) {
    return excluded_by(spec, option).size() < kMany &&
           excluded_by(spec, *option_named(spec, name)).size() >= kMany;
  });
  std::string text;
  if (!excluded.empty()) text += fmt::format("Excludes {}. ", listed_text(excluded, " and "));
  if (const auto needed = names_in(spec, option.needs); !needed.empty())
    text += fmt::format("Needs {}. ", listed_text(needed, " or "));
  if (const auto others = names_in(spec, option.works_with); !others.empty())
    text += fmt::format("Takes only {} besides. ", listed_text(others, " and "));
  if (!text.empty()) text.pop_back();
  return text;
}

const Option* option_named(const CommandSpec& spec, std::string_view name) {
  const auto named = std::ranges::find_if(spec.options, [&](const Option* option) {
    return name == long_name(*option) || name == short_name(*option);
  });
  return named == spec.options.end() ? nullptr : *named;
}

namespace {

constexpr std::size_t kOptionColumn = 28;        ///< where the text about an option begins
constexpr std::size_t kNarrowOptionColumn = 10;  ///< on a narrow terminal, below the option's names
constexpr std::size_t kNarrow = 60;
constexpr std::size_t kCommandColumn = 14;
constexpr std::size_t kFew = 3;  ///< forms and examples in the short help

#ifdef __clang__
constexpr std::string_view kCompiler = __VERSION__;  // "Clang 14.0.6"
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

#ifdef CLIPPER_INSTRUMENTED
constexpr std::string_view kInstrumented = ", with sanitizers";
#else
constexpr std::string_view kInstrumented = "";
#endif

/// One section of the help, which grows line by line.
class Section {
 public:
  explicit Section(std::size_t columns) : columns_(columns) {}

  void add_line(std::string_view line) { text_.append(line) += '\n'; }

  /// Appends `head` and `text`, wrapped between words. The text begins at column `indent` of every line; its
  /// first line follows the head on the same line if two spaces fit between them.
  void add(std::string_view head, std::string_view text, std::size_t indent) {
    std::string line(head);
    if (!head.empty() && head.size() + 2 > indent) end(line);
    line.resize(indent, ' ');
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(word.size() + 1, text.size()));
      if (line.size() > indent && line.size() + 1 + word.size() > columns_) {
        end(line);
        line.resize(indent, ' ');
      }
      if (line.size() > indent) line += ' ';
      line += word;
    }
    add_line(line);
  }

  /// One line, if it is wide enough.
  void add(const Option& option, std::string_view text) {
    const std::string head = head_of(option);
    if (head.size() + 2 > kOptionColumn && head.size() + 2 + text.size() <= columns_)
      return add_line(fmt::format("{}  {}", head, text));
    add(head, text, columns_ < kNarrow ? kNarrowOptionColumn : kOptionColumn);
  }

  /// The sentences, which have code between backticks, below the option's names.
  void add_details(const Option& option, std::string sentences) {
    std::erase(sentences, '`');
    std::ranges::replace(sentences, '\n', ' ');
    add_line(head_of(option));
    add("", sentences, kNarrowOptionColumn);
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  /// "  -o, --output TEMPLATE", "      --min X", "  FILE".
  static std::string head_of(const Option& option) {
    const std::vector<std::string_view> names = names_of(option);
    const bool is_positional = !option.names.starts_with('-');
    const std::string_view indent = names.size() > 1 || is_positional ? "  " : "      ";
    return fmt::format("{}{}{}{}", indent, joined(names, ", "),
                       option.type.empty()   ? ""
                       : needs_value(option) ? " "
                                             : "[=",
                       option.type) +
           (option.implied.empty() ? "" : "]");
  }

  void end(std::string& line) {
    add_line(line);
    line.clear();
  }

  std::size_t columns_;
  std::string text_;
};

Section usage(const CommandSpec& spec, std::size_t columns, std::size_t max) {
  constexpr std::string_view kUsage = "Usage: ";
  Section section(columns);
  std::string_view head = kUsage;
  std::vector<std::string> forms = usages_of(spec);
  forms.resize(std::min(forms.size(), max));
  for (const std::string& form : forms) {
    section.add_line(fmt::format("{:{}}{}", head, kUsage.size(), form));
    head = "";
  }
  return section;
}

Section command_list(const CommandSpecs& commands, std::size_t columns) {
  Section section(columns);
  section.add_line("Commands:");
  for (const CommandSpec* const command : commands)
    section.add(fmt::format("  {}", command->name), command->summary, kCommandColumn);
  return section;
}

Section first_examples(const CommandSpec& spec, std::size_t columns) {
  Section section(columns);
  std::string_view lines = spec.footer.substr(1);  // after an empty line
  for (std::size_t i = 0; i <= kFew; ++i) {
    section.add_line(lines.substr(0, lines.find('\n')));
    lines.remove_prefix(lines.find('\n') + 1);
  }
  return section;
}

Section where_more_is(const CommandSpec& spec, const CommandSpecs& commands, std::size_t columns) {
  Section section(columns);
  std::vector<std::string_view> names;
  for (const CommandSpec* const command : commands) names.push_back(command->name);
  if (!names.empty()) section.add("", fmt::format("Commands: {} (COMMAND -h)", joined(names, ", ")), 0);
  section.add("",
              fmt::format("All options: {} --help. Everything: man clipper{}{}.", title_of(spec),
                          spec.name.empty() ? "" : "-", spec.name),
              0);
  return section;
}

std::string joined_sections(const std::vector<Section>& sections) {
  std::string text;
  for (const Section& section : sections) text += (text.empty() ? "" : "\n") + section.text();
  return text;
}

}  // namespace

std::string short_help_of(const CommandSpec& spec, const CommandSpecs& commands, std::size_t columns) {
  if (spec.common.empty()) return help_of(spec, commands, columns);
  std::vector<Section> sections(1, Section(columns));
  sections.back().add("", spec.description.substr(0, spec.description.find(". ") + 1), 0);
  sections.push_back(usage(spec, columns, kFew));
  sections.emplace_back(columns);
  for (const Option* const option : spec.common) sections.back().add(*option, option->help);
  sections.push_back(first_examples(spec, columns));
  sections.push_back(where_more_is(spec, commands, columns));
  return joined_sections(sections);
}

std::string help_of(const CommandSpec& spec, const CommandSpecs& commands, std::size_t columns) {
  std::vector<Section> sections(1, Section(columns));
  sections.back().add("", spec.description, 0);
  sections.push_back(usage(spec, columns, spec.forms.size()));
  if (!commands.empty()) sections.push_back(command_list(commands, columns));
  if (!spec.positionals.empty()) {
    sections.emplace_back(columns).add_line("Arguments:");
    for (const Positional& positional : spec.positionals)
      sections.back().add(*positional.option, positional.option->help);
  }
  for (const auto& [heading, options] : groups_of(spec)) {
    if (heading == kHidden) continue;
    sections.emplace_back(columns).add_line(heading_text(heading) + ":");
    for (const Option* const option : options) sections.back().add(*option, option->help);
  }
  if (spec.has_groups) {
    sections.emplace_back(columns).add(
        "",
        fmt::format("More: clipper help TOPIC (a command, {}), and man clipper.",
                    joined(help_topics(spec), ", ")),
        0);
    return joined_sections(sections);
  }
  return joined_sections(sections).append(spec.footer);  // the footer begins with an empty line
}

Words help_topics(const CommandSpec& spec) {
  Words topics;
  for (const OptionGroup& group : groups_of(spec))
    if (group.heading != kHidden) topics.push_back(group.heading);
  if (spec.begins_stage != nullptr) topics.push_back(long_name(*spec.begins_stage).substr(2));
  topics.insert(topics.end(), {"examples", "status"});
  return topics;
}

std::string help_of_topic(const CommandSpec& spec, std::string_view topic, std::size_t columns) {
  const std::string_view footer = spec.footer.substr(1);  // after an empty line
  const std::size_t statuses = footer.find("\nExit status:") + 1;
  if (topic == "examples") return std::string(footer.substr(0, statuses - 1));
  if (topic == "status") return std::string(footer.substr(statuses));
  Section section(columns);
  for (const auto& [heading, options] : groups_of(spec))
    for (const Option* const option : options)
      if (heading == topic || long_name(*option).substr(2) == topic)
        section.add_details(*option, details_of(*option) + " " + rules_of(spec, *option));
  return section.text();
}

std::string version_text() {
  std::vector<std::string_view> levels;
  for (const SimdLevel level : simd_levels()) levels.push_back(to_string(level));
  return fmt::format(
      "clipper {}\n"
      "SIMD level: {} (this CPU has {})\n"
      "oneTBB: {}\n"
      "archives: {}\n"
      "build: {}, {}{}\n",
      version(), levels.back(), joined(levels, ", "), Pool::version(), npz::libraries(), kCompiler,
      CLIPPER_BUILD_TYPE, kInstrumented);
}

}  // namespace clipper
