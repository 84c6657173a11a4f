#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/clipper.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::ordered_json;

struct Mistake {
  Words words;
  int status;
};

const std::vector<Mistake> kMistakes{
    {{"--json", "--unknown", "x.npy", "out.npy"}, 2},
    {{"--json", "--min"}, 2},
    {{"--json", "--min", "--max", "6", "x.npy", "out.npy"}, 2},
    {{"--min=", "x.npy", "out.npy", "--json"}, 2},
    {{"--min", "zero", "--json", "x.npy", "out.npy"}, 2},
    {{"--json", "--min", "@", "x.npy", "out.npy"}, 2},
    {{"--json", "--min", "@text.npy", "x.npy", "out.npy"}, 3},
    {{"--json", "--min", "@missing.npy", "x.npy", "out.npy"}, 4},
    {{"--json", "--min", "0", "-i", "--files-from", "missing.txt"}, 4},
    {{"--json", "--min", "0", "-i", "--files-from", "empty.txt"}, 2},
    {{"--json", "--min", "0", "-i", "--files-from", "/dev/null"}, 3},
    {{"--json", "--min", "0", "--output-dir", "out", "x.npy", "x.npy"}, 2},
    {{"--json", "--min", "0", "--output-dir", "text.npy", "x.npy"}, 4},
    {{"--json", "x.npy", "out.npy"}, 2},
    {{"--json", "--min", "0", "--verify", "x.npy"}, 2},
    {{"--json", "--finalize", "missing.npy"}, 5},
    {{"--json", "--min", "0", "--shard", "4/4", "x.npy", "out.npy"}, 2},
    {{"compare", "--json", "x.npy"}, 2},
    {{"compare", "--json", "--atol", "near", "x.npy", "x.npy"}, 2},
    {{"compare", "--json", "--unknown", "x.npy", "x.npy"}, 2},
    {{"compare", "--json", ".", "x.npy"}, 2},
    {{"compare", "--json", "--quiet", "x.npy", "x.npy"}, 2},
    {{"compare", "--json", "--diff-out", "d.npy", ".", "."}, 2},
    {{"info", "--json"}, 2},
    {{"info", "--json", "--unknown", "x.npy"}, 2},
    {{"info", "--json", "--max", "@missing.npy", "x.npy"}, 4},
    {{"info", "--min", "zero", "x.npy", "--json"}, 2},
    {{"profiles", "--json", "--unknown"}, 2},
    {{"profiles", "--json", "x.npy"}, 2},
};

void make_files(const WorkingDirectory& directory) {
  directory.write("x.npy", float32_file({1, 9}));
  directory.write("text.npy", "text");
  directory.write("empty.txt", "\n");
}

/// Checks that `text` is one object with the status and the message of `line`, an error line.
void check_object(const std::string& text, const std::string& line, int status) {
  CAPTURE(text, line);
  REQUIRE(text.ends_with("\n"));
  CHECK(text.find('\n') + 1 == text.size());
  const std::string message = line.substr(std::string("clipper: ").size());
  CHECK(Json::parse(text) ==
        Json{{"version", 2}, {"status", status}, {"error", message.substr(0, message.size() - 1)}});
}

}  // namespace

TEST_CASE("--json reports a mistake on the command line as an object") {
  for (const auto& [words, status] : kMistakes) {
    CAPTURE(words);
    const WorkingDirectory directory;
    make_files(directory);
    const Result result = directory.refused(words, status, "");
    check_object(result.output, result.error, status);
  }
}

TEST_CASE("without --json, a mistake on the command line prints nothing to standard output") {
  for (Mistake mistake : kMistakes) {
    CAPTURE(mistake.words);
    std::erase(mistake.words, "--json");
    mistake.words.insert(mistake.words.end(), {"--", "--json"});
    const WorkingDirectory directory;
    make_files(directory);
    CHECK(run_clipper(mistake.words, {directory.path()}).output.empty());
  }
}

TEST_CASE("whatever else is typed, the object of a failed run stays away from the tensor") {
  const WorkingDirectory directory;
  make_files(directory);
  const std::vector<Words> to_stdout{
      {"x.npy", "-"},          {"-", "-"},           {"nope.npy", "-"},
      {"-o", "-", "x.npy"},    {"-o-", "x.npy"},     {"-vo-", "x.npy"},
      {"-no", "-", "x.npy"},   {"-vno-", "x.npy"},   {"--output", "-", "x.npy"},
      {"--output=-", "x.npy"}, {"x.npy", "-o-"},     {"-o", "y", "-o-", "x.npy"},
      {"x.npy", "z.npy", "-"}, {"--", "-x.npy", "-"}};
  const std::vector<Words> elsewhere{{"-", "out.npy"},           {"-i", "--files-from", "-"},
                                     {"--verify", "-", "x.npy"}, {"-o", "{name}", "-"},
                                     {"-o-", "-oy", "x.npy"},    {"-jo-", "x.npy"},
                                     {"-i", "x.npy", "-"},       {"--", "-", "x.npy", "-o-"}};
  const std::vector<Words> mistakes{{"--min", "zero"}, {"--bogus"},       {"-x"},         {"-vx"},
                                    {"--min="},        {"--min"},         {"--max", ""},  {"-vj"},
                                    {"-q=1"},          {"--in-place=no"}, {"-j", "many"}, {"--nan="}};
  const auto run = [&](const Words& mistake, const Words& to) {
    Words words = mistake;
    words.emplace_back("--json");  // also ends a mistake that lacks its value
    words.insert(words.end(), to.begin(), to.end());
    CAPTURE(words);
    const Result result = directory.run(words);
    CHECK(result.exit_code == 2);
    return result;
  };
  for (const Words& mistake : mistakes) {
    for (const Words& to : to_stdout) {
      CAPTURE(mistake, to);
      const Result result = run(mistake, to);
      CHECK(result.output.empty());
      const std::size_t second = result.error.find('\n') + 1;
      check_object(result.error.substr(0, second), result.error.substr(second), 2);
    }
    for (const Words& to : elsewhere) {
      CAPTURE(mistake, to);
      const Result result = run(mistake, to);
      check_object(result.output, result.error, 2);
    }
  }
}

TEST_CASE("--json reports a file's failure only once, not again for the run") {
  const WorkingDirectory directory;
  make_files(directory);
  for (const Words& words :
       {clip({"--json", "text.npy", "out.npy"}), clip({"--json", "-i", "x.npy", "text.npy"}),
        clip({"--json", "-i", "-k", "x.npy", "text.npy"}), clip({"--json", "x.npy", "--verify", "text.npy"}),
        Words{"info", "--json", "text.npy"}, Words{"compare", "--json", "x.npy", "text.npy"}}) {
    CAPTURE(words);
    const Result result = directory.run(words);
    CHECK(result.exit_code == 3);
    CHECK(result.error.find('\n') + 1 == result.error.size());
    std::size_t failures = 0;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line);
      CHECK((json.contains("input") || json.contains("actual")));
      failures += json.contains("error") ? 1U : 0U;
    }
    CHECK(failures == 1);
  }
}

TEST_CASE("a run's error keeps its exit status and its line if its JSON cannot be printed") {
  check_refused(run_in_shell("\"$@\" >/dev/full", {"--json", "--unknown"}), 2, "--unknown");
}

}  // namespace clipper::testing
