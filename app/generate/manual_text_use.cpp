#include "generate/manual_text.hpp"

namespace clipper::manual_text {

const std::string_view kDescription = R"text(
clipper reads tensors from .npy files, the format of NumPy, and from .npz archives of such files (see ARCHIVES). Every
element less than `--min` becomes min, every element greater than `--max` becomes max, and all other elements keep their
exact bits. dtype, shape, byte order and memory order stay the same. `--scale` and `--bias` calculate x * scale + bias before the clip. The result
goes to a new file, over the input (`--in-place`) or to standard output.

The result is byte for byte what np.save(np.clip(x, lo, hi)) writes if lo and hi have the dtype of x; DTYPES AND
BOUNDS lists where it is not. `--profile` follows the rules of DirectML, ONNX Clip or OpenVINO Clamp instead.

clipper uses all CPUs and their vector instructions. The instruction set, the number of threads and the way of
reading and writing never change a byte of the result. Whatever the size of a tensor, clipper holds at most 16 MiB
of elements in memory.

Options may come before, between and after the file names, up to the argument `--`. `--min=-1` and `--min -1`
are the same. If an option is given twice, the last one counts. A file whose name is that of a command is given with
its directory: `./info`.

A file name of `-` is standard input or standard output. Standard input is read only if `-` is given, so that a loop of
the shell that reads names keeps its own. A tensor goes to standard output only if OUT is `-`, and never to
a terminal. Errors, warnings and everything else that is written for people go to standard error; an
error is one line, which begins with "clipper:".

Without anything to do (no bound, scale, bias or `--nan`, and a profile that has no default bounds) clipper exits
with 2.
)text";

const std::string_view kExitStatus = R"text(
= 0
Success: every result is complete and in place, or nothing had to change.

= 1
The data is not as demanded: compare or `--verify` found a difference, or `--fail-if-clipped` found more clipped
elements than allowed. Nothing was written, except by `--diff-out`.

= 2
Wrong usage: an unknown option, a bound that is not a number, options that contradict each other, two inputs with
the same output.

= 3
An input was refused: it is not a valid .npy file or .npz archive, its dtype or number of dimensions is not one that the
profile takes, or `--nan error` found a NaN. A list of inputs or a directory without any is refused, too.

= 4
The system refused: a file cannot be read or written, the disk is full, there is not enough memory, or another
program changed the input while it was read.

= 5
Refused to avoid a loss of data: the file has several hard links, another program has locked it, such as another clipper,
or has replaced it, OUT exists and `--no-clobber` is given, an interrupted `--direct` belongs to another
command, or parts of shards are missing or damaged.

= 6
The result is in place, but the disk did not confirm it, a hidden temporary file could not be removed (the line names
it), or a line of `--json` could not be written.

= 128 + n
Ended by signal n, for example 130 by Ctrl-C. Nothing is printed.

With many files the first failure decides; with `--keep-going` it is the highest status of all files. Of compare and
info it is always the highest status. After 3, 4, 5 or a signal, a file that was to be replaced is as it was; with
`--direct` it may be unfinished, and the same command is the right thing to do next.
)text";

const std::string_view kJson = R"text(
With `--json`, clipper, compare and info print one object per line, of archives one for each member, and profiles prints
an array. The objects of clipper go
to standard error if the tensor goes to standard output, also under a name such as /dev/stdout. An error is printed as a line on
standard error as well.

    $ clipper --min 0 --max 6 --json in.npy out.npy
    {"version":2,"input":"in.npy","output":"out.npy","status":0,...

Numbers are JSON numbers, and an array as a bound, scale or bias is an object: {"file": "lo.npy", "shape": [3, 1, 1]}. Only what
JSON or a float64 cannot hold is a string: "inf", "-inf", "nan", integers beyond 2^53, and
numbers with more digits than a float64 has. If the name of a file or of a member is not UTF-8, its wrong bytes become
U+FFFD, and all its bytes follow in base64: those of "input" in "input_bytes". `version` is raised if the
meaning of a member changes; new members may come at any time. data/clipper.schema.json of the source is a JSON Schema of
everything below.
)text";

const std::string_view kEnvironment = R"text(
= `NO_COLOR`
If it is set and not empty, `--color auto` uses no color.

= `TERM`
If it is missing or "dumb", a terminal does not count as one: no progress without `--progress`, and no color without
`--color always`.

= `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE`
Set by Open MPI: K and N of `--shard auto`.

