#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"
#include "support/archives.hpp"

namespace clipper::testing {
namespace {

using Json = nlohmann::ordered_json;

Words clip_json(const Words& more) {
  Words words = clip(more);
  words.insert(words.begin(), "--json");
  return words;
}

/// The objects in the lines, without `seconds`, which differs between runs.
std::vector<Json> parsed(const std::string& lines) {
  std::vector<Json> objects;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    objects.push_back(Json::parse(line));
    if (objects.back().contains("summary")) {
      objects.pop_back();
      continue;
    }
    CHECK(objects.back().at("seconds").is_number());
    objects.back().erase("seconds");
  }
  return objects;
}

const std::vector<float> kElements{-1, 0.5F, 9, 7, std::numeric_limits<float>::quiet_NaN()};
const std::string kInput = float32_file(kElements);

Json expected(const char* to) {
  Json object = Json::parse(R"({
    "version": 2, "input": "x.npy", "output": "", "status": 0, "written": true, "dry_run": false,
    "resumed": false, "profile": "native", "dtype": "float32", "shape": [5], "fortran_order": false,
    "byte_order": "little", "elements": 5, "bytes": 20, "min": 0, "max": 6, "raised": 1, "lowered": 2,
    "nan": 1, "changed": true})");
  object["output"] = to;
  return object;
}

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
    {{"profiles", "--json", "--min", "0"}, 2},
    {{"profiles", "--json", "missing.npy"}, 4},
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

TEST_CASE("a standard output that cannot be written is one line, also for members of archives") {
  const WorkingDirectory directory{{"x.npy", kInput}, {"a.npz", npz_file({{"x.npy", kInput}})}};
  for (const Words& words : {Words{"info", "x.npy"}, Words{"info", "--json", "x.npy"},
                             Words{"info", "--json", "a.npz"}, Words{"compare", "--json", "x.npy", "x.npy"},
                             Words{"compare", "--json", "a.npz", "a.npz"}, Words{"show", "x.npy"}}) {
    CAPTURE(words);
    const Result result = directory.run_in_shell("\"$@\" >/dev/full", words);
    check_refused(result, 4, "standard output: ");
    CHECK(std::ranges::count(result.error, '\n') == 1);
  }
}

TEST_CASE("--json prints one line per file with all results") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const auto run = [&](const Words& words) {
    const Result result = directory.run(clip_json(words));
    check_done(result);
    return parsed(result.output);
  };
  CHECK(run({"x.npy", "out.npy"}) == std::vector{expected("out.npy")});
  CHECK(run({"x.npy", "-o", "new/{name}"}) == std::vector{expected("new/x.npy")});
  Json dry = expected("out.npy");
  dry["written"] = false;
  dry["dry_run"] = true;
  CHECK(run({"--dry-run", "x.npy", "out.npy"}) == std::vector{dry});
  needs_posix("to replace an open file");
  CHECK(run({"-i", "x.npy"}) == std::vector{expected("x.npy")});
  Json again = expected("x.npy");
  again["written"] = again["changed"] = false;
  again["raised"] = again["lowered"] = 0;
  CHECK(run({"-i", "x.npy"}) == std::vector{again});
  directory.write("x.npy", kInput);
  CHECK(run({"-i", "--direct", "x.npy"}) == std::vector{expected("x.npy")});
}

TEST_CASE("--json prints exactly this line") {
  const WorkingDirectory directory{
      {"x.npy", npy_file("<f2", "False", "(3,)", {"\x00\x80\x66\x2e\x00\x7c", 6})}};
  const auto line = [&](const Words& words) {
    const Result result = directory.run(words);
    check_done(result);
    return result.output.substr(0, result.output.rfind(",\"seconds\":"));
  };
  CHECK(line({"--json", "--min", "-0.0", "--max", "0.1", "x.npy", "out.npy"}) ==
        R"({"version":2,"input":"x.npy","output":"out.npy","status":0,"written":true,"dry_run":false,)"
        R"("resumed":false,"profile":"native","dtype":"float16","shape":[3],"fortran_order":false,)"
        R"("byte_order":"little","elements":3,"bytes":6,"min":-0.0,"max":0.1,"raised":0,"lowered":1,"nan":0,)"
        R"("changed":true)");
  CHECK(
      line({"info", "--json", "--min", "1e-400", "--max", "1e400", "x.npy"}) ==
      R"({"version":2,"input":"x.npy","status":0,"npy_version":"1.0","dtype":"float16","byte_order":"little",)"
      R"("shape":[3],"fortran_order":false,"elements":3,"header_bytes":128,"bytes":6,)"
      R"("commands":["clip","compare","info","show"],"statistics":)"
      R"({"min":-0.0,"max":"inf","mean":0.04998779296875,"standard_deviation":0.04998779296875,"median":0.1,)"
      R"("percentiles":[],"nan":0,"positive_infinity":1,"negative_infinity":0,)"
      R"("histogram":{"edges":[0,0.0078125,0.015625,0.0234375,0.03125,0.0390625,0.046875,0.0546875,0.0625,)"
      R"(0.0703125,0.078125,0.0859375,0.09375,0.1015625],"counts":[1,0,0,0,0,0,0,0,0,0,0,0,1]},)"
      R"("bounds":{"min":"1e-400","max":"1e+400","below":1,"above":1}}})"
      "\n");
}

