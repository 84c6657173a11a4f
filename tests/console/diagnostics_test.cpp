#include "console/diagnostics.hpp"

#include <regex>

#include "clip/clip_option_table.hpp"
#include "command_line/command_spec.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"

namespace clipper {
namespace {

std::string printed(const Message& message) {
  return explained(std::make_exception_ptr(Error(ErrorKind::usage, message))).message;
}

}  // namespace

TEST_CASE("The program names flags where the library names parameters") {
  const Message message = Term{"min", "min"} + Message(" 5 exceeds ") + Term{"max", "max"} + " 3" +
                          Term{"min_above_max", "", Says::advice};
  CHECK(message.text() == "min 5 exceeds max 3");
  CHECK(message.field() == "min");
  CHECK(printed(message) ==
        "--min 5 exceeds --max 3; to allow this, add --min-above-max max (as numpy) or min");
}

TEST_CASE("Paths and words that are not terms are not replaced") {
  const std::string path = "min/a direct change.npy";
  std::string line;
  try {
    with_path(path, [] {
      throw Error(ErrorKind::refused, "left unfinished by " + Term{"direct", "a direct change"});
    });
  } catch (const Error& error) {
    CHECK(error.what() == path + ": left unfinished by a direct change");
    CHECK(error.field() == "direct");
    line = printed(error.message());
  }
  CHECK(line == path + ": left unfinished by --in-place --direct");
  CHECK(printed(Term{"", "nobody"} + " knows this") == "nobody knows this");
}

TEST_CASE("The program has words of its own for every term of the library") {
  const std::regex term_text(
      R"re((?:Term(?: \w+)?\{|\{(?=[^{}]*Says::))"(\w+)",\s+"([^"]*)"(?:,\s+Says::(\w+))?\})re");
  std::size_t terms = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_path("lib"))) {
    if (!entry.is_regular_file()) continue;
    const std::string source = testing::read_file(entry.path());
    for (std::sregex_iterator found(source.begin(), source.end(), term_text), end; found != end;
         ++found, ++terms) {
      INFO(entry.path() << ": " << found->str());
      const std::string field = found->str(1);
      const std::string words = found->str(2);
      const std::string says = found->str(3);
      const std::string text = printed(Term{field, words, says == "advice" ? Says::advice : Says::name});
      const std::string option = text.substr(text.rfind(' ') + 1);
      if (says == "advice")
        CHECK(!text.starts_with("--"));
      else
        CHECK((text == "IN" || text == "OUT" || option_named(kClipSpec, option) != nullptr ||
               option_named(kCompareSpec, option) != nullptr || option_named(kShowSpec, option) != nullptr));
    }
  }
  CHECK(terms > 40);
}

}  // namespace clipper
