#include <nlohmann/json.hpp>

#include "cli/safetensors_files.hpp"

/// A set of safetensors files: an index, model.safetensors.index.json, stands for the files that it names.
namespace clipper::testing::safetensors_sets_test {
namespace {

namespace fs = std::filesystem;

const std::string kIndex = "model.safetensors.index.json";
constexpr int kFiles = 4;

std::string file(int number) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", number, kFiles);
}

Words cast(const Words& more) {
  return joined({"--to", "bfloat16"}, more);
}

}  // namespace

TEST_CASE("a run that was killed has no index and no half file, and --skip-existing finishes it") {
  for (int round = 0; round < 3; ++round) {
    const WorkingDirectory directory;
    nlohmann::json index{{"metadata", {{"total_size", 0}}}};
    for (int i = 1; i <= kFiles; ++i) {
      directory.write(file(i), file_of({{fmt::format("w{}", i), "F32", std::string(8 << 20, '\1')}}));
      index["weight_map"][fmt::format("w{}", i)] = file(i);
    }
    directory.write(kIndex, index.dump());
    directory.done(cast({kIndex, "--output-dir", "whole"}));
    Process process(clipper_words(cast({"--json", "-j", "1", kIndex, "--output-dir", "out"})),
                    {directory.path()});
    process.wait_for_output_or_end();
    process.send(SIGKILL);
    const bool was_killed = process.finish().signal == SIGKILL;
    CHECK(fs::exists(directory / ("out/" + kIndex)) == !was_killed);
    for (int i = 1; i <= kFiles; ++i)
      if (fs::exists(directory / ("out/" + file(i))))
        CHECK((directory.read("out/" + file(i)) == directory.read("whole/" + file(i))));
    if (round == 2) directory.write("out/" + kIndex, directory.read(kIndex));
    directory.done(cast({"-q", kIndex, "--output-dir", "out", "--skip-existing"}));
    for (const std::string& name : {kIndex, file(1), file(2), file(3), file(4)})
      CHECK((directory.read("out/" + name) == directory.read("whole/" + name)));
    const auto before = directory.snapshot();
    const Result again = directory.run(cast({"-v", kIndex, "--output-dir", "out", "--skip-existing"}));
    CHECK(contains(again.error, "clipper: 5 files: 0 clipped, 5 skipped\n"));
    CHECK(directory.snapshot() == before);
    directory.write("out/" + kIndex, directory.read(kIndex));  // of the inputs
    directory.done(cast({"-q", kIndex, "--output-dir", "out", "--skip-existing"}));
    CHECK(directory.read("out/" + kIndex) == directory.read("whole/" + kIndex));
  }
}

}  // namespace clipper::testing::safetensors_sets_test
