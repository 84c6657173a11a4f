#include "info/info_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "command_line/choices.hpp"
#include "command_line/command_line.hpp"
#include "command_line/given_number.hpp"
#include "console/error_line.hpp"
#include "console/terminal.hpp"
#include "contract/plan.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "info/info_report.hpp"
#include "statistics/tensor_statistics.hpp"

namespace clipper {
namespace {

constexpr const char* kDescription =
    "Prints dtype, shape, memory order and size of .npy tensors, and with --stats what is in them.";

constexpr const char* kFooter = R"(
Examples:
  clipper info x.npy                           reads only the header
  clipper info --stats *.npy                   min, max and mean without NaN, the mean without infinities
  clipper info --min 0 --max 6 x.npy           what a clip would change

Exit status:
  as of clipper, the highest of all files; each that cannot be read is a line on standard error
)";

struct Typed {
  std::vector<std::string> files;
  std::string min;
  std::string max;
  std::string dtype;
  std::string trailing;
  std::string threads;
  bool stats = false;
  bool json = false;
};

void add_options(CLI::App& app, Typed& typed) {
  app.description(kDescription);
  app.footer(kFooter);
  app.add_option("FILES", typed.files, "Any number of .npy files; - is standard input")->type_name("");
  app.add_flag("--stats", typed.stats, "Read the elements: min, max, mean, NaN, infinities, histogram");
  app.add_option("--min", typed.min, "How many elements are less than X; implies --stats")->type_name("X");
  app.add_option("--max", typed.max, "How many elements are greater than X; implies --stats")->type_name("X");
  app.add_flag("--json", typed.json, "As JSON: one object in a line for each file");
  CLI::Option* const dtype =
      app.add_option("--dtype", typed.dtype, "The dtype; needed for bfloat16 that was saved as |V2");
  dtype->type_name("DTYPE");
  suggest(*dtype, dtype_names());
  add_trailing(app, typed.trailing);
  app.add_option("--threads", typed.threads, "At most N threads (default: as many as may run)")
      ->type_name("N");
}

/// What was typed, understood.
struct InfoCommand {
  std::vector<std::string> inputs;
  bool statistics = false;
  bool json = false;
  Request bounds;
  std::optional<DType> dtype;
  bool ignore_trailing = false;
  Engine::Options engine;
};

InfoCommand understood(const CLI::App& app, const Typed& typed) {
  InfoCommand command;
  if (typed.files.empty()) throw Error(ErrorKind::usage, "a FILE is missing (clipper info --help says more)");
  for (const std::string& file : typed.files)
    if (file.empty()) throw Error(ErrorKind::usage, "a FILE is named '' (an empty variable?)");
  command.inputs = typed.files;
  command.json = typed.json;
  if (app.count("--min") > 0) command.bounds.min = parse_given("--min", typed.min);
  if (app.count("--max") > 0) command.bounds.max = parse_given("--max", typed.max);
  command.statistics = typed.stats || command.bounds.min || command.bounds.max;
  if (app.count("--dtype") > 0) command.dtype = parse_dtype(typed.dtype);
  if (app.count("--trailing") > 0) command.ignore_trailing = parse_trailing(typed.trailing);
  if (app.count("--threads") > 0) command.engine.threads = parse_threads(typed.threads);
  return command;
}

TensorInfo inspect(const InfoCommand& command, Engine& engine, const std::string& path) {
  InputFile input = InputFile::open(path);
  if (command.ignore_trailing) input.ignore_trailing();
  std::vector<std::byte> header_bytes;
  TensorInfo tensor;
  tensor.input = path;
  tensor.header = read_header(input, command.dtype, &header_bytes);
  tensor.version_major = std::to_integer<int>(header_bytes[npy::kVersionAt]);
  tensor.version_minor = std::to_integer<int>(header_bytes[npy::kVersionAt + 1]);
  if (!command.statistics) return tensor;

  const npy::Header& header = tensor.header;
  with_path(input.path(), [&] {
    tensor.min = min_limit(command.bounds, header.dtype);
    tensor.max = max_limit(command.bounds, header.dtype);
  });
  tensor.statistics = read_statistics(engine, input, header, tensor.min, tensor.max);
  return tensor;
}

int show_all(const InfoCommand& command) {
  const std::size_t width = terminal_columns(STDOUT_FILENO);
  Engine engine(command.engine);
  int status = 0;
  bool first = true;
  for (const std::string& path : command.inputs) {
    std::string text;
    try {
      const TensorInfo tensor = inspect(command, engine, path);
      text = command.json ? as_json(tensor) : (first ? "" : "\n") + as_text(tensor, width);
      first = false;
    } catch (...) {
      const Failure failure = explained(std::current_exception());
      status = std::max(status, static_cast<int>(failure.kind));
      std::fputs(line_of(failure).c_str(), stderr);
      if (command.json) text = as_json(path, failure);
    }
    print(text);
  }
  return status;
}

}  // namespace

int show_info(const Parse& parse) {
  CLI::App app("", "clipper info");
  Typed typed;
  add_options(app, typed);
  return parse(app) ? show_all(understood(app, typed)) : 0;
}

}  // namespace clipper
