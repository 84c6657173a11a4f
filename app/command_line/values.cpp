#include "command_line/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "command_line/command_line.hpp"
#include "command_line/nearest_name.hpp"
#include "command_line/shared_options.hpp"
#include "element/joined.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr std::string_view kFlag = "--shard";

struct Launcher {
  const char* rank;
  const char* size;
};

constexpr std::array kLaunchers{
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"PMI_RANK", "PMI_SIZE"},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS"},
};

Shard shard_of(const std::string& flag, std::string_view index, std::string_view count) {
  Shard shard;
  shard.count = parse_count(flag, count, 1, kMaxShards);
  shard.index = parse_count(flag, index, 0, kMaxShards);
  if (shard.index >= shard.count)
    refuse(fmt::format("{}: shard index {} out of range (0 to {})", flag, shard.index, shard.count - 1));
  return shard;
}

Shard automatic_shard() {
  for (const Launcher& launcher : kLaunchers) {
    const char* const rank = std::getenv(launcher.rank);
    const char* const size = std::getenv(launcher.size);
    if (rank != nullptr && size != nullptr)
      return shard_of(fmt::format("--shard auto: {}/{}", launcher.rank, launcher.size), rank, size);
  }
  refuse("--shard auto: Open MPI, PMI or Slurm (srun) did not start this process; write --shard K/N");
}

}  // namespace

void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

void refuse_unknown(std::string_view what, std::string_view text, std::span<const std::string_view> words) {
  if (const auto meant = nearest_name(text, words))
    refuse(fmt::format("{} '{}'; did you mean '{}'?", what, text, *meant));
  refuse(fmt::format("{} '{}'; expected one of: {}", what, text, joined(words, ", ")));
}

void refuse_word(const Option& option, std::string_view text) {
  refuse_unknown(fmt::format("{}: unknown value", long_name(option)), text, option.words());
}

void refuse_pair(const Option& one, const Option& other) {
  refuse(fmt::format("{} and {} cannot be used together", long_name(one), long_name(other)));
}

std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                        std::size_t highest) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < lowest || value > highest)
    refuse(fmt::format("{}: '{}' is not a whole number from {} to {}", flag, text, lowest, highest));
  return value;
}

Percentage parse_percentage(std::string_view flag, std::string_view text) {
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  if (std::optional<Percentage> percentage = Percentage::parse(number)) return *std::move(percentage);
  refuse(fmt::format("{}: '{}' is not a percentage from 0 to 100", flag, text));
}

Shard parse_shard(std::string_view text) {
  if (text == "auto") return automatic_shard();
  const std::size_t slash = text.find('/');
  if (slash == text.npos)
    refuse(fmt::format("{}: '{}' is neither K/N, for example 0/4, nor auto", kFlag, text));
  return shard_of(std::string(kFlag), text.substr(0, slash), text.substr(slash + 1));
}

unsigned parse_threads(std::string_view text) {
  return static_cast<unsigned>(parse_count(long_name(kThreads), text, 1, 1024));
}

std::size_t word_of(const RawOptions& raw, const Option& option) {
  if (!raw.has(option)) return 0;
  const Words words = option.words();
  const auto word = std::ranges::find(words, raw.text(option));
  if (word == words.end()) refuse_word(option, raw.text(option));
  return static_cast<std::size_t>(word - words.begin());
}

std::optional<TypeChoice> parse_types(const RawOptions& raw) {
  if (!raw.has(kOnly)) return std::nullopt;
  TypeChoice types;
  for (const std::string& word : raw.texts(kOnly))
    if (!types.add(word)) refuse_word(kOnly, word);
  return types;
}

Progress::When progress_when(const RawOptions& raw) {
  if (raw.has(kNoProgress)) return Progress::When::never;
  return raw.has(kProgress) ? Progress::When::always : Progress::When::automatic;
}

ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw) {
  const bool has_color = std::ranges::find(spec.options, &kColor) != spec.options.end();
  return has_color ? static_cast<ColorWhen>(word_of(raw, kColor)) : ColorWhen::automatic;
}

}  // namespace clipper
