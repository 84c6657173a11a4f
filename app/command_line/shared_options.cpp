#include "command_line/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "command_line/nearest_name.hpp"
#include "contract/plan.hpp"
#include "element/dtype.hpp"
#include "element/joined.hpp"
#include "element/percentage.hpp"
#include "element/type_choice.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/parameter_file.hpp"
#include "os/os.hpp"
#include "simd/levels.hpp"

namespace clipper {

Words profile_names() {
  Words names;
  for (const Profile& row : profiles()) {
    if (std::find(names.begin(), names.end(), row.family) == names.end()) names.push_back(row.family);
    if (row.name != row.family) names.push_back(row.name);
  }
  return names;
}

Words nan_words() {
  return {kNanWords.begin(), kNanWords.end()};
}

Words round_words() {
  return {kRoundWords.begin(), kRoundWords.end()};
}

Words dtype_names() {
  Words names;
  for (const DTypeTraits& row : kDTypes) names.push_back(row.name);
  return names;
}

Words type_words() {
  Words words(TypeChoice::kKinds.begin(), TypeChoice::kKinds.end());
  for (const DTypeTraits& row : kDTypes) words.push_back(row.name);
  return words;
}

Words simd_level_names() {
  Words names;
  for (const SimdLevel level : kSimdLevels) names.push_back(to_string(level));
  return names;
}

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

namespace {

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace

std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                        std::size_t highest) {
  const std::optional<std::size_t> value = whole_number(text);
  if (!value || *value < lowest || *value > highest)
    refuse(fmt::format("{}: '{}' is not a whole number from {} to {}", flag, text, lowest, highest));
  return *value;
}

std::size_t parse_bytes(std::string_view flag, std::string_view text, std::size_t lowest,
                        std::size_t highest) {
  constexpr std::string_view kUnits = "KMG";
  std::string_view number = text;
  if (number.ends_with("iB")) number.remove_suffix(2);
  const std::size_t unit = number.empty() ? kUnits.npos : kUnits.find(number.back());
  std::size_t shift = 0;
  if (unit != kUnits.npos) {
    number.remove_suffix(1);
    shift = 10 * (unit + 1);
  } else {
    number = text;
  }
  const std::optional<std::size_t> value = whole_number(number);
  if (!value || *value > highest >> shift || *value << shift < lowest)
    refuse(fmt::format("{}: '{}' is not a number of bytes from {} to {}, such as 65536, 64K or 1MiB", flag,
                       text, lowest, highest));
  return *value << shift;
}

Percentage parse_percentage(std::string_view flag, std::string_view text) {
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  if (std::optional<Percentage> percentage = Percentage::parse(number)) return *std::move(percentage);
  refuse(fmt::format("{}: '{}' is not a percentage from 0 to 100", flag, text));
}

Percentage parse_share(std::string_view flag, std::string_view text) {
  Percentage percentage = parse_percentage(flag, text);
  const Number number = *parse_number(percentage.text());
  if (text.ends_with('%') || number == Number{}) return percentage;
  const std::string fraction = number > 1
                                   ? ""
                                   : fmt::format(", or {:.6g}% for the fraction {}",
                                                 100 * std::strtod(percentage.text().c_str(), nullptr), text);
  refuse(fmt::format("{0}: '{1}' has no percent sign; write {1}%{2}", flag, text, fraction));
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

namespace {

[[noreturn]] void refuse_dtype(const Option& option, std::string_view text) {
  if (const std::string_view objection = dtype_word(text).objection; !objection.empty())
    refuse(fmt::format("{}: '{}' {}", long_name(option), text, objection));
  refuse_word(option, text);
}

}  // namespace

std::optional<DType> parse_dtype(const RawOptions& raw, const Option& option) {
  if (!raw.has(option)) return std::nullopt;
  if (const std::optional<DType> dtype = dtype_word(raw.text(option)).dtype) return dtype;
  refuse_dtype(option, raw.text(option));
}

std::optional<TypeChoice> parse_types(const RawOptions& raw) {
  if (!raw.has(kOnly)) return std::nullopt;
  TypeChoice types;
  for (const std::string& word : raw.texts(kOnly))
    if (!types.add(word)) refuse_dtype(kOnly, word);
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

namespace {

/// Adds the flag to errors. Keeps the library's words: what the program would advise applies to IN only.
Given read_given(std::string_view flag, const std::string& path) {
  if (path.empty()) refuse(fmt::format("{} @ has no file name (is a shell variable empty?)", flag));
  if (path == "-") refuse(fmt::format("{} @-: cannot be read from standard input; use a file", flag));
  try {
    return read_parameter(path);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{} @{}", flag, error.what()));
  }
}

bool looks_like_file(const std::string& text) {
  const TensorFormat* const format = format_named(text);
  return (format != nullptr && !format->has_entries()) || member_path(text) ||
         (!text.empty() && os::access(text.c_str(), F_OK) == 0);
}

/// "1%" as a number; nothing for texts that are not a number and a percent sign.
std::optional<Number> percentage_in(const std::string& text) {
  return text.ends_with('%') ? parse_number(std::string_view(text).substr(0, text.size() - 1)) : std::nullopt;
}

[[noreturn]] void refuse_percentage(std::string_view flag, const std::string& text) {
  const std::string_view number = std::string_view(text).substr(0, text.size() - 1);
  if (flag == "--min" || flag == "--max")
    refuse(fmt::format("{}: '{}' is not a number; clipper info --percentile {} prints that percentile", flag,
                       text, number));
  refuse(fmt::format("{}: '{}' is not a number; only --min and --max can be percentiles", flag, text));
}

}  // namespace

Given parse_bound(std::string_view flag, const std::string& text) {
  if (std::optional<Given> word = Given::word(text)) return *std::move(word);
  const std::optional<Number> percentage = percentage_in(text);
  if (!percentage) return parse_given(flag, text);
  if (!is_percentage(*percentage))
    refuse(fmt::format("{} {}: a percentile is a number from 0% to 100%", flag, text));
  Given bound = Given::percentile(*percentage);
  bound.text = text;
  return bound;
}

std::int64_t parse_axis(std::string_view text) {
  const std::optional<Number> number = parse_number(text);
  constexpr std::int64_t kLimit = 64;  // kMaxRank
  if (!number || !is_integer(*number) || *number < Number(-kLimit) || *number > Number(kLimit - 1))
    refuse(fmt::format("--per-axis: '{}' is not an axis, an integer such as 1 or -1", text));
  return static_cast<std::int64_t>(to_integer(*number, Rounding::toward_zero));
}

Given parse_factor(std::string_view flag, const std::string& text) {
  if (std::optional<Given> statistic = Given::statistic_named(text)) return *std::move(statistic);
  if (const auto meant = nearest_name(text, kStatisticWords); meant && !parse_number(text))
    refuse(fmt::format("{}: unknown value '{}'; did you mean '{}'?", flag, text, *meant));
  return parse_given(flag, text);
}

Given parse_given(std::string_view flag, const std::string& text) {
  if (text.starts_with('@')) return read_given(flag, text.substr(1));
  if (std::optional<Number> number = parse_number(text)) return {*std::move(number), text};
  if (percentage_in(text)) refuse_percentage(flag, text);
  if (looks_like_file(text))
    refuse(fmt::format("{0}: '{1}' is not a number; to read the number from a file, write @{1}", flag, text));
  refuse(fmt::format("{}: '{}' is not a number", flag, text));
}

Given parse_scale(std::string_view flag, const std::string& text) {
  constexpr std::string_view kReciprocal = "1/";
  if (!text.starts_with(kReciprocal)) return parse_given(flag, text);
  return Given::reciprocal(parse_given(flag, text.substr(kReciprocal.size())));
}

bool names_file(std::string_view text) {
  return text.starts_with('@') || text.starts_with("1/@");
}

std::optional<Given> given(const RawOptions& raw, const Option& option) {
  if (!raw.has(option)) return std::nullopt;
  return parse_given(long_name(option), raw.text(option));
}

std::optional<Given> given_limit(const RawOptions& raw, const Option& option) {
  if (raw.has(option))
    if (std::optional<Given> word = Given::word(raw.text(option))) return word;
  return given(raw, option);
}

OnNan parse_on_nan(const std::string& text) {
  const auto* const word = std::ranges::find(kNanWords, text);
  if (word != kNanWords.end()) return static_cast<OnNan::Action>(word - kNanWords.begin());
  std::optional<Number> number = parse_number(text);
  if (number && number->kind != Number::Kind::nan) return Given(*std::move(number), text);
  if (std::optional<Given> given = Given::word(text)) return *std::move(given);
  if (const auto meant = nearest_name(text, kNanWords))
    refuse(fmt::format("--nan: unknown value '{}'; did you mean '{}'?", text, *meant));
  refuse(fmt::format("--nan: '{}' is not keep, error, min, max or a number", text));
}

std::vector<OptionFile> number_files(const Request& request) {
  std::vector<OptionFile> files;
  const auto add = [&](std::string_view option, const std::optional<Given>& number) {
    if (number && number->dtype) files.push_back({option, number->text.substr(number->text.find('@') + 1)});
  };
  add("--min", request.min);
  add("--max", request.max);
  add("--scale", request.scale);
  add("--bias", request.bias);
  add("--subtract", request.subtract);
  add("--divide", request.divide);
  return files;
}

}  // namespace clipper
