"""The ways to run clipper, each a function of a Trial. WAYS says how often each is drawn."""

import functools
import json
import subprocess
import zipfile
from dataclasses import dataclass, replace
from fractions import Fraction

import trials
from trials import Run, np

import figures
from contract import FLOAT8, FORMATS, INPUT, INTS, USAGE, Refused, is_nan, nearest, numbers
from exact import BOUNDS, FACTORS, LISTS, NORMALIZATION, Beyond, Case, Tensor, bound, lost_in, result
from figures import is_percentile

SHARDS = 3
AGAIN = "clips every element again"  # the reason why --direct refuses


@functools.cache
def simd_levels(clipper):
    line = next(line for line in subprocess.check_output([clipper, "--version"], text=True).splitlines() if "SIMD" in line)
    return line.split("has ")[1].rstrip(")").split(", ")


def described(tensor):
    return f"{tensor.dtype} {tensor.shape} {'CF'[tensor.fortran]}{'<>'[tensor.big]}"


@dataclass
class Trial(trials.Trial):
    """One case: `case` and what is `expected`, or the `refusal` of what exact.result() does not read."""
    refusal: Refused | None = None

    def take(self, case: Case):
        """Writes the case's files. Raises Refused if clipper must refuse it."""
        self.case = case
        given = (f"{option} {described(each) if isinstance(each, Tensor) else each}" for option, each in case.parameters.items())
        self.about = f"{self.way}: {described(case.x)}; {'; '.join(given)}; {case.profile.name}"
        for option, array in case.arrays().items():
            self.path(f"{option[2:]}.npy").write_bytes(array.file())
        self.path("in.npy").write_bytes(self.file_of(case.x))
        if self.refusal:
            raise self.refusal
        self.expected = result(case)

    def file_of(self, tensor):
        """The file of a tensor; of bool with any byte but 0 for True, as views of masks have."""
        if tensor.dtype != "bool":
            return tensor.file()
        return tensor.like(tensor.elements * np.random.default_rng(self.seed).integers(1, 256, tensor.shape, "u1")).file()

    def settings(self):
        """Random settings that must not change the result."""
        rng, words = self.rng, []
        if rng.random() < 0.7:
            words += ["--threads", str(rng.choice([1, 2, 3, 8]))]
        if rng.random() < 0.7:
            words += ["--chunk-size", str(rng.choice([4096, 4096, 5000, 8192, 65536, 1 << 20]))]
        if rng.random() < 0.7:
            words += ["--simd", rng.choice(simd_levels(self.clipper))]
        return words

    def operation(self):
        """The options of the case, in a random order."""
        case = self.case
        axes = [["--per-axis", axis] for axis in case.parameters.get("--per-axis", "").split(",") if axis]
        typed = [(option, text) for option in case.parameters if option != "--per-axis"
                 for text in (case.word(option).split() if option == "--nodata" else [case.word(option)])]
        words = axes + [[option] if option == "--saturate" else [f"{option}={text}"] if self.rng.random() < 0.3 else [option, text] for option, text in typed]
        words += [["--dtype", case.x.dtype]] if case.x.dtype in FLOAT8 else []
        words += [["--profile", case.profile.name]] if case.profile.name != "clipper" else []
        self.rng.shuffle(words)
        return [word for each in words for word in each]

    def clip(self, *words, stdin=None):
        return self.run(*self.operation(), *self.settings(), *words, stdin=stdin)

    def files(self):
        return {str(path.relative_to(self.directory)): path.read_bytes() for path in self.directory.rglob("*") if path.is_file()}

    def check_done(self, run, code=0):
        errors = [line for line in run.err.splitlines() if not line.startswith("clipper: warning: ") and " before --" not in line]
        return self.check(run.code == code and not errors, f"exit {run.code}: {run.out[:300].decode(errors='replace')} {run.err.strip()}")

    def check_bytes(self, found, wanted, what="the result"):
        """Compares a file with the file of a Tensor."""
        if found == wanted.file():
            return
        if found is None or len(found) != len(wanted.file()) or not found.startswith(wanted.header()):
            self.wrong.append(f"{what} is {found and found[:128]!r}, not {wanted.header()!r}")
            return
        order, x = "F" if wanted.fortran else "C", self.case.x
        got = np.frombuffer(found[len(wanted.header()):], wanted.bits.dtype.newbyteorder(">" if wanted.big else "<"))
        right = wanted.bits.ravel(order)
        at = int(np.flatnonzero(got != right)[0])
        before = f"; x is {x.bits.ravel(order)[at]:#x}" if wanted.shape == x.shape else ""
        index = [int(each) for each in np.unravel_index(at, wanted.shape, order)]
        self.wrong.append(f"{what} differs in {int((got != right).sum())} of {right.size}, first at {index}: {got[at]:#x}, not {right[at]:#x}{before}")

    def check_only(self, before, new=()):
        """Checks that of the files `before` none changed, and that there is none but `new` besides."""
        now = self.files()
        for name in sorted(set(before) | set(now)):
            if name not in new and before.get(name) != now.get(name):
                self.wrong.append(f"{name} was {'changed' if name in before and name in now else 'left' if name in now else 'removed'}")

    def check_counts(self, run, expected=None, parts=1):
        """The counts that `parts` objects of JSON say, together."""
        if run.code:
            return
        expected = expected or self.expected
        said = [json.loads(line) for line in run.out.splitlines()]
        self.check(len(said) == parts, f"{len(said)} objects of JSON, not {parts}")
        counts = [sum(each.get(name, 0) for each in said) for name in ("raised", "lowered", "nan", "became_infinite", "became_zero", "nodata", "became_nodata")]
        right = [expected.raised, expected.lowered, expected.nan, expected.infinite, expected.zero, expected.nodata, expected.became_nodata]
        right = [number if each is None else each for each, number in zip(right, counts)]
        self.check(counts == right, f"raised, lowered, NaN, became infinite, became 0, nodata and became nodata are {counts}, not {right}")

    def check_result(self, run, before, name):
        self.check_done(run)
        self.check_bytes(self.files().get(name), self.expected.result, name)
        self.check_only(before, (name,))

    def check_refused(self, run, before, code, words):
        """`words`: alternatives for each word that the message must have."""
        self.check(run.code == code, f"exit {run.code}, not {code}: {run.err.strip()}")
        errors = [line for line in run.err.splitlines() if not line.startswith("clipper: warning: ") and " before --" not in line]
        self.check(len(errors) == 1 and errors[0].startswith("clipper: "), f"on stderr: {run.err!r}")
        for alternatives in words:
            self.check(any(word in run.err for word in alternatives), f"none of {sorted(alternatives)} in: {run.err.strip()}")
        self.check_only(before)


