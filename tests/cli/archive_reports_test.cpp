#include "cli/clipper.hpp"
#include "support/archives.hpp"

namespace clipper::testing {

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
