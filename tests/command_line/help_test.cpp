#include "command_line/command_spec.hpp"
#include "command_line/shared_options.hpp"
#include "support/catch.hpp"
#include "support/lines.hpp"

namespace clipper {
namespace {

using testing::lines_of;

constexpr Option kText{.names = "-t,--text",
                       .type = "TEXT",
                       .group = "group",
                       .help = "Seven words that need two lines of help"};
constexpr Option kLong{
    .names = "--with-a-long-name", .type = "VALUE", .group = "group", .help = "On the same line"};
constexpr Option kHiddenOption{.names = "--hidden", .group = kHidden, .help = "For tests"};
constexpr Option kFile{.names = "FILE", .value = Value::file, .help = "A file"};
constexpr std::array kPositionals{Positional{&kFile, Arity::many}};
constexpr std::array kOptions{&kText, &kLong, &kHiddenOption};
constexpr std::array<std::string_view, 2> kForms{"FILE...", "--text TEXT"};
constexpr CommandSpec kSpec{.name = "try",
                            .summary = "try it",
                            .description = "Tries to wrap a line that is longer than the screen is wide.",
                            .forms = kForms,
                            .footer = "\nExamples:\n  clipper try x\n",
                            .positionals = kPositionals,
                            .options = kOptions,
                            .has_groups = true};

}  // namespace

TEST_CASE("the sections of the help are in order and wrapped between words") {
  CHECK(help_of(kSpec, {&kSpec}, 60) ==
        R"(Tries to wrap a line that is longer than the screen is wide.

Usage: clipper try FILE...
       clipper try --text TEXT

Commands:
  try         try it

Arguments:
  FILE                      A file

Group:
  -t, --text TEXT           Seven words that need two lines
                            of help
      --with-a-long-name VALUE  On the same line

More: clipper help TOPIC (a command, group, examples,
status), and man clipper.
)");
}

TEST_CASE("on a narrow terminal, the text about an option is below its names") {
  CHECK(help_of(kSpec, {}, 40) ==
        R"(Tries to wrap a line that is longer than
the screen is wide.

Usage: clipper try FILE...
       clipper try --text TEXT

Arguments:
  FILE    A file

Group:
  -t, --text TEXT
          Seven words that need two
          lines of help
      --with-a-long-name VALUE
          On the same line

More: clipper help TOPIC (a command,
group, examples, status), and man
clipper.
)");
}

TEST_CASE(
    "the help of every command fits 80 columns, an option one line, and separates sections by one line") {
  for (const CommandSpec* const spec : command_specs()) {
    CAPTURE(spec->name);
    const std::string help = help_of(*spec, listed_commands(*spec), 80);
    for (const std::string& line : lines_of(help)) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
      CHECK_FALSE(line.ends_with(' '));
    }
    CHECK(lines_of(help).size() <= 130);
    for (const Option* const option : spec->options)
      CHECK((option->group == kHidden || option == &kHelp ||
             help.find("  " + std::string(option->help) + "\n") != std::string::npos));
    CHECK(help.find("\n\n\n") == std::string::npos);
    CHECK_FALSE(help.starts_with('\n'));
    CHECK(help.ends_with('\n'));
    CHECK_FALSE(help.ends_with("\n\n"));
    CHECK_FALSE(spec->forms.empty());
    for (const std::string& usage : usages_of(*spec)) CHECK(help.find(usage) != std::string::npos);
  }
}

TEST_CASE("the first screen of every command has at most 30 lines, and an option takes one of them") {
  for (const CommandSpec* const spec : command_specs()) {
    const std::string help = short_help_of(*spec, listed_commands(*spec), 80);
    CAPTURE(spec->name, help);
    const std::vector<std::string> lines = lines_of(help);
    CHECK(lines.size() <= 30);
    for (const std::string& line : lines) CHECK(line.size() <= 80);
    CHECK(spec->common.size() <= 13);
    for (const Option* const option : spec->common) {
      CHECK(std::ranges::find(spec->options, option) != spec->options.end());
      CHECK(std::ranges::count_if(lines, [&](const std::string& line) {
              return line.ends_with("  " + std::string(option->help)) && line.starts_with("  ");
            }) == 1);
    }
    if (spec->common.empty()) continue;
    CHECK(std::ranges::count(lines, "Examples:") == 1);
    CHECK(help.ends_with(spec->name.empty() ? "man clipper.\n"
                                            : "man clipper-" + std::string(spec->name) + ".\n"));
  }
}

TEST_CASE("the help has each heading once, in one order") {
  std::vector<std::string_view> headings;
  for (const OptionGroup& group : groups_of(*command_specs().front())) headings.push_back(group.heading);
  CHECK(headings == std::vector<std::string_view>{"bounds", "data", "statistics", "files", "formats",
                                                  "comparison", "shards", "running", kHidden});
  const std::string help = help_of(*command_specs().front(), {}, 80);
  for (const std::string_view heading : headings)
    CHECK(std::ranges::count(lines_of(help), heading == kHidden ? ":" : heading_text(heading) + ":") ==
          (heading == kHidden ? 0 : 1));
}

TEST_CASE("the help of commands that read tensors names all formats") {
  for (const CommandSpec* const spec : command_specs()) {
    if (std::ranges::find(spec->options, &kRaw) == spec->options.end()) continue;
    const std::string help = short_help_of(*spec, {}, 80);
    CAPTURE(help);
    for (const char* const format : {".npy", ".pb", "raw", "archive"})
      CHECK(help.find(format) != std::string::npos);
  }
}

TEST_CASE("only the help of the command without a name lists commands") {
  const CommandSpecs commands = command_specs();
  CHECK(command_names() ==
        std::vector<std::string_view>{"compare", "info", "show", "profiles", "completion", "help"});
  CHECK(listed_commands(*commands.front()).size() == 6);
  CHECK(listed_commands(*commands.back()).empty());
}

}  // namespace clipper
