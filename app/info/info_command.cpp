#include "info/info_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/tensor_tree.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"
#include "console/file_tally.hpp"
#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "contract/plan.hpp"
#include "engine/engine.hpp"
#include "engine/tensor_percentiles.hpp"
#include "engine/tensor_statistics.hpp"
#include "error.hpp"
#include "info/info_options.hpp"
#include "info/info_report.hpp"

namespace clipper {
namespace {

/// Reads the median and the percentiles that the command asks for, of a file.
void add_percentiles(const InfoCommand& command, Engine& engine, InputFile& input, TensorInfo& tensor) {
  std::vector<Number> percentages{50};
  percentages.insert(percentages.end(), command.percentages.begin(), command.percentages.end());
  const auto values = read_percentiles(engine, input, tensor.header, percentages);
  tensor.median = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) tensor.percentiles.push_back({percentages[i], values[i]});
}

TensorInfo inspect(const InfoCommand& command, Engine& engine, const std::string& path, FileTally& tally) {
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
  tally.expect(header.data_size());
  with_path(input.path(), [&] {
    tensor.min = min_limit(command.bounds, header);
    tensor.max = max_limit(command.bounds, header);
  });
  tensor.is_file = input.is_regular();
  if (tensor.is_file)
    add_percentiles(command, engine, input, tensor);
  else if (!command.percentages.empty())
    throw Error(ErrorKind::usage,
                input.path() + ": must be a file, not a stream: for --percentile it needs to be read twice");
  tensor.statistics = read_statistics(engine, input, header, tensor.min, tensor.max);
  return tensor;
}

std::vector<std::uint64_t> sizes_of(const InfoCommand& command) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& path : command.inputs)
    sizes.push_back(command.statistics ? expected_bytes(path) : 0);
  return sizes;
}

/// Replaces each directory among the inputs by the .npy files below it, sorted by path. Returns the exit
/// status of directories that cannot be read.
int expand_directories(InfoCommand& command) {
  int status = 0;
  TensorWalk walk;
  walk.failed = [&](const std::string& path) {
    const Failure failure = explained(std::current_exception());
    status = std::max(status, static_cast<int>(failure.kind));
    std::fputs(line_of(failure).c_str(), stderr);
    if (command.json) print(as_json(path, failure));
  };
  std::vector<std::string> files;
  for (const std::string& input : command.inputs) {
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    if (input == "-" || !is_directory(input))
      files.push_back(input);
    else
      for_each_tensor(input, walk, [&](const std::string& path) { files.push_back(path); });
    std::sort(files.begin() + first, files.end());
  }
  command.inputs = std::move(files);
  return status;
}

int show_all(const InfoCommand& command) {
  const std::size_t width = terminal_columns(STDOUT_FILENO);
  const Paint paint = paint_for(STDOUT_FILENO);
  Engine engine(command.engine);
  FileTally tally(engine.done(), sizes_of(command));
  Progress progress(command.progress, [&] { return tally.extent(); });
  int status = 0;
  bool first = true;
  for (const std::string& path : command.inputs) {
    std::string text;
    try {
      const TensorInfo tensor = inspect(command, engine, path, tally);
      text = command.json ? as_json(tensor) : (first ? "" : "\n") + as_text(tensor, width, paint);
      first = false;
    } catch (...) {
      const Failure failure = explained(std::current_exception());
      status = std::max(status, static_cast<int>(failure.kind));
      progress.print(stderr, line_of(failure));
      if (command.json) text = as_json(path, failure);
    }
    print(text, progress);
    tally.next();
  }
  return status;
}

}  // namespace

int show_info(const RawOptions& raw) {
  InfoCommand command = validate_info(raw);
  const int status = expand_directories(command);
  return std::max(status, show_all(command));
}

}  // namespace clipper
