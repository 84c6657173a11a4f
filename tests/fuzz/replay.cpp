#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

/// Runs the fuzz target that is linked with this file on stored inputs: TARGET_replay FILE..., one input per
/// line, with Python's escapes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

/// Replaces the escapes \\ \n \r \t \xNN.
std::string unescaped(std::string_view line) {
  std::string bytes;
  while (!line.empty()) {
    const std::size_t length = !line.starts_with('\\') ? 1 : line.starts_with("\\x") ? 4 : 2;
    const std::string escape(line.substr(0, length));
    line.remove_prefix(escape.size());
    switch (length == 2 ? escape.back() : '\0') {
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case 't': bytes += '\t'; break;
      default:
        bytes += length == 4 ? static_cast<char>(std::stoi(escape.substr(2), nullptr, 16)) : escape.back();
    }
  }
  return bytes;
}

std::size_t replay(const char* path) {
  std::ifstream file(path);
  std::size_t inputs = 0;
  for (std::string line; std::getline(file, line); ++inputs) {
    const std::string input = unescaped(line);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::size_t inputs = replay(argv[i]);
    std::printf("%s: %zu inputs, 0 violations\n", argv[i], inputs);
    if (inputs == 0) return 1;
  }
  return argc > 1 ? 0 : 2;
}
