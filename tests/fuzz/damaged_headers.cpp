#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clip/clip_command.hpp"
#include "error.hpp"
#include "fuzz/sandbox.hpp"
#include "npy/header.hpp"

/// damaged_headers all|some [BINARY]: clips every prefix of 20 files, and each file with one byte of its
/// header changed: each of the first 256 bytes to all (`all`) or 5 (`some`) other values. With BINARY runs
/// that clipper for each case.
namespace clipper::fuzz {
namespace {

constexpr std::size_t kFlipped = 256;
constexpr std::size_t kVersionAt = 6;
constexpr auto kUnfinished = static_cast<char>(204);  // the version while --direct works on a file

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  require(!bytes.empty(), "the seed can be read", path);
  return bytes;
}

/// The file with a header of version 2.0 or 3.0, which has 4 bytes for the header's length.
std::string in_version(char version, const std::string& file) {
  return file.substr(0, kVersionAt) + version + file.substr(kVersionAt + 1, 3) + std::string(2, '\0') +
         file.substr(10);
}

/// A tensor of zeros with a header from headers.tsv: the row that begins with `columns`.
std::string with_header(const std::string& columns) {
  std::ifstream rows(CLIPPER_DATA_DIR "/headers/headers.tsv");
  for (std::string row; std::getline(rows, row);) {
    if (!row.starts_with(columns + "\t")) continue;
    std::string file;
    for (std::size_t at = row.rfind('\t') + 1; at < row.size(); at += 2)
      file += static_cast<char>(std::stoi(row.substr(at, 2), nullptr, 16));
    const npy::Header header = npy::parse(std::as_bytes(std::span(file)));
    return file + std::string(header.data_size(), '\0');
  }
  require(false, "headers.tsv has the row", columns);
  return "";
}

std::vector<std::string> seeds() {
  const std::string data = CLIPPER_DATA_DIR;
  std::vector<std::string> files{in_version(2, read(data + "/edge/float16.npy")),
                                 in_version(3, read(data + "/edge/uint64.npy"))};
  for (const char* name : {"edge/int8", "edge/int64", "edge/uint8", "edge/float32", "edge/float64",
                           "edge/bfloat16", "bounds/float32-lo", "bounds/int16-hi"})
    files.push_back(read(fmt::format("{}/{}.npy", data, name)));
  const std::string ones = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
  for (const std::string& columns :
       {std::string(">f2\tTrue\t3,4"), std::string(">i4\tFalse\t"), std::string("<u4\tFalse\t7"),
        std::string(">u2\tFalse\t3,4"), std::string(">f8\tTrue\t3,4"), std::string("<f4\tFalse\t0"),
        std::string("<f4\tTrue\t20,3,4"), std::string("<f4\tFalse\t2147483648,0"), "<f4\tFalse\t" + ones,
        "<f4\tFalse\t" + ones + "," + ones + "," + ones + "," + ones})
    files.push_back(with_header(columns));
  return files;
}

/// Copies in.npy to out.npy in the sandbox with clipper, and returns the exit code.
using Program = std::function<int(const Sandbox&)>;

int in_this_process(const Sandbox& sandbox) {
  Command command;
  command.inputs = {sandbox / "in.npy"};
  command.engine.threads = 1;
  try {
    return clip_files(command, way_to(ToFile{sandbox / "out.npy"}));
  } catch (const Error& error) {
    return static_cast<int>(error.kind());
  }
}

int by_binary(const std::string& binary, const Sandbox& sandbox) {
  std::string in = sandbox / "in.npy";
  std::string out = sandbox / "out.npy";
  std::string program = binary;
  std::array<char*, 4> argv{program.data(), in.data(), out.data(), nullptr};
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
  pid_t pid = 0;
  int status = 0;
  const bool started = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  require(started && ::waitpid(pid, &status, 0) == pid, "the program starts", binary);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Whether `out` is a complete file with the same tensor as `in`.
bool is_copy(const std::string& in, const std::string& out) {
  const npy::Header from = npy::parse(std::as_bytes(std::span(in)));
  const npy::Header to = npy::parse(std::as_bytes(std::span(out)));
  return from.dtype == to.dtype && from.order == to.order && from.shape == to.shape &&
         out.substr(to.data_offset) == in.substr(from.data_offset);
}

/// A description of what the program did wrong with a file, or "".
std::string what_is_wrong(const Program& program, const std::string& file, bool truncated) {
  static const Sandbox sandbox;
  sandbox.write("in.npy", file);
  const int exit_code = program(sandbox);
  std::map<std::string, std::string> files = sandbox.files();
  const bool untouched = files["in.npy"] == file;
  files.erase("in.npy");
  if (!files.empty()) sandbox.clear();

  const bool unfinished = !truncated && file[kVersionAt] == kUnfinished;
  const int refusal = static_cast<int>(unfinished ? ErrorKind::refused : ErrorKind::input);
  if (!untouched) return "the input was changed";
  if (exit_code == refusal) return files.empty() ? "" : "a file was left: " + files.begin()->first;
  if (exit_code != 0 || truncated || unfinished)
    return fmt::format("exit code {}, not {}", exit_code, refusal);
  if (files.size() != 1 || !files.contains("out.npy")) return "other files than out.npy were left";
  return is_copy(file, files["out.npy"]) ? "" : "the output is wrong";
}

struct Tally {
  std::size_t cases = 0;
  std::size_t accepted = 0;
  std::size_t violations = 0;
};

void try_seed(const Program& program, const std::string& seed, std::span<const char> masks, Tally& tally) {
  const auto check = [&](const std::string& file, bool truncated, const std::string& damage) {
    ++tally.cases;
    const std::string wrong = what_is_wrong(program, file, truncated);
    if (wrong.empty()) return;
    ++tally.violations;
    fmt::print("{}: {}: {}\n", seed.substr(10, seed.find('}') - 9), damage, wrong);
  };
  for (std::size_t size = 0; size < seed.size(); ++size)
    check(seed.substr(0, size), true, fmt::format("the first {} bytes", size));
  const std::size_t header = npy::parse(std::as_bytes(std::span(seed))).data_offset;
  for (std::size_t at = 0; at < std::min(header, kFlipped); ++at)
    for (const char mask : masks) {
      std::string file = seed;
      file[at] = static_cast<char>(file[at] ^ mask);
      check(file, false, fmt::format("byte {} is {:#04x}", at, static_cast<unsigned char>(file[at])));
    }
}

}  // namespace
}  // namespace clipper::fuzz

int main(int argc, char** argv) try {
  using namespace clipper::fuzz;
  std::vector<char> masks{0x01, 0x02, 0x10, static_cast<char>(0x80), static_cast<char>(0xff)};
  if (argc > 1 && argv[1] == std::string_view("all")) {
    masks.clear();
    for (int mask = 1; mask < 256; ++mask) masks.push_back(static_cast<char>(mask));
  }
  const bool by_program = argc > 2;
  const Program program = by_program ? [&](const Sandbox& sandbox) { return by_binary(argv[2], sandbox); }
                                     : Program(in_this_process);
  Tally tally;
  const std::vector<std::string> files = seeds();
  for (const std::string& file : files) try_seed(program, file, masks, tally);
  fmt::print(R"({{"what": "damaged headers of {} files{}", "cases": {}, "violations": {}}})"
             "\n",
             files.size(), by_program ? ", by the program" : "", tally.cases, tally.violations);
  return tally.violations == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
