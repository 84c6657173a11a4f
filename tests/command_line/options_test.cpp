#include <set>
#include <stdexcept>

#include "clip/clip_option_table.hpp"
#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "support/refusal.hpp"

namespace clipper {
namespace {

using namespace clip_options;

RawOptions typed(std::vector<const char*> words) {
  words.insert(words.begin(), "clipper");
  return parse({kClipSpec, words}).value();
}

bool has(const CommandSpec& spec, const Option* option) {
  return std::ranges::find(spec.options, option) != spec.options.end();
}

/// Whether some command has an option of this long name.
bool is_known(std::string_view name) {
  return std::ranges::any_of(command_specs(), [&](const CommandSpec* spec) {
    const Option* const option = option_named(*spec, name);
    return option != nullptr && long_name(*option) == name;
  });
}

void check_option(const Option& option) {
  CAPTURE(option.names);
  CHECK(names_of(option).front().starts_with('-'));
  CHECK(long_name(option).starts_with("--"));
  CHECK_FALSE(option.help.empty());
  if (option.type.empty() || option.words != nullptr) CHECK(option.value == Value::text);
}

}  // namespace

TEST_CASE("the tables of every command are consistent") {
  for (const CommandSpec* const spec : command_specs()) {
    CAPTURE(spec->name);
    CHECK(has(*spec, &kHelp));
    std::set<std::string_view> names;
    for (const Option* const option : spec->options) {
      check_option(*option);
      for (const std::string_view name : names_of(*option)) CHECK(names.insert(name).second);
    }
    for (const Option* const option : spec->options) {
      CAPTURE(option->names);
      std::string word;
      const Option* const other = option_named(*spec, option->overrides);
      if (other != nullptr) CHECK((option->type.empty() && other->type.empty()));
      CHECK(exclusion(*option, *option) == nullptr);
      CHECK((option->overrides.empty() || is_known(option->overrides)));
      for (const std::string_view names :
           {option->excludes[0].names, option->excludes[1].names, option->needs, option->works_with})
        for (std::istringstream words{std::string(names)}; words >> word;) CHECK(is_known(word));
    }
  }
}

TEST_CASE("the first command has no name, and the other names are unique") {
  std::set<std::string_view> names;
  for (const CommandSpec* const spec : command_specs()) CHECK(names.insert(spec->name).second);
  CHECK(command_specs().front()->name.empty());
}

TEST_CASE("the text of an option is what was typed") {
  const RawOptions raw = typed({"-q", "--min", "010", "in.npy", "--nan=keep", "-o", "a=b", "out.npy"});
  CHECK(raw.has(kQuiet));
  CHECK_FALSE(raw.has(kInPlace));
  CHECK(raw.text(*of_row("--min")) == "010");
  CHECK(raw.value(*of_row("--nan")) == "keep");
  CHECK(raw.value(kOutput) == "a=b");
  CHECK_FALSE(raw.value(*of_row("--scale")).has_value());
  CHECK(raw.texts(kFiles) == std::vector<std::string>{"in.npy", "out.npy"});
}

TEST_CASE("the last of a repeated option counts, and a flag may be repeated") {
  const RawOptions raw = typed({"--min", "1", "-j4", "-i", "--min=2", "--in-place", "-j", "5", "-i"});
  CHECK(raw.text(*of_row("--min")) == "2");
  CHECK(raw.text(kThreads) == "5");
  CHECK(raw.has(kInPlace));
}

TEST_CASE("all values of a repeated option are kept in order, whatever their characters") {
  const RawOptions raw = typed({"--member", "b", "x", "--member=[a,b]", "--member", "a,b", "--member", "b"});
  CHECK(raw.texts(kMember) == std::vector<std::string>{"b", "[a,b]", "a,b", "b"});
  CHECK(raw.text(kMember) == "b");
  CHECK(typed({"x"}).texts(kMember).empty());
}

TEST_CASE("the last of two options that override each other counts") {
  const auto check = [](const std::vector<const char*>& words, const Option& given,
                        const Option& overridden) {
    CAPTURE(words);
    const RawOptions raw = typed(words);
    CHECK(raw.has(given));
    CHECK_FALSE(raw.has(overridden));
  };
  check({"-q"}, kQuiet, kVerbose);
  check({"-q", "-v"}, kVerbose, kQuiet);
  check({"-vq"}, kQuiet, kVerbose);
  check({"-q", "-v", "--quiet"}, kQuiet, kVerbose);
  check({"--progress", "x", "--no-progress"}, kNoProgress, kProgress);
  check({"--no-progress", "--progress"}, kProgress, kNoProgress);
  check({"-n", "-f"}, kForce, kNoClobber);
  check({"--force", "--no-clobber"}, kNoClobber, kForce);
  check({"-v", "--", "-q"}, kVerbose, kQuiet);
}

TEST_CASE("words that are not options are positional arguments") {
  const RawOptions raw = typed({"[a]", "[a,b]", "-", "{x}", "a=b", "++", "--", "--", "-q", "--min=", "x"});
  CHECK(raw.texts(kFiles) ==
        std::vector<std::string>{"[a]", "[a,b]", "-", "{x}", "a=b", "++", "--", "-q", "--min=", "x"});
  CHECK(typed({"-o", "[a,b]"}).text(kOutput) == "[a,b]");
  CHECK(typed({"-vo=x"}).text(kOutput) == "=x");
  CHECK_FALSE(raw.has(kQuiet));
}

TEST_CASE("mistakes are reported in clipper's words, not CLI11's") {
  const auto refused = [](const std::vector<const char*>& words) {
    return refusal(ErrorKind::usage, [&] { return typed(words); });
  };
  CHECK(refused({"--mim", "0"}) == "unknown option --mim; did you mean --min?");
  CHECK(refused({"--mim=0"}) == "unknown option --mim; did you mean --min?");
  CHECK(refused({"-min", "0"}) == "unknown option -min; did you mean --min?");
  CHECK(refused({"-out", "0"}) == "unknown option -out; did you mean --output?");
  CHECK(refused({"-force"}) == "unknown option -force; did you mean --force?");
  CHECK(refused({"-version"}) == "unknown option -version; did you mean --version?");
  CHECK(refused({"--verb"}) == "unknown option --verb; did you mean --verbose?");
  CHECK(refused({"--foo"}) == "unknown option --foo; clipper --help lists all options");
  CHECK(refused({"-x"}) == "unknown option -x; clipper --help lists all options");
  CHECK(refused({"-vx"}) == "unknown option -x; clipper --help lists all options");
  CHECK(refused({"-v-"}) == "unknown option --; clipper --help lists all options");
  CHECK(refused({"---"}) == "unknown option ---; clipper --help lists all options");
  CHECK(refused({"--in-place=false"}) == "--in-place takes no value");
  CHECK(refused({"-i=false"}) == "-i takes no value");
  CHECK(refused({"-o=x"}) == "-o takes its value without =; write -o x");
  CHECK(refused({"--min=", "x"}) == "--min has no value (is a shell variable empty?)");
  CHECK(refused({"--member", "", "--member", "x"}) == "--member has no value (is a shell variable empty?)");
  CHECK(refused({"--min", "", "x"}) == "--min has no value (is a shell variable empty?)");
  CHECK(refused({"--min", "--max", "6"}) == "--min has no value; --max follows (is a shell variable empty?)");
  CHECK(refused({"-j", "--max"}) == "-j has no value; --max follows (is a shell variable empty?)");
  CHECK(refused({"--min", "--", "6"}) == "--min has no value; -- follows (is a shell variable empty?)");
  CHECK(refused({"--min"}) == "--min has no value");
  CHECK(refused({"-qj"}) == "-qj has no value");
  CHECK(refused({"-qj", "--json"}) == "-qj has no value; --json follows (is a shell variable empty?)");
  CHECK(refused({"-xj"}) == "unknown option -xj; clipper --help lists all options");
  CHECK(refused({"x", ""}) == "FILE is an empty name (is a shell variable empty?)");
  CHECK(refused({"--files-from", "a", "--files0-from", "b"}) ==
        "--files-from and --files0-from cannot be used together");
}

TEST_CASE("rules about options that go together stand in their blocks") {
  const auto refused = [](const std::vector<const char*>& words) {
    return refusal(ErrorKind::usage, [&] { return typed(words); });
  };
  CHECK(refused({"--rtol", "1", "x"}) == "--rtol needs --verify");
  CHECK(refused({"--flat", "x"}) == "--flat needs --output-dir");
  CHECK(typed({"--flat", "--verify", "golden/", "x"}).has(kFlat));
  CHECK(refused({"--direct", "x"}) == "--direct needs --in-place");
  CHECK(refused({"--min", "0", "--discard-shards", "x"}) ==
        "--discard-shards and --min cannot be used together");
  CHECK(typed({"--discard-shards", "-q", "--dry-run", "x"}).has(kDiscardShards));
  CHECK(refused({"-i", "--verify", "x", "y"}) == "--verify and --in-place cannot be used together");
  CHECK(refused({"-i", "--shard", "0/2", "x"}) ==
        "--in-place and --shard cannot be used together: a shard that runs twice would scale its data twice; "
        "use IN OUT or --output-dir, and rename the results");
}

TEST_CASE("a mistake hides nothing of the rest of the command line") {
  for (const std::vector<const char*>& mistake : std::vector<std::vector<const char*>>{
           {"--min="}, {"--min"}, {"--bogus"}, {"-x"}, {"-vx"}, {"-vj"}, {"--quiet=no"}, {"--max", ""}}) {
    CAPTURE(mistake);
    std::vector<const char*> words{"clipper", "in.npy"};
    words.insert(words.end(), mistake.begin(), mistake.end());
    words.insert(words.end(), {"--json", "-no", "-", "out.npy", "--", "--sync"});
    const CommandLine line(kClipSpec, words);
    CHECK(refusal(ErrorKind::usage, [&] { line.check(); }) != "");
    CHECK(line.has("--json"));
    CHECK_FALSE(line.has("--sync"));
    CHECK(line.typed().has(kNoClobber));
    CHECK(line.typed().text(kOutput) == "-");
    CHECK(line.typed().texts(kFiles) == std::vector<std::string>{"in.npy", "out.npy", "--sync"});
  }
  CHECK_FALSE(CommandLine(kHelpSpec, std::vector{"help", "--json"}).has("--json"));
}

TEST_CASE("missing, surplus and unknown positional arguments are refused") {
  const auto refused = [](const char* command, std::vector<const char*> words) {
    const CommandSpecs specs = command_specs();
    const auto spec = std::ranges::find(specs, std::string_view(command), &CommandSpec::name);
    words.insert(words.begin(), command);
    return refusal(ErrorKind::usage, [&] { return parse({**spec, words}); });
  };
  CHECK(refused("compare", {"a", "b", "c"}) ==
        "unexpected argument 'c'; usage: clipper compare [OPTIONS] ACTUAL EXPECTED");
  CHECK(refused("compare", {"", "b"}) == "ACTUAL is an empty name (is a shell variable empty?)");
  CHECK(refused("--generate", {}) == "KIND is missing; see clipper --generate --help");
  CHECK(refused("--generate", {"tcsh"}).starts_with("unknown kind 'tcsh'; expected one of: clipper"));
  CHECK(refused("help", {"inof"}) == "unknown topic 'inof'; did you mean 'info'?");
}

TEST_CASE("asking for an option of another command throws std::out_of_range") {
  constexpr Option kOther{.names = "--unclipped", .help = "Of no command"};
  CHECK_THROWS_AS(typed({}).has(kOther), std::out_of_range);
}

}  // namespace clipper
