#include <nlohmann/json.hpp>

#include "cli/archive_samples.hpp"

/// What -v, --dry-run and --json print about archives.
namespace clipper::testing {
namespace {

using Json = nlohmann::ordered_json;

/// The objects in the lines, without `seconds`, which differs between runs.
std::vector<Json> parsed(const std::string& lines) {
  std::vector<Json> objects;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    objects.push_back(Json::parse(line));
    CHECK(objects.back().at("seconds").is_number());
    objects.back().erase("seconds");
  }
  return objects;
}

/// What every line about a.npz begins with.
Json start(const char* output, bool written, bool dry_run) {
  return {{"version", 2},     {"input", "a.npz"},    {"output", output},
          {"status", 0},      {"written", written},  {"dry_run", dry_run},
          {"resumed", false}, {"profile", "native"}, {"request", {{"min", 0}, {"max", 6}}}};
}

/// The lines about mixed_archive().
std::vector<Json> expected(const Json& start) {
  std::vector<Json> lines(4, start);
  lines[0].update(Json::parse(R"({
    "member": "w.npy", "action": "clipped", "dtype": "float32", "shape": [3], "fortran_order": false,
    "byte_order": "little", "elements": 3, "bytes": 12, "min": 0, "max": 6, "raised": 1, "lowered": 1,
    "nan": 0, "changed": true})"));
  lines[1].update({{"member", "mask.npy"}, {"action", "copied"}, {"reason", "bool"}});
  lines[2].update(lines[0]);
  lines[2].update({{"member", "b.npy"}, {"dtype", "int32"}});
  lines[3].update({{"member", "note.txt"}, {"action", "copied"}, {"reason", "not .npy"}});
  return lines;
}

class Directory : public WorkingDirectory {
 public:
  Directory() { write("a.npz", mixed_archive()); }

  [[nodiscard]] std::vector<Json> json(Words words) const {
    words.insert(words.begin(), "--json");
    const Result result = run(clip(words));
    check_done(result);
    return parsed(result.output);
  }
};

}  // namespace

TEST_CASE("-v and --dry-run print a line for each member and one for the archive") {
  const Directory directory;
  const std::string members =
      "clipper: a.npz:w: clipped 66.7 % (33.3 % raised, 33.3 % lowered), 0 NaN\n"
      "clipper: a.npz:mask: copied (bool)\n"
      "clipper: a.npz:b: clipped 66.7 % (33.3 % raised, 33.3 % lowered), 0 NaN\n"
      "clipper: a.npz:note.txt: copied (not .npy)\n"
      "clipper: a.npz: 2 members clipped, 2 copied";
  const std::string plans =
      "clipper: a.npz:w: float32 (3,), little-endian, C order, min 0, max 6, profile native\n"
      "clipper: a.npz:b: int32 (3,), little-endian, C order, min 0, max 6, profile native\n";
  CHECK(directory.run(clip({"--dry-run", "a.npz", "out.npz"})).error ==
        members + "; would be written to out.npz\n");
  CHECK(directory.run(clip({"--dry-run", "-i", "a.npz"})).error == members + "; would be replaced\n");
  CHECK(directory.run(clip({"-v", "a.npz", "out.npz"})).error == plans + members + "\n");
  needs_posix("to replace an open file");
  CHECK(directory.run(clip({"-v", "-i", "a.npz"})).error == plans + members + "\n");
  CHECK(
      directory.run(clip({"-v", "-i", "a.npz"}))
          .error.ends_with("clipper: a.npz: 2 members clipped, 2 copied; nothing changes, not rewritten\n"));
  CHECK(directory.run(clip({"-v", "--other", "drop", "--member", "b", "a.npz", "out.npz"}))
            .error.ends_with("clipper: a.npz:w: dropped (not chosen)\n"
                             "clipper: a.npz:mask: dropped (not chosen)\n"
                             "clipper: a.npz:b: clipped 0 % (0 % raised, 0 % lowered), 0 NaN\n"
                             "clipper: a.npz:note.txt: dropped (not chosen)\n"
                             "clipper: a.npz: 1 member clipped, 3 dropped\n"));
  CHECK(directory.run(clip({"--dry-run", "-i", "a.npz"}))
            .error.ends_with("; nothing changes, not rewritten\n"));
  CHECK(directory.run(clip({"--dry-run", "-i", "--other", "drop", "a.npz"}))
            .error.ends_with(
                "clipper: a.npz: 2 members clipped, 2 dropped (bool, not .npy); would be replaced\n"));
  directory.write("empty.npz", npz_file({}));
  CHECK(directory.run(clip({"-v", "empty.npz", "out.npz"})).error == "clipper: empty.npz: no members\n");
}

