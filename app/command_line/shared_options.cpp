#include "command_line/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "command_line/command_line.hpp"
#include "command_line/input_names.hpp"
#include "console/diagnostics.hpp"
#include "contract/plan.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"
#include "formats/parameter_file.hpp"
#include "npy/header.hpp"
#include "os/os.hpp"
#include "request_text.hpp"
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

Words type_words() {
  Words words(TypeChoice::kKinds.begin(), TypeChoice::kKinds.end());
  for (const DTypeTraits& row : kDTypes) words.push_back(row.name);
  return words;
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

[[noreturn]] void refuse_dtype(const Option& option, std::string_view text) {
  if (const std::string_view objection = dtype_word(text).objection; !objection.empty())
    refuse(fmt::format("{}: '{}' {}", long_name(option), text, objection));
  refuse_word(option, text);
}

/// Advises against a percentile as a number that is not of a clip.
void refuse_percentage(std::string_view flag, const std::string& text) {
  const std::string number = text.substr(0, std::max<std::size_t>(text.size(), 1) - 1);
  if (text.ends_with('%') && parse_number(number))
    refuse(fmt::format("{}: '{}' is not a number; clipper info --percentile {} prints that percentile", flag,
                       text, number));
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

void refuse_pair(const Option& one, const Option& other, std::string_view why) {
  refuse(fmt::format("{} and {} cannot be used together{}{}", long_name(one), long_name(other),
                     why.empty() ? "" : ": ", why));
}

std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                        std::size_t highest) {
  const auto value = integer_in<std::size_t>(text);
  if (!value || *value < lowest || *value > highest)
    refuse(fmt::format("{}: '{}' is not a whole number from {} to {}", flag, text, lowest, highest));
  return *value;
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

std::optional<OrderedDType> parse_dtype(const RawOptions& raw, const Option& option) {
  if (!raw.has(option)) return std::nullopt;
  if (const std::optional<OrderedDType> dtype = dtype_word(raw.text(option)).dtype) return dtype;
  refuse_dtype(option, raw.text(option));
}

Reading parse_reading(const RawOptions& raw) {
  Reading how;
  how.dtype = parse_dtype(raw, kDtype);
  if (raw.has(kRaw)) how.raw = std::make_shared<const raw::Layout>(raw::parse(raw.text(kRaw)));
  how.format = format_of_word(kFormat.words()[word_of(raw, kFormat)]);
  if (how.raw && how.format != nullptr) refuse_pair(kRaw, kFormat);
  how.ignore_trailing = word_of(raw, kTrailing) != 0;
  if (raw.has(kNoCache)) how.caching = Caching::dropped;
  return how;
}

bool TensorChoice::takes_all() const {
  return !only && !members.has_patterns() && !members.has_excluded();
}

std::vector<bool> TensorChoice::of(const Container& archive, const npy::GivenDType& dtype) const {
  using How = NameChoice::How;
  const std::vector<How> chosen = members.of(archive);
  const auto has_kind = [&](const Entry& member) {
    try {
      const auto header = archive.header(member, dtype.dtype, npy::Types::all).header;
      return header && !header->other && only->contains(header->dtype, header->meaning);
    } catch (const Error&) {
      return true;
    }
  };
  std::vector<bool> result(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i)
    result[i] = chosen[i] == How::by_name ||
                (chosen[i] == How::by_pattern && (!only || has_kind(archive.entries()[i])));
  return result;
}

bool TensorChoice::has(InputFile& input, const npy::GivenDType& dtype, bool is_named) const {
  if (members.has_patterns() || (is_named && members.needs_archive())) return false;
  if (!only || is_named) return true;
  try {
    const npy::Header header =
        read_header(input, dtype, nullptr, std::nullopt, npy::Opaque::taken, npy::Types::all);
    return !header.other && only->contains(header.dtype, header.meaning);
  } catch (const Error&) {
    return true;
  }
}

TensorChoice parse_choice(const RawOptions& raw, bool is_many) {
  using Needed = NameChoice::Needed;
  TensorChoice choice{
      {raw.texts(kMember), raw.texts(kExcludeMember), is_many ? Needed::in_any : Needed::in_each},
      std::nullopt};
  if (raw.has(kOnly)) choice.only.emplace();
  for (const std::string& word : raw.texts(kOnly))
    if (!choice.only->add(word)) refuse_dtype(kOnly, word);
  return choice;
}

TensorWalk parse_walk(const RawOptions& raw) {
  TensorWalk walk;
  walk.include = raw.texts(kInclude);
  walk.exclude = raw.texts(kExclude);
  walk.has_other_names = raw.has(kRaw) || raw.has(kFormat);
  return walk;
}

Progress::When progress_when(const RawOptions& raw) {
  if (raw.has(kNoProgress)) return Progress::When::never;
  return raw.has(kProgress) ? Progress::When::always : Progress::When::automatic;
}

LogLevels log_levels(const RawOptions& raw, const Option& verbose) {
  constexpr std::array kLevels{Level::info, Level::error, Level::warning, Level::debug, Level::trace};
  const Level typed = kLevels.at(word_of(raw, kLogLevel));
  LogLevels levels{typed, typed};
  if (raw.has(kQuiet)) levels.shown = Level::error;
  if (const std::size_t times = raw.texts(verbose).size(); times != 0)
    levels.shown = times == 1 ? Level::debug : Level::trace;
  if (!raw.has(kLogFile))
    levels.kept = levels.shown;
  else if (!raw.has(kLogLevel))
    levels.kept = std::max(levels.shown, Level::info);
  return levels;
}

ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw) {
  const bool has_color = std::ranges::find(spec.options, &kColor) != spec.options.end();
  return has_color ? static_cast<ColorWhen>(word_of(raw, kColor)) : ColorWhen::automatic;
}

std::optional<Parameter> given(const RawOptions& raw, const Option& option, const Reading& file) {
  if (!raw.has(option)) return std::nullopt;
  const std::string_view flag = long_name(option);
  refuse_percentage(flag, raw.text(option));
  return number_of_text(flag.substr(2), raw.text(option), file);
}

std::optional<Parameter> given_limit(const RawOptions& raw, const Option& option, const Reading& file) {
  if (raw.has(option))
    if (std::optional<Parameter> word = Parameter::word(raw.text(option))) return word;
  return given(raw, option, file);
}

std::vector<ReadFile> number_files(const Request& request) {
  std::vector<ReadFile> files;
  for_each_stage(request, [&](const Request& stage) {
    for (const Field* const field : fields::kNumbers)
      if (std::string path = parameter_path(stage.*field->number()); !path.empty())
        files.push_back({std::string(field->option()), std::move(path)});
  });
  return files;
}

FilesRead::FilesRead(const Request& request, const Reading& reading, std::vector<ReadFile> of_options)
    : request_(request), reading_(reading), files_(std::move(of_options)) {
  Reading of_option = reading;
  of_option.raw_if_needed = true;
  for (const ReadFile& file : std::vector(files_)) add_behind(of_option, file.reader, file.path);
}

void FilesRead::add_behind(const Reading& how, const std::string& reader, const std::string& path) {
  for (std::string& behind : files_behind(how, path))
    if (behind_.insert(behind).second) files_.push_back({reader, std::move(behind)});
}

void FilesRead::add_masks(const std::string& input) {
  for_each_stage(request_, [&](const Request& stage) {
    if (is_mask_of_each(stage.mask)) files_.push_back({"--mask", mask_of(*stage.mask, input)});
  });
}

SideFiles::SideFiles(const std::vector<SideFile>& files) {
  const auto add = [&](const SideFile& file) {
    os::Status status{};
    if (os::stat(file.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
    expect_other_than(file.path, fmt::format("written by {}", file.option));
    files_.push_back(file);
  };
  if (!log_path().empty()) add({long_name(kLogFile), log_path()});
  for (const SideFile& file : files) add(file);
}

void SideFiles::expect_other_than(const std::string& path, std::string_view role) const {
  if (files_.empty()) return;
  const std::optional<MemberPath> member = member_path(path);
  const std::string& other = member ? member->archive : path;
  for (const SideFile& file : files_) {
    if (file.path != other && !is_same_target(file.path, other)) continue;
    if (file.option == long_name(kLogFile)) take_log_back();
    refuse(fmt::format("{}: is also {}", file.path, role));
  }
}

void SideFiles::expect_other_than(const std::vector<ReadFile>& files) const {
  for (const ReadFile& file : files) expect_other_than(file.path, "read by " + file.reader);
}

}  // namespace clipper