# One tensor ----------------------------------------------------------------------------------------------


def to_file(trial):
    if trial.rng.random() < 0.3:
        trial.path("out.npy").write_bytes(b"something else")
    before = trial.files()
    run = trial.clip("--json", "in.npy", "out.npy")
    trial.check_result(run, before, "out.npy")
    trial.check_counts(run)
    if run.code:
        return
    said = json.loads(run.out)
    result, x = trial.expected.result, trial.case.x
    changed = bool(x.elements.size) and (result.dtype, result.file()) != (x.dtype, before["in.npy"])
    trial.check(said["changed"] == changed, f"changed is {said['changed']}")
    for side in BOUNDS:
        valid = x.like(x.elements[~trial.case.is_nodata])
        if not {"--per-axis", "--mask"} & {*trial.case.parameters} and figures.is_percentage(trial.case.parameters.get(side)) and not is_nan(valid.elements, x.dtype).all() and x.dtype in FORMATS | dict.fromkeys(INTS):
            case = replace(trial.case, x=valid)
            if case.exact_bounds:
                number, wanted = Fraction(str(said[side[2:]])), bound(case, side).numbers.item()
                trial.check((float(number) if isinstance(wanted, float) else number) == wanted, f"{side} is {said[side[2:]]}, not {wanted}")
                continue
            found = nearest(float(said[side[2:]]), case.bound_dtype) if case.bound_dtype in FORMATS else int(said[side[2:]]) % (1 << 8 * x.elements.itemsize)
            trial.check(found == bound(case, side).bits, f"{side} is {said[side[2:]]}, not {bound(trial.case, side).numbers}")


def from_pipe(trial):
    before = trial.files()
    run = trial.clip("--json", "-", "out.npy", stdin=before["in.npy"])
    trial.check_result(run, before, "out.npy")
    trial.check_counts(run)


