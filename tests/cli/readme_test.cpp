#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/clipper.hpp"
#include "support/archives.hpp"
#include "support/lines.hpp"
#include "support/skip.hpp"
#include "support/tensors.hpp"

/// Checks the README's claims. tests/install/run runs the README's set-up commands.
namespace clipper::testing {
namespace {

using Lines = std::vector<std::string>;

std::string readme() {
  return read_file(CLIPPER_DATA_DIR "/../README.md");
}

/// The lines of all fenced blocks in a language.
Lines blocks_of(const std::string& language) {
  Lines found;
  bool inside = false;
  for (const std::string& line : lines_of(readme())) {
    if (line.starts_with("```"))
      inside = line == "```" + language;
    else if (inside)
      found.push_back(line);
  }
  return found;
}

/// A command of a console block, and the lines that the README shows as its output.
struct Command {
  std::string text;
  Lines output;
};

std::vector<Command> commands() {
  std::vector<Command> found;
  for (const std::string& line : blocks_of("console")) {
    if (line.starts_with("$ "))
      found.push_back({line.substr(2), {}});
    else if (line.starts_with("> "))
      found.back().text += "\n" + line.substr(2);
    else
      found.back().output.push_back(line);
  }
  return found;
}

/// The tensor that "in.npy float32 (3,) [1 2.5 nan]" shows.
std::string tensor_in(const std::string& line) {
  std::istringstream numbers(line.substr(line.find('[') + 1));
  std::vector<float> elements;
  for (std::string word; numbers >> word;) elements.push_back(std::stof(word));
  return float32_file(elements);
}

/// Whether `shown` matches: "..." stands for the rest of a line; a line "..." stands for all further lines.
bool is_shown_by(const Lines& actual, const Lines& shown) {
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] == "...") return true;
    if (i == actual.size()) return false;
    const bool cut = shown[i].ends_with("...");
    const std::string start = shown[i].substr(0, shown[i].size() - (cut ? 3 : 0));
    if (cut ? !actual[i].starts_with(start) : actual[i] != start) return false;
  }
  return actual.size() == shown.size();
}

/// A directory with the files that the README's commands name, and with clipper on the PATH.
class Reader {
 public:
  Reader() {
    const Lines example = blocks_of("text");
    REQUIRE(example.size() == 3);
    std::filesystem::create_directories(directory_ / "bin");
    std::filesystem::create_symlink(std::filesystem::absolute(clipper_binary()), directory_ / "bin/clipper");
    std::filesystem::create_directory_symlink(CLIPPER_DATA_DIR, directory_ / "data");
    std::filesystem::create_directories(directory_ / "tensors/train");
    write_file(directory_ / "golden.npy", tensor_in(example[2]));
    for (const char* name : {"in.npy", "a.npy", "b.npy", "tensors/c.npy", "tensors/train/d.npy"})
      write_file(directory_ / name, tensor_in(example[0]));
    write_file(directory_ / "in.npz",
               npz_file({{"w.npy", tensor_in(example[0])}, {"other.npy", tensor_in(example[0])}}));
    for (const char* name : {"lo.npy", "hi.npy", "scale.npy", "bias.npy"})
      write_file(directory_ / name, npy_file("<f4", "False", "(2, 1, 1)", bytes_of<float>({1, 3})));
    write_file(directory_ / "images.npy",
               npy_file("<f4", "False", "(1, 2, 1, 2)", bytes_of<float>({0, 9, 0, 9})));
    has_zstd_ = run("zstd -q in.npy").exit_code == 0;
    if (!has_zstd_) skip_unless_possible("zstd");
  }

  [[nodiscard]] bool can_run(const Command& command) const {
    return has_zstd_ || command.text.find("zstd") == std::string::npos;
  }

  /// Runs the command; the output includes standard error.
  [[nodiscard]] Result run(const std::string& command) const {
    const std::string script = "exec 2>&1; PATH=$PWD/bin:$PATH; set -o pipefail\n" + command;
    return Process({"bash", "-c", script}, {directory_.path()}).finish();
  }

  [[nodiscard]] std::string file(const std::string& name) const { return read_file(directory_ / name); }

 private:
  TemporaryDirectory directory_;
  bool has_zstd_ = false;
};

}  // namespace

TEST_CASE("the README has at most 150 lines and 100 columns") {
  const Lines lines = lines_of(readme());
  CHECK(lines.size() <= 150);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
}

TEST_CASE("the README's first example is what clipper does") {
  const Reader reader;
  const Lines example = blocks_of("text");
  const Result result = reader.run(example[1]);
  CHECK(result.output.empty());
  CHECK(result.exit_code == 0);
  CHECK(reader.file("in.npy") == tensor_in(example[0]));
  CHECK(reader.file("out.npy") == tensor_in(example[2]));
}

TEST_CASE("every command of the README prints what the README shows") {
  const Reader reader;
  const std::vector<Command> all = commands();
  CHECK(all.size() >= 10);
  for (const Command& command : all) {
    if (!reader.can_run(command)) continue;
    const Result result = reader.run(command.text);
    CAPTURE(command.text, result.output);
    CHECK(is_shown_by(lines_of(result.output), command.output));
    if (command.output.empty()) CHECK(result.exit_code == 0);
  }
}

TEST_CASE("the README's commands write what their comments say") {
  const Reader reader;
  for (const Command& command : commands())
    if (reader.can_run(command)) (void)reader.run(command.text);
  CHECK(reader.file("out.npy") == reader.file("golden.npy"));
  CHECK(reader.file("onnx.npy") == reader.file("golden.npy"));
  CHECK(reader.file("a.npy") == float32_file({-1, -0.0F, 0.25F, 1, 1, NAN}));
  CHECK(reader.file("scaled.npy") == float32_file({-0.75F, 1, 1.125F, 3.75F, 4.5F, NAN}));
  CHECK(reader.file("per-channel.npy") ==
        npy_file("<f4", "False", "(1, 2, 1, 2)", bytes_of<float>({1, 1, 3, 3})));
  CHECK(reader.file("norm.npy") == npy_file("<f4", "False", "(1, 2, 1, 2)", bytes_of<float>({1, 10, 3, 30})));
  CHECK(reader.file("inliers.npy") == float32_file({-3.36F, -0.0F, 0.25F, 5.5F, 6.94F, NAN}));
  CHECK(reader.file("clipped.npz") == npz_file({{"w.npy", float32_file({-3.5F, -0.0F, 0.25F, 5.5F, 6, NAN})},
                                                {"other.npy", reader.file("in.npy")}}));
  CHECK(reader.file("clipped/train/d.npy") == float32_file({0, -0.0F, 0.25F, 5.5F, 7, NAN}));
}

}  // namespace clipper::testing
