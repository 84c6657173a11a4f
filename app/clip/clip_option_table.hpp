#pragma once

#include "command_line/shared_options.hpp"
#include "compare/match_options.hpp"
#include "contract/fields.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// The options of kClipSpec, which lists them in the order of --help.
namespace clip_options {

/// The words of a member of a request; null if it has none.
constexpr Words (*words_of(const Field& field))() {
  const auto is = [&](auto member) { return field.member == Field::Member(member); };
  if (is(&Request::profile)) return &profile_names;
  if (is(&Request::nan)) return &words_in<kNanWords>;
  if (is(&Request::min_above_max)) return [] { return Words{"error", "min", "max"}; };
  if (is(&Request::norm)) return &words_in<kNormWords>;
  if (is(&Request::round)) return &words_in<kRoundWords>;
  return is(&Request::to) ? kDtypeNames : nullptr;
}

/// What the option of a row needs and excludes: other options of the program.
struct Rules {
  std::string_view name;
  std::string_view needs = {};
  Exclusion excludes = {};
};

inline constexpr Rules kRules[] = {
    {"divide_zero", "--divide --stretch-from --apply"},
    {"stretch_from", "--stretch", {"--subtract --divide"}},
    {"pooled", {}, {"--shard --finalize --skip-existing --newer"}},
    {"to", {}, {"--direct"}},
};

static_assert(std::ranges::all_of(kRules, [](const Rules& rules) {
  return std::ranges::find(fields::kAll, rules.name, &Field::name) != fields::kAll.end();
}));

constexpr Option made_of(const Field& field) {
  Option option;
  option.names = field.option();
  for (const Rules& rules : kRules) {
    if (rules.name != field.name) continue;
    option.needs = rules.needs;
    option.excludes[0] = rules.excludes;
  }
  option.type = field.value;
  option.words = words_of(field);
  option.value =
      field.grammar == Field::Grammar::typed || option.words != nullptr ? Value::text : Value::number;
  option.group = field.group;
  option.help = field.line;
  option.details = field.details;
  option.more = field.more;
  return option;
}

/// The options of the rows: the bounds first.
inline constexpr auto kOfRows = [] {
  std::array<Option, fields::kAll.size()> options;
  auto next = options.begin();
  for (const bool bounds : {true, false})
    for (const Field& field : fields::kAll)
      if ((field.grammar == Field::Grammar::bound) == bounds) *next++ = made_of(field);
  return options;
}();

/// The option of a row, by its name: "--to".
consteval const Option* of_row(std::string_view name) {
  return &*std::ranges::find(kOfRows, name, &Option::names);
}

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kFiles{
    .names = "FILE", .value = Value::tensor,
    .help = "IN and OUT, or inputs; - is standard input or output",
    .details = R"(IN and OUT; with `--in-place`, `--output-dir`, `--output` or `--verify`, any number of inputs. `-`
is standard input or output. IN may be a member, ARCHIVE.npz:NAME. If IN is OUT, the file is replaced as with
`--in-place`. See FORMATS.)"};

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

inline constexpr Option kToRaw{
    .names = "--to-raw",
    .group = "formats",
    .excludes = {{"--verify"}},
    .help = "Write elements without a header, as numpy's tofile",
    .details = R"(Write the elements of results in C order and nothing else. OUT must not end in .npy or .pb, and
archives are refused. See RAW AND PB FILES.)"};

inline constexpr Option kFailIfClipped{
    .names = "--fail-if-clipped", .type = "P%",
    .group = "bounds",
    .excludes = {{"--verify --finalize"}},
    .help = "Exit with 1 if more than P% would be clipped",
    .details = R"(If more than P percent of a tensor's elements would be clipped or become infinite, write no result
for it and exit with 1. Nodata and what `--mask-to` leaves out do not count. `0` allows none; another number
needs the percent sign (2). `--shard` of one tensor excludes it. See SCALE AND BIAS.)"};

inline constexpr Option kThen{
    .names = "--then",
    .group = "data",
    .excludes = {{"--direct", "an interrupted run is finished by clipping every element again"}},
    .help = "Clip the result again, by the options that follow",
    .details = R"(Clip the result again as if it were in a file: options about elements that follow are of a stage of
their own. Of archives, tensors are clipped that every stage takes.)"};

inline constexpr Option kUnclipped{
    .names = "--unclipped", .type = "WHAT", .words = [] { return Words{"copy", "drop", "error"}; },
    .group = "formats",
    .excludes = {{"--finalize"}},
    .help = "Tensors that are not clipped: copy, drop or error",
    .details = R"(What happens to members, and to files of lists and directories, that are not clipped: `copy`
(default; in place: leave alone), `drop` or `error` (3). See SELECTION.)"};

inline constexpr std::string_view kPooledInPlace =
    "a run that is killed would leave files with other numbers; type the numbers that --dry-run prints "
    "without --in-place";

inline constexpr Option kInPlace{
    .names = "-i,--in-place",
    .group = "files",
    .excludes = {{"--verify --finalize --to-raw"}, {"--pooled", kPooledInPlace}},
    .help = "Replace each input by its result, all or nothing",
    .details = R"(Replace every FILE by its result: at every instant its name has the complete old or new file. A
file with several hard links is refused (5). See FILES AND SAFETY.)"};

inline constexpr Option kDirect{
    .names = "--direct",
    .group = "files",
    .excludes = {{"--verify --finalize"}},
    .needs = "--in-place",
    .help = "With --in-place: overwrite without a second file",
    .details = R"(Overwrite the elements in the file itself, for files too large for a second copy; no archives.
Readers refuse the file until the same command has finished. Takes only bounds and replacements that can be repeated.
See FILES AND SAFETY.)"};

inline constexpr Option kOutputDir{
    .names = "--output-dir", .type = "DIR", .value = Value::directory,
    .group = "files",
    .excludes = {{"--verify --finalize --in-place"}},
    .help = "Write results below DIR, each under its path",
    .details = R"(Write each result below DIR under its input's path: in/x.npy becomes DIR/in/x.npy; of a directory
as the only argument, the path below it. Missing directories are made.)"};

inline constexpr Option kRelativeTo{
    .names = "--relative-to", .type = "DIR", .value = Value::directory,
    .group = "files",
    .excludes = {{"--finalize"}},
    .needs = "--output-dir --verify",
    .help = "With --output-dir: paths relative to DIR",
    .details = R"(Name each output after the input's path relative to DIR, however the input was spelled. An input
outside of DIR is an error (2).)"};

inline constexpr Option kFlat{
    .names = "--flat",
    .group = "files",
    .excludes = {{"--relative-to --finalize"}},
    .needs = "--output-dir --verify",
    .help = "With --output-dir: only names; implies -n",
    .details = R"(Keep only the name of each input: a/x.npy becomes DIR/x.npy. Two inputs of one name are an error
(2). It implies `--no-clobber`, which `--force` cancels.)"};

/// Value::directory, because most templates begin with a directory that a shell can complete.
inline constexpr Option kOutput{
    .names = "-o,--output", .type = "TEMPLATE", .value = Value::directory,
    .group = "files",
    .excludes = {{"--verify --finalize --in-place --output-dir"}},
    .help = "Paths of results from {dir}, {name}, {stem}, {ext}",
    .details = R"(Write each result to TEMPLATE, in which {dir}, {name}, {stem} and {ext} stand for parts of the
input's path: `-o '{dir}/{stem}.clip{ext}'`. {{ and }} are braces. With a placeholder, missing directories are
made; without, TEMPLATE is OUT of one input.)"};

inline constexpr Option kRecursive{
    .names = "-r,--recursive",
    .group = "files",
    .excludes = {{"--finalize"}},
    .help = "Clip the files of tensors below input directories",
    .details = R"(Take directories as inputs: all files of tensors below them (FORMATS), in the order of their
paths. Symbolic links to directories are followed only if they are inputs. Without it a directory is an error
(2).)"};

inline constexpr Option kFilesFrom{
    .names = "--files-from", .type = "LIST", .value = Value::file,
    .group = "files",
    .excludes = {{"--finalize"}},
    .help = "Read input names from LIST, one per line (-: stdin)",
    .details = R"(Read further inputs from LIST, a name in each line, or from standard input if LIST is `-`. An
empty line, or `-` as a name, is an error (2).)"};

inline constexpr Option kFiles0From{
    .names = "--files0-from", .type = "LIST", .value = Value::file,
    .group = "files",
    .excludes = {{"--files-from --finalize"}},
    .help = "The same with NUL between names (find -print0)",
    .details = R"(Read further inputs from LIST, in which a NUL byte ends each name, as find -print0 writes them.)"};

inline constexpr Option kAllowEmpty{
    .names = "--allow-empty",
    .group = "files",
    .excludes = {{"--finalize"}},
    .help = "Accept an empty LIST and directories without input",
    .details = R"(Accept a LIST without a name and a directory without an input, which are errors (3) otherwise;
with `--verify`, that nothing is compared.)"};

inline constexpr Option kNoClobber{
    .names = "-n,--no-clobber",
    .group = "files",
    .excludes = {{"--verify --in-place"}},
    .help = "Fail if an output file exists",
    .details = R"(Refuse (5) to replace an existing file. The check and the creation are one atomic step. `--force`
after it cancels it.)"};

inline constexpr Option kForce{
    .names = "-f,--force",
    .group = "files",
    .overrides = "--no-clobber",
    .help = "Replace existing output files (default; undoes -n)",
    .details = R"(Replace existing files, which is the default: it cancels a `--no-clobber` before it and lets
`--backup` replace a backup.)"};

inline constexpr Option kSkipExisting{
    .names = "--skip-existing",
    .group = "files",
    .excludes = {{"--newer --verify --finalize --in-place"}},
    .help = "Skip inputs with whole outputs: resumes a run",
    .details = R"(Skip an input whose output exists and is whole by its header and size; an output that is not whole
is written again. Not with `--shard` of one tensor.)"};

inline constexpr Option kNewer{
    .names = "--newer",
    .group = "files",
    .excludes = {{"--verify --finalize --in-place"}},
    .help = "Skip inputs not newer than their outputs, as make",
    .details = R"(Skip an input whose output exists, is whole and is not older than the input and all files that are
read for it: figures, masks, arrays, external data, but not a LIST.)"};

inline constexpr Option kBackup{
    .names = "--backup", .type = "SUFFIX", .implied = "~",
    .group = "files",
    .excludes = {{"--verify --finalize --direct"}},
    .help = "Keep replaced files as NAME~, or NAME and SUFFIX",
    .details = R"(Keep each file that is replaced, by a hard link, under its name and SUFFIX (default: ~; not one
of cp's words such as numbered). An existing backup is refused (5) without `--force`. Not with `--shard` of
one tensor.)"};

inline constexpr Option kKeepGoing{
    .names = "-k,--keep-going",
    .group = "files",
    .excludes = {{"--finalize"}},
    .help = "If an input fails, go on with the other inputs",
    .details = R"(After a failure go on with the other inputs; the exit status is the highest of all. By default the
first failure ends the run, and complete outputs stay. With `--dry-run`, more than two inputs need no place for
results.)"};

inline constexpr Option kDryRun{
    .names = "--dry-run",
    .group = "files",
    .excludes = {{"--verify --finalize"}},
    .help = "Check everything, print the plan, write no results",
    .details = R"(Make every check, read the inputs and print what would be clipped and written where; write nothing
but the file of `--fit`. With `--discard-shards`, print what would be removed.)"};

inline constexpr Option kSync{
    .names = "--sync",
    .group = "files",
    .excludes = {{"--verify"}},
    .help = "Flush output to disk before exiting (fsync)",
    .details = R"(Wait until the results are on the disk; if the disk does not confirm that, the exit status is 6.
`--in-place` and shards always do.)"};

inline constexpr Option kVerify{
    .names = "--verify", .type = "GOLDEN", .value = Value::tensor,
    .group = match_options::kGroup,
    .excludes = {{"--finalize"}},
    .help = "Compare results with GOLDEN, write nothing",
    .details = R"(Clip each input and compare the result with GOLDEN, a file or a directory with the paths that
`--output-dir` would give; write no tensor. Without an option that says what matches, bits must be equal. A
difference exits with 1. See GOLDEN FILES.)"};

inline constexpr Option kUpdateGolden{
    .names = "--update-golden",
    .group = match_options::kGroup,
    .excludes = {{"--finalize"}},
    .needs = "--verify",
    .help = "With --verify: write golden files that fail",
    .details = R"(Write each golden file that is missing or does not match, as a whole, and print "created" or
"updated". Nothing is deleted. If standard output loses a line after a file was written, the exit status is 6.)"};

inline constexpr Option kGoldenDtype{
    .names = "--golden-dtype", .type = "DTYPE", .words = kDtypeNames,
    .group = match_options::kGroup,
    .excludes = {{"--finalize"}},
    .needs = "--verify",
    .help = "With --verify: read golden files as DTYPE",
    .details = R"(Read golden files as DTYPE, as `--dtype` reads inputs. By default |V2, |V1 and <V1 are assumed to
have the dtype of the result, if NumPy saves it so.)"};

inline constexpr Option kShard{
    .names = "--shard", .type = "K/N", .words = [] { return Words{"auto"}; },
    .group = "shards",
    .excludes = {{"--verify --to-raw"},
                 {"--in-place",
                  "a shard that runs twice would scale its data twice; use IN OUT or --output-dir, and rename the results"}},
    .help = "Process part K of N (0 to N-1); auto: MPI or Slurm",
    .details = R"(Do part K of N, counted from 0: of one tensor (IN OUT), which `--finalize OUT` completes, or of
many inputs. `auto` takes K and N from Open MPI, PMI or srun. Not with standard input or output. See SHARDS.)"};

inline constexpr Option kSplitOutput{
    .names = "--split-output",
    .group = "shards",
    .excludes = {{"--verify --finalize"}},
    .needs = "--shard",
    .help = "With --shard: write part K to its own file",
    .details = R"(Write part K, rows of axis 0, to a file of its own, for OUT `o.npy` o.00000-of-00003.npy, and a list of
the parts to o.json; `--finalize` is not needed. Needs OUT, and as IN a regular file in C order.)"};

inline constexpr Option kFinalize{
    .names = "--finalize",
    .group = "shards",
    .help = "Check the parts of all shards, put OUT in place",
    .details = R"(Compare every part with the checksum that its shard took, then put OUT in place and remove the
parts. If parts are missing or damaged, name them and exit with 5: run them again. Takes OUT alone, or all
arguments of the shards.)"};

inline constexpr Option kDiscardShards{
    .names = "--discard-shards",
    .group = "shards",
    .works_with = "--dry-run --threads --progress --no-progress --color --verbose --quiet --log-level --log-file",
    .help = "Remove what abandoned shards of OUT have left",
    .details = R"(Remove the files that shards and `--finalize` have left beside OUT, of every run; OUT stays.
Refused (5) while a shard is running.)"};

inline constexpr Option kJson{
    .names = "--json",
    .help = "Print one line of JSON per input",
    .details = R"(Print a JSON object in one line for every input, or member of an archive, when it is done or has
failed. See JSON OUTPUT.)"};

inline constexpr Option kSummary{
    .names = "--summary",
    .excludes = {{"--verify --finalize"}},
    .help = "End with a line of counts, time and speed",
    .details = R"(End with a line on standard error: files, elements, the share that was clipped, seconds, bytes per
second. The default for several inputs on a terminal.)"};

inline constexpr Option kVerbose{
    .names = "-v,--verbose",
    .help = "Print settings and a summary to stderr",
    .details = R"(Print threads, SIMD level, options, and for every input how many elements were raised, lowered or
NaN; of a single input also dtype, shape and bounds as converted. `-vv` prints these of every input and member.)"};

inline constexpr Option kChunkSize{
    .names = "--chunk-size", .type = "BYTES",
    .group = kHidden,
    .help = "Bytes that a thread clips at a time",
    .details = R"(Let each thread clip BYTES at a time: 4096 to 1073741824. Default: half of the L2 cache, from 256 to 512 KiB.)"};

inline constexpr Option kSimd{
    .names = "--simd", .type = "LEVEL", .words = [] { return words_in<kSimdLevels, [](SimdLevel level) { return to_string(level); }>(); },
    .group = kHidden,
    .help = "Use the SIMD level baseline, v3 or v4",
    .details = R"(Use LEVEL in place of the CPU's best: `baseline` (x86-64: SSE2), `v3` (AVX2, F16C) or `v4`
(AVX-512).)"};

// clang-format on

}  // namespace clip_options
}  // namespace clipper
