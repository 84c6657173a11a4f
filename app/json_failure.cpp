#include "json_failure.hpp"

#include <cstdio>

#include "clip/clip_option_table.hpp"
#include "clip/clip_options.hpp"
#include "command_line/command_line.hpp"
#include "console/json.hpp"

namespace clipper {

void print_json_failure(const CommandLine& line, const Failure& failure) {
  if (!line.has("--json")) return;
  const bool is_clip = &line.spec() == &kClipSpec;
  std::FILE* const stream = is_clip && tensor_goes_to_stdout(line.typed()) ? stderr : stdout;
  const Json json{
      {"version", kJsonVersion}, {"status", static_cast<int>(failure.kind)}, {"error", failure.message}};
  std::fputs((json.dump() + "\n").c_str(), stream);
  std::fflush(stream);
}

}  // namespace clipper
