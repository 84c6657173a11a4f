#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <span>

#include "clip/clip_job.hpp"
#include "clip/clip_option_table.hpp"
#include "clip/clip_options.hpp"
#include "command_line/command_line.hpp"
#include "error.hpp"
#include "fuzz/sandbox.hpp"
#include "npy/header.hpp"
#include "support/tensors.hpp"

/// The input is words of a command line, each with a NUL after it, then an empty word, then the bytes of both
/// in.npy and standard input. old.npy exists already. Words that could name files outside the sandbox are
/// dropped.
///
/// Words of a command line and a file -> parse, validate_clip, run_clip. A failure with one input leaves
/// the directory unchanged. Otherwise all files are untouched or complete, and no temporary file is left
/// libFuzzer tries arguments and files: -max_len=512 -dict=program.dict -close_fd_mask=2
/// torture: 5000 | 100000 | 10000000
/// torture program_afl: - | 100000 | 1000000
namespace clipper::fuzz {
namespace {

std::vector<std::string> take_words(std::string_view& input) {
  std::vector<std::string> words{"clipper"};
  for (bool more = true; more && !input.empty();) {
    const std::string word(input.substr(0, input.find('\0')));
    input.remove_prefix(std::min(word.size() + 1, input.size()));
    more = !word.empty();
    const bool stays_inside = word.find('/') == std::string::npos && word.find("..") == std::string::npos &&
                              !word.starts_with("--files");
    if (more && stays_inside) words.push_back(word);
  }
  return words;
}

/// Makes the bytes standard input. Must be repeated for each run, because a run reads standard input to its
/// end.
void give_as_standard_input(std::string_view bytes) {
  const Descriptor file(::memfd_create("stdin", MFD_CLOEXEC));
  const bool written = ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  require(written && ::lseek(file.get(), 0, SEEK_SET) == 0, "standard input can be written");
  require(::dup2(file.get(), STDIN_FILENO) == STDIN_FILENO, "standard input can be replaced");
}

/// Runs clipper. Returns whether it succeeded; it may throw nothing but Error. `single` is set if there is
/// one input.
bool run(const std::vector<std::string>& words, bool& single) {
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    const std::optional<RawOptions> raw = parse({kClipSpec, argv});
    if (!raw) return true;
    Command command = validate_clip(*raw);
    single = command.inputs.size() == 1;
    command.engine.threads = 1;
    command.engine.chunk_size = std::min<std::size_t>(command.engine.chunk_size, 1 << 16);
    return run_clip(command) == 0;
  } catch (const Error& error) {
    require(error.what() != std::string(), "an error has a message");
    return false;
  }
}

bool is_complete(const std::string& file) {
  try {
    const auto bytes = std::as_bytes(std::span(file));
    const std::optional<DType> opaque =
        file.substr(0, npy::data_offset(bytes)).find("'|V2'") == std::string::npos
            ? std::nullopt
            : std::optional(DType::bfloat16);
    const npy::Header header = npy::parse(bytes, opaque);
    return file.size() == header.data_offset + header.data_size();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

/// Runs a command line in the sandbox and checks the files afterwards. Standard output is /dev/null.
void try_program(std::string_view input) {
  static const Sandbox sandbox;
  static const bool inside =
      ::chdir(sandbox.path().c_str()) == 0 &&
      ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO) == STDOUT_FILENO;
  require(inside, "the sandbox becomes the working directory");
  const std::vector<std::string> words = take_words(input);
  sandbox.write("in.npy", input);
  sandbox.write("old.npy", testing::float32_file({1}));
  give_as_standard_input(input);
  const std::map<std::string, std::string> before = sandbox.files();

  bool single = true;
  const bool done = run(words, single);
  const std::map<std::string, std::string> after = sandbox.files();
  require(done || !single || after == before, "a failure with one input changes no file");
  for (const auto& [name, bytes] : before) require(after.contains(name), "no file is removed", name);
  for (const auto& [name, bytes] : after) {
    require(name.find(".clipper-") == std::string::npos, "no temporary file is left", name);
    const auto old = before.find(name);
    const bool untouched = old != before.end() && old->second == bytes;
    require(untouched || is_complete(bytes), "every file is unchanged or a complete tensor", name);
  }
  sandbox.clear();
}

}  // namespace clipper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  clipper::fuzz::try_program({reinterpret_cast<const char*>(data), size});
  return 0;
}
