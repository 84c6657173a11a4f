#pragma once

#include "command_line/shared_options.hpp"
#include "contract/field_help.hpp"

/// The options of kClipSpec that say what becomes of elements.
namespace clipper::clip_options {

/// The words of a member of a request; null if it has none.
constexpr Words (*words_of(const Field& field))() {
  const auto is = [&](auto member) { return field.member == Field::Member(member); };
  if (is(&Request::profile)) return &profile_names;
  if (is(&Request::nan)) return &nan_words;
  if (is(&Request::min_above_max)) return [] { return Words{"error", "min", "max"}; };
  if (is(&Request::norm)) return [] { return Words(kNormWords.begin(), kNormWords.end()); };
  if (is(&Request::round)) return &round_words;
  return is(&Request::to) ? &dtype_names : nullptr;
}

/// The option of a row of fields::kAll, by its name.
consteval Option of_field(std::string_view name, std::string_view needs = {}, Exclusion excludes = {}) {
  const Field& field = *std::ranges::find(fields::kAll, name, &Field::name);
  const fields::Help& help = fields::help_of(field);
  Option option;
  option.names = field.option;
  option.needs = needs;
  option.excludes[0] = excludes;
  option.type = help.value;
  option.value = field.grammar == Field::Grammar::typed ? Value::text : Value::number;
  option.words = words_of(field);
  option.group = help.group;
  option.help = help.line;
  option.details = help.details;
  option.more = help.more;
  return option;
}

inline constexpr std::string_view kPooledInPlace =
    "a run that is killed would leave files with other numbers; type the numbers that --dry-run prints "
    "without "
    "--in-place";

inline constexpr Option kMin = of_field("min");
inline constexpr Option kMax = of_field("max");
inline constexpr Option kScale = of_field("scale");
inline constexpr Option kBias = of_field("bias");
inline constexpr Option kProfile = of_field("profile");
inline constexpr Option kNan = of_field("nan");
inline constexpr Option kMinAboveMax = of_field("min_above_max");
inline constexpr Option kReplaceBelow = of_field("replace_below");
inline constexpr Option kReplaceAbove = of_field("replace_above");
inline constexpr Option kMaxNorm = of_field("max_norm");
inline constexpr Option kNorm = of_field("norm");
inline constexpr Option kSubtract = of_field("subtract");
inline constexpr Option kDivide = of_field("divide");
inline constexpr Option kDivideZero = of_field("divide_zero", "--divide --stretch-from --apply");
inline constexpr Option kStretch = of_field("stretch");
inline constexpr Option kStretchFrom = of_field("stretch_from", "--stretch", {"--subtract --divide"});
inline constexpr Option kNodata = of_field("nodata");
inline constexpr Option kNodataTo = of_field("nodata_to");
inline constexpr Option kPerAxis = of_field("per_axis");
inline constexpr Option kPooled = of_field("pooled", "", {"--shard --finalize --skip-existing --newer"});
inline constexpr Option kMask = of_field("mask");
inline constexpr Option kMaskTo = of_field("mask_to");
inline constexpr Option kRound = of_field("round");
inline constexpr Option kZeroPoint = of_field("zero_point");
inline constexpr Option kTo = of_field("to", "", {"--direct"});
inline constexpr Option kSaturate = of_field("saturate");

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kFit{
    .names = "--fit", .type = "FILE.npz", .value = Value::file,
    .group = "statistics",
    .excludes = {{"--verify --shard --finalize --skip-existing --newer"}},
    .help = "Write the numbers that were used, for --apply",
    .details = R"(Write min, max, scale, bias, subtract and divide as they were used to an archive, which gets its
name when all results are in place. Several inputs need `--pooled`. See FIT AND APPLY.)"};

inline constexpr Option kApply{
    .names = "--apply", .type = "FILE.npz", .value = Value::file,
    .group = "statistics",
    .help = "Take min, max, ... from a file of --fit",
    .details = R"(Take each member of FILE.npz as the option of its name, unless that option is typed. See FIT AND
APPLY.)"};

// clang-format on

}  // namespace clipper::clip_options
