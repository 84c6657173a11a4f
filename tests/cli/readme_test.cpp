#include <fnmatch.h>

#include "cli/clipper.hpp"

/// Checks the README's claims. tests/install runs its commands for set-up and installation, and its programs.
namespace clipper::testing::readme_test {
namespace {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

std::string readme() {
  return read_file(source_path("README.md"));
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

/// A copy of the project's root with the program in build/, as scripts/run leaves it.
class Reader {
 public:
  Reader() {
    fs::copy(source_path("data"), directory_ / "data", fs::copy_options::recursive);
    for (const char* place : {"build", "scripts"}) fs::create_directory(directory_ / place);
    for (const char* name : {"build/clipper", "scripts/run"})
      fs::create_symlink(fs::absolute(clipper_binary()), directory_ / name);
  }

  /// Runs the command as printed, with the PATH that the first command sets; the output includes standard
  /// error.
  [[nodiscard]] Result run(const std::string& command) const {
    const std::string script =
        "exec 2>&1; set -o pipefail\n" + commands().front().text + "\n" + command + "\n";
    return Process({"bash", "-c", script}, {directory_.path()}).finish();
  }

  [[nodiscard]] std::string file(const std::string& name) const { return read_file(directory_ / name); }

  /// The contents of all files below a directory.
  [[nodiscard]] std::map<std::string, std::string> files(const std::string& below) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / below))
      if (entry.is_regular_file())
        found[fs::relative(entry.path(), directory_ / below)] = read_file(entry.path());
    return found;
  }

  [[nodiscard]] Lines entries() const { return directory_.entries(); }

 private:
  WorkingDirectory directory_;
};

/// Whether .gitignore of the project's root has the name.
bool is_ignored(const std::string& name) {
  return std::ranges::any_of(lines_of(read_file(source_path(".gitignore"))), [&](std::string pattern) {
    if (pattern.ends_with('/')) pattern.pop_back();
    return ::fnmatch(pattern.c_str(), ("/" + name).c_str(), FNM_PATHNAME) == 0;
  });
}

}  // namespace

TEST_CASE("the README has at most 130 lines and 100 columns") {
  const Lines lines = lines_of(readme());
  CHECK(lines.size() <= 130);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
}

TEST_CASE("the README's first example is what clipper does") {
  const Reader reader;
  const Lines example = blocks_of("text");
  REQUIRE(example.size() == 3);
  const std::string first = blocks_of("sh").front();
  CHECK(first.starts_with("scripts/run" + example[1].substr(example[1].find(" --"))));
  for (const std::string& command : {example[1], first}) {
    const Result result = reader.run(command);
    CAPTURE(command, result.output);
    CHECK(result.output.empty());
    CHECK(result.exit_code == 0);
    CHECK(reader.file("data/in.npy") == tensor_in(example[0]));
    CHECK(reader.file("out.npy") == tensor_in(example[2]));
  }
}

TEST_CASE(
    "every command of the README prints what the README shows, and writes only files that git ignores") {
  const Reader reader;
  const auto data = reader.files("data");
  const Lines before = reader.entries();
  const std::vector<Command> all = commands();
  CHECK(all.size() >= 10);
  for (const Command& command : all) {
    const Result result = reader.run(command.text);
    CAPTURE(command.text, result.output);
    CHECK(is_shown_by(lines_of(result.output), command.output));
    if (command.output.empty()) CHECK(result.exit_code == 0);
  }
  CHECK(reader.files("data") == data);
  for (const std::string& name : reader.entries()) {
    CAPTURE(name);
    CHECK((std::ranges::count(before, name) == 1 || is_ignored(name)));
  }
}

TEST_CASE("the README's commands write what their comments say") {
  const Reader reader;
  for (const Command& command : commands()) (void)reader.run(command.text);
  CHECK(reader.file("out.npy") == reader.file("data/golden.npy"));
  CHECK(reader.file("onnx.pb") == "\x08\x06\x10\x01\x4a\x18" + reader.file("data/golden.npy").substr(128));
  CHECK(reader.file("scaled.npy") == float32_file({-0.75F, 1, 1, 1, 1, NAN}));
  CHECK(reader.run("gzip -dc out.npy.gz").output == float32_file({-3.5F, -0.0F, 0.25F, 5.5F, 6, NAN}));
  const auto stretched = [](float x) {
    constexpr double kMin = -3.36F;  // 1% and 99% as float32
    constexpr double kMax = 6.94F;
    return static_cast<float>((x - kMin) / (kMax - kMin));
  };
  CHECK(reader.file("unit.npy") ==
        float32_file({0, stretched(-0.0F), stretched(0.25F), stretched(5.5F), 1, NAN}));
  CHECK(reader.file("u8.npy") == tensor_of<std::uint8_t>("|u1", {68, 99, 101, 148, 162, 0}));
  CHECK(reader.file("in.raw") == float32_file({NAN, -0.0F, 0.25F, 5.5F, 7, NAN}).substr(128));
  CHECK(reader.run("clipper --max inf clipped.npz:w -").output ==
        float32_file({-3.5F, -0.0F, 0.25F, 5.5F, 6, NAN}));
  CHECK(reader.run("clipper compare --bits clipped.npz:b data/in.npz:b").exit_code == 0);
  const std::string images = reader.file("data/images.npy");
  const std::string header = images.substr(0, images.size() - 96 * sizeof(float));
  std::vector<float> bounded;
  std::array<double, 3> sums{};
  std::array<double, 3> squares{};
  for (std::size_t i = 0; i < 96; ++i) {
    constexpr std::array<std::array<float, 2>, 3> kChannels{{{0.1F, 0.9F}, {0.2F, 0.8F}, {0.3F, 0.7F}}};
    const auto& [lo, hi] = kChannels.at(i / 16 % 3);
    const float x = static_cast<float>(i) / 96;
    bounded.push_back(std::clamp(x, lo, hi));
    sums.at(i / 16 % 3) += x;
    squares.at(i / 16 % 3) += static_cast<double>(x) * x;
  }
  CHECK((reader.file("per-channel.npy") == header + bytes_of(bounded)));
  const std::string norm = reader.file("norm.npy").substr(header.size());
  REQUIRE(norm.size() == 96 * sizeof(float));
  for (std::size_t i = 0; i < 96; ++i) {
    float element = 0;
    std::memcpy(&element, norm.data() + i * sizeof element, sizeof element);
    const double mean = sums.at(i / 16 % 3) / 32;
    const double deviation = std::sqrt(squares.at(i / 16 % 3) / 32 - mean * mean);
    CHECK(std::abs(element - (static_cast<float>(i) / 96 - mean) / deviation) < 1e-5);
  }
}

TEST_CASE("the README's directory tree is clipped whole, also by several clippers") {
  const Reader reader;
  for (const Command& command : commands()) (void)reader.run(command.text);
  const auto inputs = reader.files("data/tensors");
  const auto by_xargs = reader.files("clipped/data/tensors");
  CHECK(inputs.size() == 7);
  CHECK(by_xargs.size() == inputs.size());
  CHECK(reader.files("clipped").size() == 2 * inputs.size());
  for (const auto& [name, content] : by_xargs) {
    CAPTURE(name);
    CHECK(inputs.contains(name));
    CHECK(reader.file("clipped/" + name) == content);
  }
  CHECK(by_xargs.at("train/a.npy") == float32_file({0, 1, 1.25F, 6.5F, 8, NAN}));
}

}  // namespace clipper::testing::readme_test