TEST_CASE("--json prints one line per member, in the archive's order") {
  const Directory directory;
  CHECK(directory.json({"a.npz", "out.npz"}) == expected(start("out.npz", true, false)));
  CHECK(directory.json({"--dry-run", "a.npz", "out.npz"}) == expected(start("out.npz", false, true)));
  CHECK(directory.json({"--output-dir", "new", "a.npz"}) == expected(start("new/a.npz", true, false)));
  needs_posix("to replace an open file");
  CHECK(directory.json({"-i", "a.npz"}) == expected(start("a.npz", true, false)));
  std::vector<Json> again = expected(start("a.npz", false, false));
  for (const std::size_t clipped : {0U, 2U}) {
    again[clipped]["raised"] = again[clipped]["lowered"] = 0;
    again[clipped]["changed"] = false;
  }
  CHECK(directory.json({"-i", "a.npz"}) == again);
}

TEST_CASE("names of members are printed as they are, and as JSON strings") {
  const WorkingDirectory directory;
  const Words names{"{}", "%s", "../x", "a:b", "quote\"\\", "\xc3\xa9"};
  std::vector<NpzMember> members;
  for (const std::string& name : names) members.push_back({name + ".npy", input(1)});
  directory.write("a.npz", npz_file(members));
  const Result result = directory.run(clip({"--json", "-v", "a.npz", "out.npz"}));
  CHECK(result.exit_code == 0);
  const std::vector<Json> lines = parsed(result.output);
  REQUIRE(lines.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(lines[i].at("member") == names[i] + ".npy");
    CHECK(contains(result.error, "\nclipper: a.npz:" + names[i] + ": clipped 66.7 %"));
  }
  CHECK(directory.entries() == std::vector<std::string>{"a.npz", "out.npz"});
}

TEST_CASE("unwritable lines about members are an error, and the archive stays in place") {
  const Directory directory;
  check_refused(directory.run_in_shell("\"$@\" >/dev/full", clip({"--json", "-i", "a.npz"})), 6,
                "standard output");
  CHECK(directory.read("a.npz") == mixed_result());
}

TEST_CASE("all lines about 65,536 members are printed, in order") {
  const WorkingDirectory directory;
  constexpr std::size_t kCount = 65'536;
  std::vector<NpzMember> members;
  const std::string tensor = npy_file("|i1", "False", "()", std::string(1, '\x7F'), 16);
  for (std::size_t i = 0; i < kCount; ++i) members.push_back({std::to_string(i) + ".npy", tensor});
  directory.write("a.npz", npz_file(members));
  // Not run_clipper(): json_output.py would validate all lines.
  const Result result =
      Process(clipper_words(clip({"--json", "--dry-run", "a.npz", "out.npz"})), {directory.path()}).finish();
  check_done(result);
  std::istringstream lines(result.output);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    if (line.find("\"member\":\"" + std::to_string(count) +
                  ".npy\",\"action\":\"clipped\",\"dtype\":\"int8\"") == std::string::npos ||
        line.find("\"lowered\":1,") == std::string::npos)
      FAIL(line);
  CHECK(count == kCount);
}

}  // namespace clipper::testing
