#include "clip/clip_option_table.hpp"

#include <array>
#include <string_view>

#include "clip/clip_options.hpp"

namespace clipper {
namespace {

using namespace clip_options;
using namespace match_options;

constexpr std::string_view kDescription =
    "Clips every element of tensors (.npy, .pb, raw) and of archives (.npz, safetensors) to [MIN, MAX]. All "
    "other elements keep their exact bits.";

constexpr std::array<std::string_view, 6> kForms{
    "[OPTIONS] IN OUT",
    "[OPTIONS] --in-place FILE...",
    "[OPTIONS] --output-dir DIR FILE...",
    "[OPTIONS] --output TEMPLATE FILE...",
    "[OPTIONS] --verify GOLDEN IN...",
    "--finalize OUT",
};

constexpr std::string_view kFooter = R"(
Examples:
  clipper --min 0 --max 6 in.npy out.npy
  clipper --min -1 --max 1 --in-place *.npy
  clipper --min 0 --output-dir clipped --recursive tensors
  clipper --min 0 --output '{dir}/{stem}.clip.npy' *.npy
  clipper --scale 0.5 --bias 1 --max 6 in.npy out.npy
  clipper --min 1% --max 99% in.npy out.npy
  clipper --scale 50 --bias 128 --to uint8 in.npy out.npy
  clipper --min 1% --max 99% --stretch 0:255 --to uint8 in.npy out.npy
  clipper --min 0 --replace-below nan in.npy out.npy
  clipper --min -1 --max 1 --member w in.npz out.npz
  clipper --min 0 in.npz:w out.npy
  clipper --min @lo.npy --max @hi.npy in.npy out.npy
  clipper --profile onnx-6 --min 0 --max 6 in.npy out.npy
  clipper --max 6 in.npy --verify golden.npy
  clipper --max 6 --recursive in --verify golden/ --tolerance torch
  producer | clipper --max 255 - - | consumer
  find . -name '*.npy' -print0 | clipper --max 6 --in-place --files0-from -
  mpirun clipper --shard auto --max 6 x.npy y.npy && clipper --finalize y.npy

Exit status:
  0      success
  1      --fail-if-clipped: too many clipped; --verify: a difference was found
  2      wrong usage
  3      an input is not a valid tensor or archive, or the profile rejects it
  4      an I/O error, or not enough memory
  5      refused to avoid data loss, or another program has locked the file
  6      output written, but not confirmed to be on disk
  128+n  ended by signal n
)";

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};

constexpr auto kOptions = listed(
    std::array{&kMin,         &kMax,          &kScale,        &kBias,        &kProfile,       &kNan,
               &kMinAboveMax, &kReplaceBelow, &kReplaceAbove, &kMaxNorm,     &kNorm,          &kSubtract,
               &kDivide,      &kDivideZero,   &kStretch,      &kStretchFrom, &kNodata,        &kNodataTo,
               &kPerAxis,     &kPooled,       &kMask,         &kMaskTo,      &kFit,           &kApply,
               &kRound,       &kZeroPoint,    &kTo,           &kSaturate,    &kFailIfClipped, &kThen,  //
               &kInPlace,     &kDirect,       &kOutputDir,    &kRelativeTo,  &kFlat,          &kOutput,
               &kRecursive},
    kWalkOptions, kReadingOptions,
    std::array{&kUnclipped,  //
               &kToRaw,        &kFilesFrom,    &kFiles0From,  &kAllowEmpty,    &kNoClobber,  &kForce,
               &kSkipExisting, &kNewer,        &kBackup,      &kKeepGoing,     &kDryRun,     &kSync,  //
               &kVerify,       &kUpdateGolden, &kGoldenDtype, &kRtol,          &kAtol,       &kUlp,
               &kTolerance,    &kNanDiffer,    &kMaxMismatch, &kMetrics,       &kMinCosine,  &kMaxRmse,
               &kMinSqnr,      &kShow,         &kReport,                        //
               &kShard,        &kSplitOutput,  &kFinalize,    &kDiscardShards,  //
               &kThreads,      &kJson,         &kSummary,     &kProgress,      &kNoProgress, &kColor,
               &kVerbose,      &kQuiet,        &kLogLevel,    &kLogFile,       &kHelp,       &kVersion,  //
               &kChunkSize,    &kSimd});

constexpr std::array kCommon{&kMin,     &kMax,       &kScale,     &kBias,   &kNan,    &kTo,     &kProfile,
                             &kInPlace, &kOutputDir, &kRecursive, &kDryRun, &kVerify, &kVerbose};

/// --fit and --apply are of all stages.
constexpr bool belongs_to_stage(const Option& option) {
  const bool is_of_elements =
      option.group == kMin.group || option.group == kScale.group || option.group == kPerAxis.group;
  return is_of_elements && &option != &kFit && &option != &kApply && &option != &kThen;
}

}  // namespace

constexpr CommandSpec kClipSpec{.run = &run_clip,
                                .name = "",
                                .summary = "clip tensors to bounds",
                                .description = kDescription,
                                .forms = kForms,
                                .footer = kFooter,
                                .positionals = kPositionals,
                                .options = kOptions,
                                .common = kCommon,
                                .has_groups = true,
                                .begins_stage = &kThen,
                                .is_of_stage = &belongs_to_stage};

}  // namespace clipper
