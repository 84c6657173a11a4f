#include <set>
#include <string>
#include <string_view>

#include "cli/clipper.hpp"
#include "commands.hpp"
#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "support/archives.hpp"
#include "support/lines.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

/// The long options that the help of public commands shows, without their hyphens.
std::set<std::string_view> shown_options() {
  std::set<std::string_view> names;
  for (const CommandSpec* const command : command_specs())
    for (const Option* const option : command->options)
      if (command->is_public && option->group != kHidden) names.insert(long_name(*option).substr(2));
  return names;
}

}  // namespace

TEST_CASE("the manual and the completions have all options, profiles and dtypes") {
  for (const std::string kind : {"man", "bash", "zsh", "fish"}) {
    const Result result = run_clipper({"--generate", kind});
    check_done(result);
    // Without the escapes of troff, and without the commands by which the completions ask for members.
    const std::string text = replaced(replaced(result.output, "\\-", "-"), "--generate members", "");
    CAPTURE(kind, text);
    for (const std::string_view name : shown_options()) CHECK(contains(text, name));
    for (const Profile& profile : profiles()) CHECK(contains(text, profile.name));
    for (const DTypeTraits& row : kDTypes) CHECK(contains(text, row.name));
    CHECK(text.find("--generate ") == text.rfind("--generate "));  // only where it names the generator
  }
}

TEST_CASE("the manual names the argument whose words it lists") {
  const std::string text = run_clipper({"--generate", "man"}).output;
  CHECK(contains(text, "COMMAND is one of compare, info, profiles, help."));
}

TEST_CASE("--generate members prints what completes FILE:MEMBER") {
  const WorkingDirectory directory;
  const std::string tensor = float32_file({1});
  directory.write(
      "a.npz",
      npz_file({{"w.npy", tensor}, {"w", tensor}, {"größe $(x).npy", tensor}, {"\xff.npy", tensor}}));
  const Result result = directory.run({"--generate", "members", "--", "a.npz"});
  check_done(result);
  CHECK(result.output == "w.npy\nw\ngröße $(x)\n");
  directory.write("b.npy", tensor);
  check_refused(directory.run({"--generate", "members", "b.npy"}), 3, "not an .npz");
  check_refused(run_clipper({"--generate", "members"}), 2, "FILE is missing");
  check_refused(run_clipper({"--generate", "bash", "a.npz"}), 2, "only members takes a FILE");
}

TEST_CASE("--generate refuses unknown kinds and other options") {
  check_refused(run_clipper({"--generate"}), 2, "KIND");
  check_refused(run_clipper({"--generate", "tcsh"}), 2, "unknown kind 'tcsh'");
  check_refused(run_clipper({"--min", "0", "--generate", "man"}), 2, "--generate");
  check_refused(run_in_shell("\"$@\" >/dev/full", {"--generate", "man"}), 4, "standard output: ");
}

}  // namespace clipper::testing
