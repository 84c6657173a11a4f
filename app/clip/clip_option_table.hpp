#pragma once

#include "clip/operation_options.hpp"
#include "command_line/shared_options.hpp"
#include "compare/match_options.hpp"

namespace clipper {

/// The command that clips.
extern const CommandSpec kClipSpec;

/// The options of kClipSpec, which lists them in the order of --help.
namespace clip_options {

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kFiles{
    .names = "FILE", .value = Value::tensor,
    .help = "A .npy, .pb, .npz or .safetensors file, with --raw any file, or as IN a member "
            "ARCHIVE.npz:NAME; - is standard input as IN, standard output as OUT",
    .details = R"(IN and OUT; with `--in-place`, `--output-dir` or `--output`, any number of inputs. `-` as IN
is standard input, `-` as OUT is standard output. IN and OUT may be the same file, which is then replaced as
with `--in-place`. An archive becomes an archive of the same format, any other tensor, also ARCHIVE.npz:NAME, a
file of one tensor (FORMATS).)"};

inline constexpr Option kToRaw{
    .names = "--to-raw", .group = "Files",
    .excludes = {{"--verify"}},
    .help = "Write elements without a header, as numpy's tofile does",
    .details = R"(Write the elements of a result in C order, in the byte order of the input, and nothing else. Names
that end in .npy or .pb are refused, and so are archives.)"};

inline constexpr Option kFailIfClipped{
    .names = "--fail-if-clipped", .type = "P%", .group = "Operation",
    .excludes = {{"--verify --finalize"}},
    .help = "Exit with 1, without a result, if more than P% of the elements would be clipped",
    .details = R"(A check of data: if more than P percent of a tensor's elements would be clipped or
become infinite, write nothing, say how many, and exit with 1. P is a number from 0 to 100 with a percent sign, and
is compared exactly: `10%`, `0.05%`; `0` allows no such element. A number without the sign is refused (2), because
0.05 may stand for 5%. SCALE AND BIAS says which elements count as clipped. Each
tensor of many files or of an archive is judged by itself. A shard cannot be judged, so `--shard` of one
tensor excludes this option.)"};

inline constexpr Option kOther{
    .names = "--other", .type = "WHAT", .words = [] { return Words{"copy", "drop", "error"}; },
    .group = "Operation",
    .excludes = {{"--finalize"}},
    .help = "Tensors that are not clipped (archives, lists, -r): copy (default), drop or error",
    .details = R"(What happens to members of archives, and to files of lists and below directories, that are not
clipped (SELECTION): `copy` copies them as they are, and leaves files alone with `--in-place`; `drop` leaves them out
of the output; and `error` refuses them (3) and names the first. An archive of which no member can be clipped is
refused either way if it is named.)"};

inline constexpr Option kInPlace{
    .names = "-i,--in-place", .group = "Files",
    .excludes = {{"--verify --finalize --to-raw"}, {"--pooled", kPooledInPlace}},
    .help = "Replace each input by its result, all or nothing",
    .details = R"(Replace every FILE by its result. At every instant, also after a crash or a power cut, the
name holds the complete old file or the complete new one. Owner, mode, access control list and user.
attributes stay, and a symbolic link is followed. A file in which no bit would change is not rewritten. A file
with several hard links is refused (5), and one that another clipper is replacing, too. Needs room for the
result beside the file. Of many files, one that finds no room is tried again alone after all others. Excludes
`--no-clobber` and `--shard`.)"};

inline constexpr Option kDirect{
    .names = "--direct", .group = "Files",
    .excludes = {{"--verify --finalize"}},
    .needs = "--in-place",
    .help = "With --in-place: overwrite the data directly, without a second file",
    .details = R"(With `--in-place`: overwrite the elements in the file itself, so that hard links stay
connected and nothing is written beside the file. While clipper works, and after an interruption, readers
refuse the file; the same command then finishes the work. Use it for files that are too large for a second
copy. Takes only bounds and replacements that leave a clipped element as it is; no archives. FILES AND SAFETY
has the details.)"};

inline constexpr Option kOutputDir{
    .names = "--output-dir", .type = "DIR", .value = Value::directory, .group = "Files",
    .excludes = {{"--verify --finalize --in-place"}},
    .help = "Write results below DIR, each under its input's path as given",
    .details = R"(Write the result of every input below DIR, under the input's path as given, without a
leading slash: in/x.npy becomes DIR/in/x.npy, whatever other inputs there are. If the only argument is a
directory, its files keep their paths below it (`--recursive`). A path with .. needs `--relative-to` or
`--flat`. Missing directories are created; a run that fails removes those of them that are empty. A symbolic link below DIR that leads out of it is not
followed (5). An input that is its own output is an error (2). Excludes `--in-place` and `--output`.)"};

inline constexpr Option kRelativeTo{
    .names = "--relative-to", .type = "DIR", .value = Value::directory, .group = "Files",
    .excludes = {{"--finalize"}},
    .needs = "--output-dir --verify",
    .help = "With --output-dir: keep the path of each input relative to DIR",
    .details = R"(With `--output-dir`: name each output after the input's path relative to DIR, however the input
was spelled. An input outside of it is an error (2). The directory must exist. Excludes `--flat`.)"};

inline constexpr Option kFlat{
    .names = "--flat", .group = "Files", .excludes = {{"--relative-to --finalize"}},
    .needs = "--output-dir --verify",
    .help = "With --output-dir: keep only the name of each input; implies -n",
    .details = R"(With `--output-dir`: an input keeps only its name, a/x.npy becomes DIR/x.npy. Two inputs
with one name are an error (2). Implies `--no-clobber`, because another run may have written the result of
another file with this name; `--force` cancels that. Excludes `--relative-to`.)"};

/// Value::directory, because most templates begin with a directory that a shell can complete.
inline constexpr Option kOutput{
    .names = "-o,--output", .type = "TEMPLATE", .value = Value::directory, .group = "Files",
    .excludes = {{"--verify --finalize --in-place --output-dir"}},
    .help = "Output path template; {dir}, {name}, {stem} and {ext} stand for parts of the input path",
    .details = R"(Write the result of every input to the path that TEMPLATE gives: {dir}, {name}, {stem} and
{ext} stand for the input's directory (`.` if its path has none), its file name, and the two halves of the
name before and from its last dot; {{ and }} stand for braces. `-o '{dir}/{stem}.clip{ext}'` writes in/a.npy
to in/a.clip.npy. Missing directories are created, as by `--output-dir`. A TEMPLATE without a placeholder is a path as OUT is, for
one input. Excludes `--in-place` and `--output-dir`.)"};

inline constexpr Option kRecursive{
    .names = "-r,--recursive", .group = "Files",
    .excludes = {{"--finalize"}},
    .help = "Clip all .npy, .npz and .safetensors files below each input directory",
    .details = R"(Inputs may be directories: every file below them whose name ends in .npy, .npz or .safetensors,
also in capital letters, is an input (with `--in-place` the latter only if `--include` asks for them), in the order of the paths.
With `--output-dir` and one directory as the only argument, the files keep their paths below it; with several arguments or a list, their paths as given. DIR must not be inside the
directory: the next run would take results as inputs. Symbolic links to directories are not followed unless
they are inputs themselves. A directory without such a file is an error (3) without `--allow-empty`. Needs
`--in-place`, `--output-dir`, `--output` or `--verify`; without `--recursive` a directory as an input is an error (2).)"};

inline constexpr Option kFilesFrom{
    .names = "--files-from", .type = "LIST", .value = Value::file, .group = "Files",
    .excludes = {{"--finalize"}},
    .help = "Read input names from LIST, one per line (-: stdin)",
    .details = R"(Read names of further inputs from the file LIST, one in each line, or from standard input if
LIST is `-`. Needs `--in-place`, `--output-dir`, `--output` or `--verify`. An empty line, and `-` as a name, is an error;
an empty list is one (3) without `--allow-empty`.)"};

inline constexpr Option kFiles0From{
    .names = "--files0-from", .type = "LIST", .value = Value::file, .group = "Files",
    .excludes = {{"--files-from --finalize"}},
    .help = "Like --files-from, but NUL-separated (find -print0)",
    .details = R"(Read names of further inputs from LIST as `--files-from` does, but each name ends with a NUL
byte, as find -print0 writes them. File names may then contain line ends. Excludes `--files-from`.)"};

inline constexpr Option kAllowEmpty{
    .names = "--allow-empty", .group = "Files",
    .excludes = {{"--finalize"}},
    .help = "Accept an empty LIST, and with -r a directory without an input",
    .details = R"(Accept a LIST of `--files-from` or `--files0-from` that has no name, and with `--recursive`
a directory without an input, which are errors (3) otherwise. If there is no input at all, clipper does
nothing and exits with 0. With `--verify`, accept that nothing is compared.)"};

inline constexpr Option kNoClobber{
    .names = "-n,--no-clobber", .group = "Files",
    .excludes = {{"--verify --in-place"}},
    .help = "Fail if an output file exists",
    .details = R"(Refuse (5) to replace a file that exists. The check and the creation are one atomic step: of
several programs that create OUT at the same time, one wins. Refused on a file system that has neither hard
links nor exclusive renames. Excludes `--in-place`; `--force` after it cancels it.)"};

inline constexpr Option kForce{
    .names = "-f,--force", .group = "Files", .overrides = "--no-clobber",
    .help = "Replace existing output files (default; undoes -n)",
    .details = R"(Replace files that exist, which is the default. Cancels a `--no-clobber` before it, for
instance one in a shell alias. It disables no other safety check.)"};

inline constexpr Option kSkipExisting{
    .names = "--skip-existing", .group = "Files", .excludes = {{"--newer --verify --finalize --in-place"}},
    .help = "Leave outputs that exist and are whole: goes on where a run stopped",
    .details = R"(An input whose output exists is skipped: its elements are not read, and the output stays as it is. An output gets its
name only when it is complete, also if clipper is killed: the same command goes on where a run stopped. An output whose
header, dtype, shape or size is not that of the result, or an archive without its end, as a power cut may leave it, is
written again. Elements are not compared: against power cuts, give `--sync`. Inputs that are skipped and outputs that were
not whole are counted, and with `--verbose` named. Excludes `--in-place`, and `--shard` with IN and OUT.)"};

inline constexpr Option kNewer{
    .names = "--newer", .group = "Files",
    .excludes = {{"--verify --finalize --in-place"}},
    .help = "Skip inputs that are not newer than their outputs, as make does",
    .details = R"(An input whose output exists and is not older is skipped, as by `--skip-existing`: the modification times of the input and of
all files that are read for it (`--figures`, `--mask`, bounds and other arrays, external data) are that of the output or earlier ones,
which is make's rule. A LIST does not count.)"};

inline constexpr Option kBackup{
    .names = "--backup", .type = "SUFFIX", .implied = "~", .group = "Files",
    .excludes = {{"--verify --finalize --direct"}},
    .help = "Keep each file that is replaced as NAME~, or as NAME and SUFFIX",
    .details = R"(Keep each file that is replaced, also with `--in-place`, under its name and SUFFIX (default: ~; no word of cp such as numbered) in the same directory.
It is the old file itself: it gets this name, a hard link, before the new file takes its place, so that at every
instant the old file has a name. If the replacement fails, the backup name is removed. A file that would get other bytes and whose
backup exists is refused (5); `--force` replaces the backup, unless the run reads or writes it, which is an error (2). After a
kill the same command goes on: what has the bytes of its result already stays, and so does its backup. Refused (5) on file systems without hard
links. Excludes `--direct`, `--verify` and `--shard` with IN and OUT.)"};

inline constexpr Option kKeepGoing{
    .names = "-k,--keep-going", .group = "Files",
    .excludes = {{"--finalize"}},
    .help = "If an input fails, go on with the other inputs",
    .details = R"(With many inputs: if one fails, print its error and go on with the others. The exit status
is the highest of all inputs. Without this option the first failure ends the run; outputs that are complete by
that time stay. Of an archive every member with a NaN that `--nan error` refuses is named.)"};

inline constexpr Option kDryRun{
    .names = "--dry-run", .group = "Files",
    .excludes = {{"--verify --finalize"}},
    .help = "Check everything, print the plan and write nothing",
    .details = R"(Read the inputs, make every check and print for each input how much would be clipped and what would be
written where; create and change nothing but the file of `--save-figures`. Excludes `--verify` and `--finalize`; with `--discard-shards`, print what would be removed.)"};

inline constexpr Option kSync{
    .names = "--sync", .group = "Files",
    .excludes = {{"--verify"}},
    .help = "Flush output to disk before exiting (fsync)",
    .details = R"(Wait until the result is on the disk before exiting, so that a power cut cannot lose it. If
the disk does not confirm this, the exit status is 6. `--in-place` and shards always do so. Without `--sync` a
new output is complete when clipper exits, but as with cp(1), a power cut soon afterwards may cost the
output.)"};

inline constexpr Option kVerify{
    .names = "--verify", .type = "GOLDEN", .value = Value::tensor, .group = match_options::kGroup,
    .excludes = {{"--finalize"}},
    .help = "Compare results with GOLDEN, a file or a directory, and write nothing",
    .details = R"(Clip IN and compare the result with the file GOLDEN in one pass; write no tensor. If GOLDEN is
a directory, or ends with a slash, there may be many inputs, and directories with `--recursive`: each result is
compared with the file that `--output-dir` would write there, also with `--relative-to` and `--flat`. Archives
are compared member by member. With `--recursive`, a golden file fails whose input has vanished: each below GOLDEN that
would belong to a directory IN, under the same `--include` and `--exclude`; with `--flat` only without these two; not
with `--files-from` and `--files0-from`. dtype and shape must be equal; byte order, memory order and the spelling of the header may
differ. Without `--rtol`, `--atol`, `--ulp`, `--tolerance` and `--nan-differ` every element must have
the same bits. The exit status is 0 if all results match; if not, it is 1, and one line on standard output for
each result that fails names the first difference. After a failure of one input the others are compared, too.
Excludes the options that say where or how results are written.)"};

inline constexpr Option kUpdateGolden{
    .names = "--update-golden", .group = match_options::kGroup,
    .excludes = {{"--finalize"}},
    .needs = "--verify",
    .help = "With --verify: write each golden file that is missing or fails",
    .details = R"(With `--verify`: write each golden file that is missing or does not match, as a whole, print
"created" or "updated" on standard error and exit with 0. A golden file that matches is not touched, and none is
deleted. If what is printed gets lost after a golden file was
written, the exit status is 6. Set the option by hand when a change of results is intended.)"};

inline constexpr Option kGoldenDtype{
    .names = "--golden-dtype", .type = "DTYPE", .words = &dtype_names, .group = match_options::kGroup,
    .excludes = {{"--finalize"}},
    .needs = "--verify",
    .help = "With --verify: read golden files as DTYPE (for |V2 and |V1 that are not what the result is)",
    .details = R"(With `--verify`: read golden files as DTYPE, as `--dtype` does inputs. Without this option a
golden file with |V2, |V1 or <V1 is assumed to have the dtype of the result if NumPy saves that dtype as raw bytes:
bfloat16 or a float8.)"};

inline constexpr Option kShard{
    .names = "--shard", .type = "K/N", .words = [] { return Words{"auto"}; }, .group = "Many processes",
    .excludes = {{"--verify --to-raw"},
                 {"--in-place",
                  "a shard that runs twice would scale its data twice; use IN OUT or --output-dir, and rename the results"}},
    .help = "Process part K (0 to N-1) of N of a tensor or of many inputs; auto: K and N from MPI or Slurm",
    .details = R"(Do part K of N, counted from 0. With IN and OUT every process clips its part of one tensor,
and `clipper --finalize OUT` puts the whole tensor in place; with `--output-dir` or `--output` the inputs are
divided by their sizes, the files of an index together, and `--finalize` is not needed. `auto` takes K and N from Open MPI, PMI or srun
(ENVIRONMENT). Standard input and output, `--in-place` and a file that is both IN and OUT are refused: a part
may run twice and would be scaled twice.)"};

inline constexpr Option kSplitOutput{
    .names = "--split-output", .group = "Many processes",
    .excludes = {{"--verify --finalize"}},
    .needs = "--shard",
    .help = "With --shard: write each part, along axis 0, to its own file OUT.K-of-N.npy",
    .details = R"(With `--shard`: write part K as a tensor of its own, rows of axis 0, to OUT.K-of-N.npy
(out.00002-of-00064.npy for OUT out.npy); OUT.json lists the files and their rows. Shards with other
parameters than those of an existing OUT.json are refused (5). For object stores and for programs that read
one file each. `--finalize` is not needed. Needs IN and OUT, and a tensor in C order with at least one
dimension.)"};

inline constexpr Option kFinalize{
    .names = "--finalize", .group = "Many processes",
    .help = "Check the parts of all shards and put OUT in place",
    .details = R"(After all shards are done: read every part, compare it with the checksum that its shard took
of what it calculated, then put OUT in place and remove the parts. If parts are missing or damaged, exit with
5, name them and change nothing: run these shards again, then `--finalize`. With the shards' arguments
(--finalize --shard 0/64 --min 0 --max 6 in.npy out.npy) it takes exactly their run; with OUT alone it takes
the run that OUT.shards names.)"};

inline constexpr Option kDiscardShards{
    .names = "--discard-shards", .group = "Many processes",
    .works_with = "--dry-run --threads --progress --no-progress --color --verbose --quiet",
    .help = "Remove what abandoned shards of OUT have left; --dry-run lists it",
    .details = R"(Remove the files that shards and `--finalize` have left beside OUT, of every run:
OUT.shards, parts, records, and hidden files of processes that were killed. OUT itself stays. `--dry-run`
prints the names of these files, one in each line, and removes none. If a shard is running, refuse (5) and
remove nothing; shards on other machines are noticed only where the file system has locks that machines
share.)"};

inline constexpr Option kJson{
    .names = "--json",
    .help = "Print one line of JSON per input",
    .details = R"(Print one JSON object in one line for every input when it is done, also if it failed; for an
archive that is done, one for each of its members; after several inputs, an object that counts them. They go to standard output, or to standard error if the
tensor goes to standard output. JSON OUTPUT lists the members of the objects.)"};

inline constexpr Option kVerbose{
    .names = "-v,--verbose",
    .help = "Print settings and a summary to stderr",
    .details = R"(Print on standard error, for every input: its dtype and shape, the bounds as converted, the
number of threads that run, the SIMD level, the options about the elements as typed, and how many elements were
raised, lowered or NaN. `--quiet` after it cancels it.)"};

inline constexpr Option kChunkSize{
    .names = "--chunk-size", .type = "BYTES", .group = kHidden,
    .help = "Bytes that a thread clips at a time; all threads together hold at most 16 MiB",
    .details = R"(Each thread reads, clips and writes BYTES at a time: 4096 to 1073741824; by default half of
the CPU's L2 cache, at least 256 and at most 512 KiB. K, M and G, or KiB, MiB and GiB, after the number are units
of 1024: 1M and 1MiB are 1048576. All threads together hold at most 16 MiB whatever the value. The result does not
depend on it.)"};

inline constexpr Option kSimd{
    .names = "--simd", .type = "LEVEL", .words = &simd_level_names, .group = kHidden,
    .help = "Use the SIMD level baseline, v3 or v4 instead of the CPU's best",
    .details = R"(Use the vector instructions of LEVEL instead of the best that the CPU has: `baseline`
(x86-64: SSE2), `v3` (AVX2, F16C) or `v4` (AVX-512). A level that the CPU does not have is an error. The
result does not depend on it.)"};

// clang-format on

}  // namespace clip_options
}  // namespace clipper