def through_pipes(trial):
    before = trial.files()
    run = trial.clip("-", "-", stdin=before["in.npy"])
    trial.check_done(run)
    trial.check_bytes(run.out, trial.expected.result, "standard output")
    trial.check_only(before)


def in_place(trial, *more):
    before = trial.files()
    run = trial.clip("--in-place", "--json", *more, "in.npy")
    trial.check_result(run, before, "in.npy")
    trial.check_counts(run)


def in_place_direct(trial):
    """What would change elements a second time is refused. Whether a replacement would, clipper alone decides."""
    parameters, before = trial.case.parameters, trial.files()
    refused = {*FACTORS, *NORMALIZATION, "--round", "--to", "--nodata-to"} & set(parameters)
    if refused or ({"--nan", "--replace-below", "--replace-above"} & set(parameters) and trial.clip("--in-place", "--direct", "--dry-run", "in.npy").code):
        return trial.check_refused(trial.clip("--in-place", "--direct", "in.npy"), before, 2, [{AGAIN}] if not refused else ())
    return in_place(trial, "--direct")


def can_be_saved(case):
    """Whether a file of figures says all that these parameters are."""
    is_ranged = "--stretch-from" in case.parameters and case.parameters["--stretch"] != "0:1"
    return {*LISTS, "--stretch-from"} & {*case.parameters} and case.profile.name == "clipper" and case.x.dtype in FORMATS | dict.fromkeys(INTS) and not case.divides and not is_ranged


def apply(trial):
    """Takes fit.npz in place of the parameters that it has."""
    case, given = trial.case, trial.case.parameters
    gone = {*LISTS, "--divide-zero"} | ({"--per-axis", "--mask", "--norm"} if "--max-norm" not in given else set()) | ({"--stretch", "--stretch-from"} if "--stretch-from" in given else set())
    trial.case = replace(case, parameters={option: each for option, each in given.items() if option not in gone})
    run = trial.clip("--apply", "fit.npz", "in.npy", "out.npy")
    trial.case = case
    return run


def masked(trial):
    """Figures of the elements of a mask are those of a tensor in which all others are nodata."""
    case, rng, x = trial.case, trial.rng, trial.case.x
    finds_exactly = any(figures.is_factor_figure(case.parameters.get(option)) for option in NORMALIZATION[:2]) and x.elements.itemsize == 8 and x.dtype in INTS
    if not can_be_saved(case) or not figures.has_figures(case) or finds_exactly or {"--max-norm", "--nodata", "--mask"} & {*case.parameters} or not x.elements.size:
        return to_file(trial)
    known = numbers(x.elements, x.dtype)
    highest = np.iinfo(x.dtype).max if x.dtype in INTS else 2**15
    mark = next((2**power for power in range(16) if 2**power <= highest and not (known == 2**power).any()), None)
    if mark is None:
        return to_file(trial)
    shape = tuple(rng.choice([size, size, 1]) for size in x.shape)
    counts = np.random.default_rng(trial.seed).random(shape) < rng.choice([0.1, 0.5, 0.9])
    kind = rng.choice(["bool", "u1", ">f4", "<i8"])
    mask = np.where(counts, rng.choice([1, 7, np.nan]) if kind == ">f4" else 1, rng.choice([0, -0.0])).astype(kind)
    np.save(trial.path("mask.npy"), np.asarray(mask, order=rng.choice("CF")))
    other = x.elements.copy()
    other[~np.broadcast_to(counts, x.shape)] = np.array(nearest(mark, x.dtype) if x.dtype in FORMATS else mark, f"u{x.elements.itemsize}").view(x.elements.dtype)
    trial.path("other.npy").write_bytes(x.like(other).file())
    fit = trial.clip("--nodata", str(mark), "--nodata-to", str(mark), "--fit", "fit.npz", "--dry-run", "-q", "other.npy", "out.npy")
    applied = apply(trial) if fit.code == 0 else fit
    one_step = trial.files().get("out.npy")
    run = trial.clip("--mask", "@mask.npy", "in.npy", "out.npy")
    is_left_out = "are no bounds" in run.err or "is no bound" in run.err  # and so are the steps that need it
    if fit.code == 0 and applied.code == 0 and not is_left_out and trial.check_done(run):
        trial.check(trial.files()["out.npy"] == one_step, "--mask has other figures than the same elements without nodata")
    return None


