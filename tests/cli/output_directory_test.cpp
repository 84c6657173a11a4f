#include "cli/numbered.hpp"

namespace clipper::testing {
namespace {

Words clip_into(const std::string& directory, const Words& files) {
  return joined({"--min", "0", "--max", "6", "--output-dir", directory}, files);
}

}  // namespace

TEST_CASE("many small and large files are clipped alike with any number of threads") {
  const WorkingDirectory directory;
  std::filesystem::create_directory(directory / "in");
  Words files;
  for (int i = 0; i < 300; ++i) {
    files.push_back(fmt::format("in/{}.npy", i));
    directory.write(files.back(), input(i));
  }
  const std::vector<float> large = scattered_floats(300'000);
  files.emplace_back("in/large.npy");
  directory.write(files.back(), float32_file(large));
  for (const char* threads : {"1", "2", "7"}) {
    CAPTURE(threads);
    Words words = clip_into("out", files);
    words.insert(words.end(), {"--threads", threads});
    directory.done(words);
    for (int i = 0; i < 300; ++i) CHECK(directory.read(fmt::format("out/in/{}.npy", i)) == output(i));
    CHECK((directory.read("out/in/large.npy") == float32_file(clipped(large, 0, 6))));
    std::filesystem::remove_all(directory / "out");
  }
}

}  // namespace clipper::testing
