
#include "cli/clipper.hpp"
#include "cli/no_unnamed_files.hpp"
#include "support/archives.hpp"

/// A set of safetensors files: an index, model.safetensors.index.json, stands for the files that it names.
namespace clipper::testing::safetensors_sets_test {
namespace {

namespace fs = std::filesystem;

/// A safetensors file of one tensor.
std::string file_of(const std::string& name, const std::vector<float>& elements) {
  const std::string data = bytes_of(elements);
  const std::string header = fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})",
                                         name, elements.size(), data.size());
  return zip::little(header.size(), 8) + header + data;
}

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
      directory.write(file(i), file_of(fmt::format("w{}", i), std::vector<float>(2 << 20, 1)));
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

TEST_CASE("a set is finished although what was left of one of its files cannot be removed") {
  const std::string index = kIndex;
  const auto text = [](int total_size) {
    return fmt::format(
        R"({{"metadata":{{"total_size":{}}},"weight_map":{{"a":"1.safetensors","b":"2.safetensors"}}}})",
        total_size);
  };
  const WorkingDirectory directory{
      {"1.safetensors", file_of("a", {1, 2})}, {"2.safetensors", file_of("b", {3})}, {index, text(12)}};
  const Words cast{"--threads", "1", "--to", "bfloat16", "-i", index};
  const Result result = directory.run(cast, [] { be_without(SYS_unlinkat, 0, 0, EIO); });
  CAPTURE(result.error);
  CHECK(result.exit_code == 6);
  CHECK(contains(result.error, "/1.safetensors: complete, but"));
  CHECK(contains(result.error, "/2.safetensors: complete, but"));
  CHECK(directory.read(index) == text(6));
}

}  // namespace clipper::testing::safetensors_sets_test
