#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clip/clip_option_table.hpp"
#include "clip/clip_options.hpp"
#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "command_line/shared_options.hpp"
#include "console/diagnostics.hpp"
#include "console/json.hpp"
#include "console/terminal.hpp"
#include "element/text.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// What `clipper help` takes.
Words help_words() {
  Words words = command_names();
  const Words topics = help_topics(kClipSpec);
  words.insert(words.end(), topics.begin(), topics.end());
  return words;
}

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off
constexpr Option kTopic{
    .names = "TOPIC", .words = &help_words,
    .help = "A command, or a group of options, examples or status",
    .details = R"(A command, such as compare, whose `--help` is printed; a group of options of `clipper --help`, or `then`, which
are explained; `examples`; or `status`, the exit statuses. `clipper --help TOPIC` is the same.)"};
// clang-format on
constexpr std::array kPositionals{Positional{&kTopic, Arity::optional}};
constexpr std::array<std::string_view, 1> kForms{"[TOPIC]"};
constexpr std::array kOptions{&kHelp};

int show_help(const RawOptions& raw) {
  const CommandSpecs specs = command_specs();
  const std::string& topic = raw.text(kTopic);
  const auto named = std::ranges::find(specs, std::string_view(topic), &CommandSpec::name);
  print(named == specs.end() ? help_of_topic(kClipSpec, topic, help_columns())
                             : help_of(**named, listed_commands(**named), help_columns()));
  return 0;
}

constexpr std::array kCommands{&kClipSpec,     &kCompareSpec,    &kInfoSpec, &kShowSpec,
                               &kProfilesSpec, &kCompletionSpec, &kHelpSpec, &kGenerateSpec};

/// What people who know other programs type, and what clipper calls it: nothing for what needs no command.
struct Synonyms {
  std::string_view typed;  ///< separated by spaces
  std::string_view meant;
};

constexpr std::array kSynonyms{
    Synonyms{"diff cmp", "compare"},  Synonyms{"stat stats describe inspect list ls", "info"},
    Synonyms{"version", "--version"}, Synonyms{"verify golden", "--verify"},
    Synonyms{"shard", "--shard"},     Synonyms{"finalize", "--finalize"},
    Synonyms{"clamp run", ""},
};

std::optional<std::string_view> meant_by(std::string_view word) {
  for (const auto& [typed, meant] : kSynonyms)
    if (has_word(typed, word)) return meant;
  return nearest_name(word, command_names());
}

bool is_file(const std::string& name) {
  os::Status status{};
  return os::lstat(name.c_str(), &status) == 0;
}

/// Refuses a first word that is probably meant as a command, unless a file has this name.
void check_command(const std::string& word) {
  if (word.starts_with('-') || word.find_first_of("./") != word.npos) return;
  const std::optional<std::string_view> meant = meant_by(word);
  if (!meant || is_file(word)) return;
  if (meant->empty())
    refuse(fmt::format("unknown command '{}'; to clip, type no command: clipper --min 0 IN OUT", word));
  refuse(fmt::format("unknown command '{}'; did you mean '{}'?", word, *meant));
}

/// Refuses a command's name after options, as in `clipper -v compare a b`, unless a file has this name.
void check_first_file(const RawOptions& raw) {
  const std::vector<std::string>& files = raw.texts(clip_options::kFiles);
  if (files.empty()) return;
  const std::vector<std::string_view> names = command_names();
  if (std::ranges::find(names, files.front()) != names.end() && !is_file(files.front()))
    refuse(fmt::format("a command comes before its options: clipper {} ...", files.front()));
}

/// Prints {"object":"error",...,"status":2,"error":"..."} if --json was typed on a command line that failed,
/// which may have mistakes. The object goes to standard output, or to standard error if the tensor would go
/// to standard output. Ignores errors while printing: the exit status is that of `failure`.
void print_json_failure(const CommandLine& line, const Failure& failure) try {
  if (!line.has("--json")) return;
  const bool is_clip = &line.spec() == &kClipSpec;
  std::FILE* const stream = is_clip && tensor_goes_to_stdout(line.typed()) ? stderr : stdout;
  Json json = named_object("error");
  json.add("status", static_cast<int>(failure.kind)).add("error", failure.message);
  std::fputs((json.dump() + "\n").c_str(), stream);
  std::fflush(stream);
} catch (const std::bad_alloc&) {
}