def fit_and_apply(trial):
    """The figures that one run saves, which another one takes."""
    case, before = trial.case, trial.files()
    given = case.parameters
    needs_figures = {"--stretch", "--replace-below", "--replace-above"} & {*given}  # which a file lacks that are lost
    are_lost = bool(lost_in(case, case.x) or (~case.is_nodata).sum() == 0)
    if not can_be_saved(case) or needs_figures and are_lost:
        return to_file(trial)
    run = trial.clip("--fit", "fit.npz", *trial.rng.choice([[], ["--dry-run", "-q"]]), "in.npy", "out.npy")
    if run.code == 3 and ("an index has none" in run.err or "is not saved" in run.err) or run.code == 2 and "elements take has this number" in run.err:
        return None
    if not trial.check_done(run):
        return None
    trial.check_only(before, ("out.npy", "fit.npz"))
    run = apply(trial)
    return trial.check_done(run) and trial.check_bytes(trial.files().get("out.npy"), trial.expected.result, "what was applied")


def in_archive(trial, *more, out="out.npz"):
    """A member with the case's tensor, stored or deflated."""
    with zipfile.ZipFile(trial.path("a.npz"), "w", trial.rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        archive.writestr("x.npy", trial.path("in.npy").read_bytes())
        if more:
            archive.writestr("other.npy", Tensor("float64", np.array([1.5])).file())
    before = trial.files()
    run = trial.clip("--json", *(more or ["--only", "all"]), "a.npz", out)
    trial.check_only(before, (out,))
    if trial.check_done(run):
        with zipfile.ZipFile(trial.path(out)) as archive:
            trial.check_bytes(archive.read("x.npy"), trial.expected.result, f"{out}:x.npy")
        lines = [line for line in run.out.splitlines() if json.loads(line).get("member", "x.npy") == "x.npy"]
        trial.check_counts(Run(0, b"\n".join(lines), ""))


def named_member(trial):
    in_archive(trial, "--member", "x")


def member_as_file(trial):
    with zipfile.ZipFile(trial.path("a.npz"), "w") as archive:
        archive.writestr("x.npy", trial.path("in.npy").read_bytes())
    before = trial.files()
    trial.check_result(trial.clip("a.npz:x", "out.npy"), before, "out.npy")


def verify(trial):
    trial.path("golden.npy").write_bytes(trial.expected.result.file())
    before = trial.files()
    trial.check_done(trial.clip("in.npy", "--verify", "golden.npy"))
    trial.check_only(before)


def verify_another(trial):
    """A golden with one element changed."""
    right, dtype = trial.expected.result, trial.expected.result.dtype
    if not right.elements.size:
        return verify(trial)
    other = right.bits.copy().ravel()
    at = trial.rng.randrange(other.size)
    one, two = (nearest(number, dtype) if dtype in FORMATS else other[at] ^ other.dtype.type(1) for number in (1, 2))
    other[at] = two if other[at] == one else one
    trial.path("golden.npy").write_bytes(right.like(other.view(right.elements.dtype).reshape(right.shape)).file())
    before = trial.files()
    run = trial.clip("in.npy", "--verify", "golden.npy")
    index = str([int(each) for each in np.unravel_index(at, right.shape)])
    trial.check(run.code == 1 and index.replace(" ", "") in run.out.decode().replace(" ", ""),
                f"--verify of another golden, {index}: exit {run.code}: {run.out.decode()} {run.err}")
    return trial.check_only(before)


def dry_run(trial):
    before = trial.files()
    run = trial.clip("--dry-run", "--json", "in.npy", "out.npy")
    trial.check(run.code == 0, f"exit {run.code}: {run.err}")
    trial.check_counts(run)
    trial.check_only(before)


def fail_if_clipped(trial):
    before, expected, count = trial.files(), trial.expected, trial.case.x.elements.size - trial.expected.nodata
    if None in (expected.raised, expected.infinite):
        return to_file(trial)
    clipped = expected.raised + expected.lowered + expected.infinite
    limit = trial.rng.choice([0, 1, 25, 50, 99, 100])
    run = trial.clip("--fail-if-clipped", f"{limit}%", "in.npy", "out.npy")
    if clipped * 100 <= limit * count:
        return trial.check_result(run, before, "out.npy")
    trial.check(run.code == 1, f"{clipped} of {count} clipped, limit {limit} %: exit {run.code}: {run.err}")
    return trial.check_only(before)


def info(trial):
    """Elements below and above the bounds, and the mean of flags."""
    case, before = trial.case, trial.files()
    words = [word for side in BOUNDS if side in case.parameters for word in (side, case.word(side))]
    words += ["--dtype", case.x.dtype] if case.x.dtype in FLOAT8 else []
    nodata = case.parameters.get("--nodata", "").split()
    words += [f"--nodata={text}" for text in nodata]
    if not words or any(map(is_percentile, words)) or set(case.parameters) - {*BOUNDS, *FACTORS, "--nan", "--min-above-max", "--nodata", "--nodata-to"} or case.profile.name != "clipper":
        return to_file(trial)
    run = trial.run("info", "--stats", "--json", *words, "in.npy")
    trial.check_done(run)
    trial.check_only(before)
    if run.code:
        return None
    exactly = {"--round": "half-even"} if case.x.dtype in INTS else {}
    limits = [bound(Case(case.x, {side: case.parameters[side]} | exactly, is_stretched=True), side) if side in case.parameters else None for side in BOUNDS]
    x, nans = numbers(case.x.elements, case.x.dtype), is_nan(case.x.elements, case.x.dtype) | case.is_nodata
    right = [int(((x < limit.numbers if sign < 0 else x > limit.numbers) & ~nans).sum()) if limit else 0 for limit, sign in zip(limits, (-1, 1))]
    said = json.loads(run.out)["statistics"]
    trial.check([said["bounds"]["below"], said["bounds"]["above"]] == right, f"below and above are {said}, not {right}")
    trial.check(said.get("nodata", 0) == int(case.is_nodata.sum()), f"nodata is {said}")
    if case.x.dtype == "bool" and x.size:
        trial.check(said.get("mean") == int(x.sum()) / x.size, f"mean is {said}")
    return None


# Several files -------------------------------------------------------------------------------------------


def batch(trial):
    """Three files of different shapes."""
    tensors = {"in.npy": trial.case.x}
    for name in ("b.npy", "c.npy"):
        shape, dtype = trial.draw.other_shape(trial.case), trial.case.x.dtype
        tensors[name] = trial.draw.tensor(dtype, trial.draw.elements(dtype, shape, nan=trial.case.nan != "error"))
        trial.path(name).write_bytes(trial.file_of(tensors[name]))
    before = trial.files()
    names = trial.rng.sample(list(tensors), 3)
    run = trial.clip("--json", "--output-dir", "made", *names)
    trial.check_done(run)
    now = trial.files()
    said = {each["input"]: line for line in run.out.splitlines() if "input" in (each := json.loads(line))}  # not the summary
    for name, tensor in tensors.items():
        expected = result(Case(tensor, trial.case.parameters, trial.case.profile, trial.case.divides))
        trial.check_bytes(now.get(f"made/{name}"), expected.result, f"made/{name}")
        trial.check_counts(Run(run.code, said.get(name, b""), ""), expected)
    trial.check_only(before, [f"made/{name}" for name in tensors])


def pooled(trial, archive=False):
    """The tensor in parts along axis 0, in two or three files, or members of an archive."""
    x, before = trial.case.x, trial.files()
    ends = sorted(trial.rng.sample(range(1, x.shape[0]), min(2, x.shape[0] - 1)))
    parts = [slice(*pair) for pair in zip([0, *ends], [*ends, x.shape[0]])]
    names = [f"{i}.npy" for i in range(len(parts))]
    files = [trial.draw.tensor(x.dtype, x.elements[part]) for part in parts]
    for name, part in zip(names, files):
        trial.path(name).write_bytes(part.file())
    inputs = names
    if archive:
        inputs = ["all.npz"]
        with zipfile.ZipFile(trial.path("all.npz"), "w", trial.rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as members:
            for name in names:
                members.write(trial.path(name), name)
    before = trial.files()
    run = trial.clip("--pooled", *(["--only", "all"] if archive else []), "--output-dir", "made", *inputs)
    if not trial.check_done(run):
        return
    now = trial.files()
    for name, part, each in zip(names, parts, files):
        right = trial.expected.result.like(trial.expected.result.elements[part])
        right = type(right)(right.dtype, right.elements, each.fortran, replace(trial.case, x=each).is_big)
        if archive:
            with zipfile.ZipFile(trial.path("made/all.npz")) as members:
                trial.check_bytes(members.read(name), right, name)
        else:
            trial.check_bytes(now.get(f"made/{name}"), right, f"made/{name}")
    trial.check_only(before, ["made/all.npz"] if archive else [f"made/{name}" for name in names])


def pooled_members(trial):
    pooled(trial, archive=True)


def can_be_pooled(case):
    """Whether the figures of parts along axis 0 are those of the whole."""
    rank = len(case.x.shape)
    return (case.profile.name == "clipper" and rank > 0 and case.x.shape[0] > 1 and case.x.elements.size > 0 and figures.has_figures(case) and not case.arrays()
            and case.x.dtype in FORMATS | dict.fromkeys(INTS) and not {0, -rank} & {*figures.axes_of(case)})


def shards(trial):
    before, operation, runs = trial.files(), trial.operation(), []
    for shard in trial.rng.sample(range(SHARDS), SHARDS):
        runs.append(trial.run(*operation, *trial.settings(), "--json", "--shard", f"{shard}/{SHARDS}", "in.npy", "out.npy"))
        trial.check_done(runs[-1])
    trial.check_counts(Run(max(run.code for run in runs), b"".join(run.out for run in runs), ""), parts=SHARDS)
    trial.check_result(trial.run("--finalize", *trial.rng.choice([[], [*operation, "in.npy"]]), "out.npy"), before, "out.npy")


def split_output(trial):
    """Only tensors in C order can be split along axis 0."""
    if not trial.case.x.shape or b"'fortran_order': True" in trial.case.x.header():
        return to_file(trial)
    before = trial.files()
    for shard in range(SHARDS):
        trial.check_done(trial.clip("--shard", f"{shard}/{SHARDS}", "--split-output", "in.npy", "out.npy"))
    now = trial.files()
    if not trial.check("out.json" in now, "out.json is missing"):
        return None
    slabs = json.loads(now["out.json"])["slabs"]
    for slab in slabs:
        part = trial.expected.result.like(trial.expected.result.elements[slab["begin"]:slab["end"]])
        trial.check_bytes(now.get(slab["file"]), part, slab["file"])
    ends = [0, *(slab["end"] for slab in slabs)]
    trial.check(ends[-1] == trial.case.x.shape[0] and ends[:-1] == [slab["begin"] for slab in slabs], f"slabs {slabs}")
    return trial.check_only(before, ["out.json", *(slab["file"] for slab in slabs)])


# A case that clipper must refuse -------------------------------------------------------------------------

SECOND = "no such axis", "the length of --stretch-from", "replacement that the dtype does not have"  # with figures, another fault may be found first


def refused(trial, refusal: Refused):
    """In a way that reads one tensor: no file is written."""
    before, words = trial.files(), [["in.npy", "out.npy"], ["--in-place", "in.npy"], ["--dry-run", "in.npy", "out.npy"], ["--output-dir", "made", "in.npy"]]
    if not figures.has_figures(trial.case):
        words += [["-", "-"], ["-", "out.npy"]]
        if not {*FACTORS, *NORMALIZATION, "--round", "--to", "--replace-below", "--replace-above", "--nan", "--nodata-to"} & set(trial.case.parameters):
            words += [["--in-place", "--direct", "in.npy"]]
    names = trial.rng.choice(words)
    run = trial.clip(*names, stdin=before["in.npy"] if "-" in names else None)
    late = refusal.rule.startswith(("NaN element", "beyond the dtype"))  # by then chunks before the element are written
    trial.check(names != ["-", "-"] or not run.out or late, "something on standard output")
    if refusal.rule in SECOND and run.code in (USAGE, INPUT) and figures.has_figures(trial.case):
        return trial.check_refused(run, before, run.code, ())
    return trial.check_refused(run, before, refusal.code, refusal.words)


ONE_INPUT = {to_file: 6, in_place: 2, in_archive: 2, named_member: 1, member_as_file: 1, verify: 1, verify_another: 1, dry_run: 1, fit_and_apply: 3, masked: 3, fail_if_clipped: 2,
             info: 2}
WAYS = ONE_INPUT | {in_place_direct: 2, through_pipes: 2, from_pipe: 2, batch: 2, shards: 2, split_output: 2}
