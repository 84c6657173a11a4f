#include "command_line/command_spec.hpp"

#include <fmt/format.h>

#include <cctype>
#include <iterator>

#include "clipper.hpp"
#include "element/text.hpp"
#include "npz/archive.hpp"
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

bool has_word(std::string_view words, std::string_view word) {
  return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos;
}

const Exclusion* exclusion(const Option& option, const Option& other) {
  const auto* const found = std::ranges::find_if(
      option.excludes, [&](const Exclusion& each) { return has_word(each.names, long_name(other)); });
  return found == std::end(option.excludes) ? nullptr : found;
}

bool exclude_each_other(const Option& one, const Option& other) {
  return exclusion(one, other) != nullptr || exclusion(other, one) != nullptr;
}

std::string value_text(const Option& option, std::string_view type) {
  return option.type.empty()   ? ""
         : needs_value(option) ? fmt::format(" {}", type)
                               : fmt::format("[={}]", type);
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
    if (has_word(names, long_name(*option))) found.push_back(long_name(*option));
  return found;
}

std::vector<std::string_view> excluded_by(const CommandSpec& spec, const Option& option) {
  std::vector<std::string_view> names;
  for (const Option* const other : spec.options)
    if (exclude_each_other(option, *other)) names.push_back(long_name(*other));
  return names;
}

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

/// The help, which grows line by line.
class Help {
 public:
  explicit Help(std::size_t columns) : columns_(columns) {}

  void add_line(std::string_view line) { text_.append(line) += '\n'; }

  void begin_section(std::string_view heading = "") {
    text_ += '\n';
    if (!heading.empty()) add_line(heading);
  }

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

  [[nodiscard]] std::string text() const { return text_; }

 private:
  /// "  -o, --output TEMPLATE", "      --min X", "  FILE".
  static std::string head_of(const Option& option) {
    const std::vector<std::string_view> names = names_of(option);
    const bool is_positional = !option.names.starts_with('-');
    const std::string_view indent = names.size() > 1 || is_positional ? "  " : "      ";
    return fmt::format("{}{}{}", indent, joined(names, ", "), value_text(option, option.type));
  }

  void end(std::string& line) {
    add_line(line);
    line.clear();
  }

  std::size_t columns_;
  std::string text_;
};

void add_usage(const CommandSpec& spec, std::size_t max, Help& help) {
  help.begin_section();
  std::string_view head = "Usage:";
  for (const std::string& usage : usages_of(spec)) {
    if (max-- == 0) return;
    help.add_line(fmt::format("{:7}{}", std::exchange(head, ""), usage));
  }
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

std::string short_help_of(const CommandSpec& spec, const CommandSpecs& commands, std::size_t columns) {
  if (spec.common.empty()) return help_of(spec, commands, columns);
  Help help(columns);
  help.add("", spec.description.substr(0, spec.description.find(". ") + 1), 0);
  add_usage(spec, kFew, help);
  help.begin_section();
  for (const Option* const option : spec.common) help.add(*option, option->help);
  std::size_t end = 0;  // of an empty line, a heading and examples
  for (std::size_t i = 0; i <= kFew; ++i) end = spec.footer.find('\n', end + 1);
  help.add_line(spec.footer.substr(0, end));
  help.begin_section();
  Words names;
  for (const CommandSpec* const command : commands) names.push_back(command->name);
  if (!names.empty()) help.add("", fmt::format("Commands: {} (COMMAND -h)", joined(names, ", ")), 0);
  help.add("",
           fmt::format("All options: {} --help. Everything: man clipper{}{}.", title_of(spec),
                       spec.name.empty() ? "" : "-", spec.name),
           0);
  return help.text();
}

std::string help_of(const CommandSpec& spec, const CommandSpecs& commands, std::size_t columns) {
  Help help(columns);
  help.add("", spec.description, 0);
  add_usage(spec, spec.forms.size(), help);
  if (!commands.empty()) help.begin_section("Commands:");
  for (const CommandSpec* const command : commands)
    help.add(fmt::format("  {}", command->name), command->summary, kCommandColumn);
  if (!spec.positionals.empty()) help.begin_section("Arguments:");
  for (const auto& [positional, arity] : spec.positionals) help.add(*positional, positional->help);
  for (const auto& [heading, options] : groups_of(spec)) {
    if (heading == kHidden) continue;
    help.begin_section(heading_text(heading) + ":");
    for (const Option* const option : options) {
      const bool is_only_help = spec.common.empty() && long_name(*option) == "--help";
      help.add(*option, is_only_help ? "Print this help" : option->help);
    }
  }
  if (!spec.has_groups) return help.text().append(spec.footer);  // which begins with an empty line
  help.begin_section();
  const std::string topics = joined(help_topics(spec), ", ");
  help.add("", fmt::format("More: clipper help TOPIC (a command, {}), and man clipper.", topics), 0);
  return help.text();
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
  Help help(columns);
  for (const auto& [heading, options] : groups_of(spec))
    for (const Option* const option : options)
      if (heading == topic || long_name(*option).substr(2) == topic)
        help.add_details(*option, details_of(*option) + " " + rules_of(spec, *option));
  return help.text();
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