TEST_CASE("--json goes to standard error when the tensor goes to standard output") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  for (const Words& words : {Words{"x.npy", "-"}, Words{"x.npy", "-o", "-"}}) {
    const Result result = directory.run(clip_json(words));
    CHECK(result.exit_code == 0);
    CHECK(result.output.size() == kInput.size());
    CHECK(parsed(result.error) == std::vector{expected("-")});
  }
}

TEST_CASE("--json goes to standard error when OUT is another name of standard output") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  if (!has_proc()) return skip_without("/proc");
  for (const Words& words : {Words{"x.npy", "/proc/self/fd/1"}, Words{"x.npy", "-o", "/proc/self/fd/1"}}) {
    const Result result = directory.run(clip_json(words));
    CHECK(result.exit_code == 0);
    CHECK(result.output.size() == kInput.size());
    CHECK(parsed(result.error) == std::vector{expected("/proc/self/fd/1")});
  }
  CHECK(directory.run(clip_json({"nope.npy", "/proc/self/fd/1"})).output.empty());
  CHECK(directory.run(clip_json({"x.npy", "/proc/self/fd/1", "--bogus"})).output.empty());
}

TEST_CASE("--json reports failures") {
  const WorkingDirectory directory{{"x.npy", kInput}, {"bad.npy", "bad"}};
  const Result one = directory.run(clip_json({"bad.npy", "out.npy"}));
  CHECK(one.exit_code == 3);
  const std::vector<Json> line = parsed(one.output);
  REQUIRE(line.size() == 1);
  CHECK(line[0].at("status") == 3);
  CHECK(line[0].at("input") == "bad.npy");
  CHECK(line[0].at("written") == false);
  CHECK_FALSE(line[0].contains("dtype"));
  CHECK(one.error == "clipper: " + line[0].at("error").get<std::string>() + "\n");

  const Result many = directory.run(clip_json({"-k", "--output-dir", "out", "bad.npy", "x.npy"}));
  CHECK(many.exit_code == 3);
  const std::vector<Json> lines = parsed(many.output);
  CHECK(many.output.ends_with(
      "{\"version\":2,\"summary\":true,\"status\":3,\"files\":2,\"ok\":1,\"failed\":1,\"other\":0}\n"));
  CHECK(contains(many.error, "\nclipper: 2 files: 1 clipped, 1 failed\n") == false);  // JSON has it
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("input") == "bad.npy");
  CHECK(lines[1] == expected("out/x.npy"));

  const Result clipped = directory.run(clip_json({"--fail-if-clipped", "1%", "x.npy", "out.npy"}));
  CHECK(clipped.exit_code == 1);
  const std::vector<Json> different = parsed(clipped.output);
  REQUIRE(different.size() == 1);
  CHECK(different[0].at("status") == 1);
  CHECK(different[0].at("lowered") == 2);
}

TEST_CASE("--json prints integers beyond 2^53 as strings and names as UTF-8") {
  const WorkingDirectory directory{{"\xff\n.npy", npy_file(">i8", "True", "(1, 1)", std::string(8, '\0'))}};
  const Result result = directory.run({"--json", "--max", "9007199254740993", "\xff\n.npy", "o.npy"});
  check_done(result);
  const Json line = parsed(result.output).at(0);
  CHECK(line.at("input") == "\xef\xbf\xbd\n.npy");
  CHECK(line.at("max") == "9007199254740993");
  CHECK(line.at("min") == "-9223372036854775808");
  CHECK(line.at("byte_order") == "big");
  CHECK(line.at("fortran_order") == true);
  CHECK(line.at("shape") == Json{1, 1});
}

TEST_CASE("an unwritable --json line is an error, and the result stays in place") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const Result result = directory.run_in_shell("\"$@\" >/dev/full", clip_json({"-i", "x.npy"}));
  check_refused(result, 6, "standard output: cannot write the lines of --json: No space left on device");
  CHECK((directory.read("x.npy") != kInput));
  directory.write("x.npy", kInput);
  check_refused(directory.run_in_shell("\"$@\" >/dev/full", clip_json({"--dry-run", "-i", "x.npy"})), 4,
                "standard output");
}

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
    const Result result = run_clipper(mistake.words, {directory.path()});
    CHECK(result.output.empty());
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
      CHECK((json.contains("input") || json.contains("actual") || json.contains("summary")));
      failures += json.contains("error") ? 1U : 0U;
    }
    CHECK(failures == 1);
  }
}

TEST_CASE("a run's error keeps its exit status and its line if its JSON cannot be printed") {
  check_refused(run_in_shell("\"$@\" >/dev/full", {"--json", "--unknown"}), 2, "--unknown");
}

}  // namespace clipper::testing
