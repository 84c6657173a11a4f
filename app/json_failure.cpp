#include "json_failure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "clip/clip_option_table.hpp"
#include "console/json.hpp"

namespace clipper {
namespace {

using namespace clip_options;

/// Whether `clipper IN -` or `clipper --output - IN` was typed.
bool tensor_goes_to_stdout(std::span<const char* const> words) {
  std::size_t files = 0;
  bool options_end = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--" && !options_end) {
      options_end = true;
    } else if (options_end || word == "-" || !word.starts_with('-')) {
      if (++files == 2 && word == "-") return true;
    } else if (word == "--output=-" || word == "-o-") {
      return true;
    } else if (const Option* const option = option_named(kClipSpec, word);
               option && option->value != Value::none) {
      ++i;
      if (option == &kOutput && i < words.size() && std::string_view(words[i]) == "-") return true;
    }
  }
  return false;
}

}  // namespace

void print_json_failure(const CommandSpec& spec, std::span<const char* const> words, const Failure& failure) {
  const std::span options(words.begin(), std::find(words.begin(), words.end(), std::string_view("--")));
  if (std::find(options.begin(), options.end(), std::string_view("--json")) == options.end()) return;
  std::FILE* const stream = &spec == &kClipSpec && tensor_goes_to_stdout(words) ? stderr : stdout;
  const Json json{
      {"version", kJsonVersion}, {"status", static_cast<int>(failure.kind)}, {"error", failure.message}};
  std::fputs((json.dump() + "\n").c_str(), stream);
  std::fflush(stream);
}

}  // namespace clipper
