#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "clip/clip_option_table.hpp"
#include "command_line/command_line.hpp"
#include "command_line/values.hpp"
#include "commands.hpp"
#include "error.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using namespace clip_options;

RawOptions typed(std::vector<const char*> words) {
  words.insert(words.begin(), "clipper");
  return parse(kClipSpec, words).value();
}

bool has(const CommandSpec& spec, const Option* option) {
  const std::vector<const Option*> options = options_of(spec);
  return std::find(options.begin(), options.end(), option) != options.end();
}

void check_option(const Option& option) {
  CAPTURE(option.names);
  CHECK(names_of(option).front().starts_with('-'));
  CHECK(long_name(option).starts_with("--"));
  CHECK_FALSE(option.help.empty());
  CHECK((option.value == Value::none) == option.type.empty());
  CHECK((option.value == Value::words) == (option.words != nullptr));
}

}  // namespace

TEST_CASE("the table of every command agrees with itself") {
  for (const CommandSpec* const spec : command_specs()) {
    CAPTURE(spec->name);
    CHECK(has(*spec, &kHelp));
    std::set<std::string_view> names;
    for (const Option* const option : options_of(*spec)) {
      check_option(*option);
      for (const std::string_view name : names_of(*option)) CHECK(names.insert(name).second);
    }
    for (const auto& [one, other] : spec->exclusions) {
      CAPTURE(one->names, other->names);
      CHECK(one != other);
      CHECK((has(*spec, one) && has(*spec, other)));
    }
  }
}

TEST_CASE("the first command has no name, and every other has its own") {
  std::set<std::string_view> names;
  for (const CommandSpec* const spec : command_specs()) CHECK(names.insert(spec->name).second);
  CHECK(command_specs().front()->name.empty());
}

TEST_CASE("the text of an option is what was typed") {
  const RawOptions raw = typed({"-q", "--min", "010", "in.npy", "--nan=keep", "-o", "a=b", "out.npy"});
  CHECK(raw.has(kQuiet));
  CHECK_FALSE(raw.has(kInPlace));
  CHECK(raw.text(kMin) == "010");
  CHECK(raw.value(kNan) == "keep");
  CHECK(raw.value(kOutput) == "a=b");
  CHECK_FALSE(raw.value(kScale).has_value());
  CHECK(raw.texts(kFiles) == std::vector<std::string>{"in.npy", "out.npy"});
}

TEST_CASE("a flag that is typed as false is not given") {
  CHECK(typed({"--json=true"}).has(kJson));
  CHECK_FALSE(typed({"--json=false"}).has(kJson));
}

TEST_CASE("an option of another command is a mistake of the program") {
  constexpr Option kOther{"--other", "Of no command"};
  CHECK_THROWS_AS(typed({}).has(kOther), std::out_of_range);
}

TEST_CASE("one of an option's two words is the second") {
  CHECK(is_second_word(kTrailing, "ignore"));
  CHECK_FALSE(is_second_word(kTrailing, "error"));
  CHECK_THROWS_AS(is_second_word(kTrailing, "warn"), Error);
}

}  // namespace clipper