= `PMI_RANK`, `PMI_SIZE`
Set by MPICH, Intel MPI and other launchers with PMI: K and N of `--shard auto`, if Open MPI's are missing.

= `SLURM_PROCID`, `SLURM_NTASKS`
Set by srun: K and N of `--shard auto`, if the others are missing. The variables of an array job are never used, nor is
PMIx, which does not say how many processes there are.

= `TMPDIR`
The directory in which large deflated members of .npz archives are inflated, to files without a name; /var/tmp if TMPDIR is missing
or empty. All other temporary files are beside the file that they become.

Nothing else is read from the environment: no locale, since numbers always have a decimal point. The width of a terminal
is asked of the terminal, not of COLUMNS.
)text";

const std::string_view kExamples = R"text(
ReLU6: clip to the range from 0 to 6.

    $ clipper --min 0 --max 6 in.npy out.npy

Only one side: replace negative elements by 0.

    $ clipper --min 0 in.npy out.npy

Replace files by their results; each file is entirely old or entirely new at every instant.

    $ clipper --min -1 --max 1 --in-place a.npy b.npy

Clip a directory of tensors into another one, with the same layout.

    $ clipper --min 0 --output-dir clipped --recursive in

Write each result beside its input; print what would be done first.

    $ clipper --min 0 -o '{dir}/{stem}.clip{ext}' --dry-run a.npy b.npy
    clipper: a.npy: would be written to ./a.clip.npy
    clipper: b.npy: would be written to ./b.clip.npy

Calculate x * 0.5 + 1, then clip to at most 6.

    $ clipper --scale 0.5 --bias 1 --max 6 in.npy out.npy

Take the bounds from tensors with one element of the input's dtype.

    $ clipper --min @lo.npy --max @hi.npy in.npy out.npy

Clip each channel of a tensor of shape (N, C, H, W) to bounds of its own: arrays of shape (C, 1, 1).

    $ clipper --min @lows.npy --max @highs.npy images.npy out.npy

Normalise each channel, (x - mean) / std: scale.npy has 1 / std, bias.npy has -mean / std, both of shape (C, 1, 1).

    $ clipper --scale @scale.npy --bias @bias.npy images.npy normalised.npy

Clip all tensors of an archive, or one of its members.

    $ clipper --min 0 --max 6 w.npz clipped.npz
    $ clipper --min 0 --max 6 --in-place --member a w.npz
    $ clipper --min 0 --max 6 w.npz:a a.npy

Clip the outliers: one percent of the elements on each side.

    $ clipper --min 1% --max 99% in.npy out.npy

See how much a clip would change, then what clipper has done.

    $ clipper info --min 0 --max 6 in.npy
    ...
    $ clipper -v --min 0 --max 6 in.npy out.npy
    clipper: in.npy: float32 (6,), ... min 0, max 6, profile native
    clipper: 1 thread, ... KiB chunks, SIMD level ...
    clipper: in.npy: clipped 33.3 % (16.7 % raised, 16.7 % lowered), ...

Refuse data of which more than 10 percent would be clipped. The exit status is 1 and nothing is written.

    $ clipper --min 0 --max 6 --fail-if-clipped 10 in.npy out.npy
    clipper: in.npy: 33.3 % would be clipped, more than 10 %

Stop at the first NaN and name its index.

    $ clipper --nan error --max 6 in.npy out.npy
    clipper: in.npy: NaN at [5] (element 5)

Use the rules of another system.

    $ clipper --profile onnx-6 --min 0 --max 6 in.npy out.npy

Compare a result with the expected tensor, with a tolerance; or clip and compare in one pass.

    $ clipper compare --rtol 1e-5 out.npy golden.npy
    $ clipper --min 0 --max 6 in.npy --verify golden.npy

Read from a pipe and write to a pipe, which numpy.load cannot.

    $ producer | clipper --min 0 --max 6 - - | consumer

Clip one tensor with many processes or machines.

    $ mpirun -np 4 clipper --shard auto --max 6 in.npy out.npy
    $ clipper --finalize out.npy
)text";

const std::string_view kSeeAlso = R"text(
`cmp`(1), `cp`(1), `find`(1), `xargs`(1), `parallel`(1), `mpirun`(1), `srun`(1)

NumPy's manual describes the files (numpy.lib.format) and the operation (numpy.clip). clipper's source has the README
files of lib/files (how files are replaced), lib/shards (the protocol of shards, and what was tried on which file
system) and tests/faults (what nobody can notice).
)text";

}  // namespace clipper::manual_text