/// Refuses by name what clipper does on Linux only.
void check_available(const CommandLine& line) {
  for (const std::string_view name : {"--direct", "--no-cache", "--log-file", "--shard", "--split-output",
                                      "--finalize", "--discard-shards"})
    if (os::kIsWindows && line.has(name)) refuse(fmt::format("{} is not available on Windows", name));
}

/// Error{usage} if the log would be written to a file that the command line names, or to one behind it.
void expect_own_log(const CommandLine& line, const std::string& log) {
  std::vector<const Option*> options(line.spec().options.begin(), line.spec().options.end());
  for (const Positional& positional : line.spec().positionals) options.push_back(positional.option);
  const SideFiles files({{long_name(kLogFile), log}});
  const auto check = [&](const Option& option, const std::string& path) {
    const std::string_view name = long_name(option);
    const std::string role =
        name.starts_with('-') ? fmt::format("named by {}", name) : "an input or an output";
    files.expect_other_than(input_path(path), role);
    for (const std::string& file : files_behind({}, path)) files.expect_other_than(file, role);
  };
  const auto check_stage = [&](const RawOptions& typed) {
    for (const Option* const option : options) {
      if (option == &kLogFile || option->value == Value::text || option->value == Value::member) continue;
      for (const std::string& text : typed.texts(*option))
        if (text.starts_with('@'))
          check(*option, text.substr(1));
        else if (option->value != Value::number)
          check(*option, text);
    }
  };
  check_stage(line.typed());
  std::ranges::for_each(line.typed().then(), check_stage);
}

/// Before other mistakes are reported, which the file keeps, too.
void set_log(const CommandLine& line) {
  const Option* const verbose = option_named(line.spec(), "--verbose");
  if (verbose == nullptr) return;
  const LogLevels levels = log_levels(line.typed(), *verbose);
  set_log_level(levels.shown);
  const std::string& path = line.typed().text(kLogFile);
  if (path.empty()) return;
  if (format_named(path) != nullptr) refuse(fmt::format("--log-file: {} is the name of a tensor", path));
  expect_no_member(path);
  expect_own_log(line, path);
  open_log(path, levels.kept);
}

}  // namespace

constexpr CommandSpec kHelpSpec{
    .run = &show_help,
    .name = "help",
    .summary = "print the help of clipper, of a command or of a topic",
    .description = "Prints the help of clipper, of one of its commands, or of a topic.",
    .forms = kForms,
    .positionals = kPositionals,
    .options = kOptions,
};

CommandSpecs command_specs() {
  return {kCommands.begin(), kCommands.end()};
}

CommandSpecs listed_commands(const CommandSpec& spec) {
  CommandSpecs specs;
  if (!spec.name.empty()) return specs;
  std::ranges::copy_if(kCommands, std::back_inserter(specs),
                       [&](const CommandSpec* each) { return each->is_public && each != &spec; });
  return specs;
}

Words command_names() {
  Words names;
  for (const CommandSpec* const spec : listed_commands(kClipSpec)) names.push_back(spec->name);
  return names;
}

int run_command(int argc, const char* const* argv) {
  std::span words(argv, static_cast<std::size_t>(argc));
  if (words.size() < 2) refuse("IN and OUT are missing; see clipper -h, or clipper --help for all options");
  if (words[1] == kCandidatesWord) return print_candidates(words.subspan(2));
  std::vector<const char*> asked{words.front(), "help", words.back()};
  if (words.size() == 3 && words[1] == std::string_view("--help") && *words[2] != '-')
    words = asked;  // `clipper --help files`
  const CommandSpec* const named = command_named(command_specs(), words[1]);
  const CommandSpec& spec = named != nullptr ? *named : kClipSpec;
  if (named != nullptr) words = words.subspan(1);
  const CommandLine line(spec, words);
  try {
    if (named == nullptr) check_command(words[1]);
    check_available(line);
    set_log(line);
    const std::optional<RawOptions> raw = parse(line, listed_commands(spec));
    if (!raw) return 0;
    if (named == nullptr) check_first_file(*raw);
    set_color(color_when(spec, *raw));
    return spec.run(*raw);
  } catch (const Reported&) {
    throw;
  } catch (...) {
    print_json_failure(line, explained(std::current_exception()));
    throw;
  }
}

}  // namespace clipper
