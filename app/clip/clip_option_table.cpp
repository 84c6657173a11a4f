#include "clip/clip_option_table.hpp"

#include <array>

namespace clipper {
namespace {

using namespace clip_options;

constexpr std::string_view kDescription =
    "Clips every element of a .npy tensor: what is below MIN becomes MIN, what is above MAX becomes MAX.\n"
    "dtype, shape, memory order and byte order stay, and so do the exact bits of all other elements.";

constexpr std::string_view kFooter = R"(
Examples:
  clipper --min 0 --max 6 in.npy out.npy
  clipper --min -1 --max 1 --in-place x.npy            rewrites the file itself, safely
  clipper --min 0 --output-dir clipped *.npy           many files at once
  clipper --min 0 -o '{dir}/{stem}.clip.npy' *.npy     likewise, beside the inputs
  find . -name '*.npy' -print0 | clipper --max 6 --in-place --files0-from -
  find in -name '*.npy' -print0 |
    clipper --max 6 --output-dir out --relative-to in --files0-from -
  clipper --scale 0.5 --bias 1 --max 6 in.npy out.npy  x * 0.5 + 1, then the clip
  clipper --min @lo.npy in.npy out.npy                 a bound from a tensor of one element
  producer | clipper --max 255 - - | consumer
  mpirun clipper --shard auto --max 6 in.npy out.npy && clipper --finalize out.npy
                                                       one tensor, many processes
  clipper info --stats x.npy                           header, range, NaN and a histogram
  clipper --max 6 in.npy --verify golden.npy           is the result what it was?
  clipper profiles                                     the rules of every system, as a table

Exit status:
  0      done
  1      more is clipped than --fail-if-clipped allows, or --verify has found a difference
  2      wrong usage
  3      input refused
  4      I/O or memory
  5      refused for safety
  6      done, but not confirmed to be on the disk
  128+n  ended by signal n
)";

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};

constexpr std::array kGeneral{&kVersion, &kHelp};
constexpr std::array kOperation{&kProfile, &kMin,         &kMax,   &kScale,    &kBias,
                                &kNan,     &kMinAboveMax, &kDtype, &kTrailing, &kFailIfClipped};
constexpr std::array kFileOptions{&kOutput,    &kOutputDir, &kRelativeTo,  &kFilesFrom, &kFiles0From,
                                  &kVerify,    &kInPlace,   &kDirect,      &kSync,      &kNoClobber,
                                  &kKeepGoing, &kDryRun,    &kUpdateGolden};
constexpr std::array kShards{&kShard, &kSplitOutput, &kFinalize};
constexpr std::array kRunning{&kThreads, &kJson, &kProgress, &kNoProgress, &kVerbose, &kQuiet};
constexpr std::array kHidden{&kChunkSize, &kSimd};

constexpr std::array kGroups{
    OptionGroup{kGeneralTitle, kGeneral}, OptionGroup{"Operation", kOperation},
    OptionGroup{"Files", kFileOptions},   OptionGroup{"Many processes", kShards},
    OptionGroup{"Running", kRunning},     OptionGroup{kHiddenTitle, kHidden},
};

constexpr std::array kExclusions{Exclusion{&kQuiet, &kVerbose}, Exclusion{&kProgress, &kNoProgress},
                                 Exclusion{&kFilesFrom, &kFiles0From}};

}  // namespace

constexpr CommandSpec kClipSpec{.name = "",
                                .summary = "clips every element of a .npy tensor",
                                .description = kDescription,
                                .footer = kFooter,
                                .positionals = kPositionals,
                                .groups = kGroups,
                                .exclusions = kExclusions};

}  // namespace clipper
