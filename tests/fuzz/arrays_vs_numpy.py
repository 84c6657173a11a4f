#!/usr/bin/env python3
"""Clips random tensors to arrays of bounds, scales and biases, with clipper and with numpy, and checks that both agree. One
process of clipper per case; the ways to run it take turns."""

import functools
import json
import random
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import trials
from trials import Run, np

import array_cases
import array_edges
from array_cases import Case, Draw

SMALL, LARGE, HUGE = 5_000, 40_000, 800_000  # elements
SHARDS = 3


@dataclass
class Trial(trials.Trial):
    """One case: `case` and what is `expected`, which the `oracle` says."""
    oracle = staticmethod(array_cases.expected)

    def take(self, case: Case):
        self.case, self.expected = case, self.oracle(case)

    @property
    def draw(self):
        return Draw(self.rng, self.generator)

    def draw_case(self, way):
        case = self.draw.case(size_for(self.rng, way))
        if way and self.rng.random() < 0.3 and all(array.elements.size for array in case.arrays().values()):
            case = case.as_numbers()
        self.take(case)

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
        words = []
        for option, given in self.case.parameters.items():
            words.append((option, given if isinstance(given, str) else f"@{option[2:]}.npy"))
        if self.case.nan:
            words.append(("--nan", self.case.nan))
        if self.case.above:
            words.append(("--min-above-max", self.case.above))
        self.rng.shuffle(words)
        return [word for pair in words for word in pair]

    def prepare(self):
        for option, array in self.case.arrays().items():
            self.path(f"{option[2:]}.npy").write_bytes(array.file())
        self.path("in.npy").write_bytes(self.case.x.file())

    def clip(self, *words, stdin=None):
        return self.run(*self.operation(), *self.settings(), *words, stdin=stdin)

    def files(self):
        return {str(path.relative_to(self.directory)): path.read_bytes() for path in self.directory.rglob("*") if path.is_file()}

    def check_done(self, run):
        errors = [line for line in run.err.splitlines() if not line.startswith("clipper: warning: ")]
        self.check(run.code == 0 and not errors, f"exit {run.code}: {run.err.strip()}")

    def check_bytes(self, found, wanted, what="the result"):
        """Compares a file with the file of a Tensor."""
        if found == wanted.file():
            return
        if found is None or len(found) != len(wanted.file()) or not found.startswith(wanted.header()):
            self.wrong.append(f"{what} is {found and found[:128]!r}, not {wanted.header()!r}")
            return
        order, size, elements = "F" if wanted.fortran else "C", wanted.elements.itemsize, self.case.x.elements
        unsigned = np.dtype(f"{'>' if wanted.big else '<'}u{size}")
        got = np.frombuffer(found[len(wanted.header()):], unsigned).astype(f"u{size}")
        right = wanted.elements.ravel(order).view(f"u{size}")
        at = int(np.flatnonzero(got != right)[0])
        x = elements.ravel(order).view(f"u{elements.itemsize}")[at] if wanted.shape == elements.shape else 0
        index = [int(each) for each in np.unravel_index(at, wanted.shape, order)]
        self.wrong.append(f"{what} differs in {int((got != right).sum())} of {right.size}, first at {index}: "
                          f"{got[at]:#x}, not {right[at]:#x}; x is {x:#x}")

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
        counts = [sum(each.get(name, 0) for each in said) for name in ("raised", "lowered", "nan", "became_infinite", "became_zero")]
        right = [expected.raised, expected.lowered, expected.nan, expected.infinite, expected.zero]
        right = [number if each is None else each for each, number in zip(right, counts)]
        self.check(counts == right, f"raised, lowered, NaN, became infinite and became 0 are {counts}, not {right}")

    def check_result(self, run, before, name):
        self.check_done(run)
        now = self.files()
        self.check_bytes(now.get(name), self.expected.result, name)
        self.check_only(before, (name,))

    def check_refused(self, run, before, codes, words):
        """`words`: alternatives for each word that the message must have."""
        self.check(run.code in codes, f"exit {run.code}, not {codes}: {run.err.strip()}")
        errors = [line for line in run.err.splitlines() if not line.startswith("clipper: warning: ")]
        self.check(len(errors) == 1 and errors[0].startswith("clipper: "), f"on stderr: {run.err!r}")
        for alternatives in words:
            self.check(any(word in run.err for word in alternatives), f"none of {sorted(alternatives)} in: {run.err.strip()}")
        self.check_only(before)


# The ways to run clipper ---------------------------------------------------------------------------------


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
    changed = bool(x.elements.size) and (result.dtype, result.data()) != (x.dtype, x.data())
    trial.check(said["changed"] == changed, f"changed is {said['changed']}")


def from_pipe(trial):
    before = trial.files()
    run = trial.clip("--json", "-", "out.npy", stdin=trial.case.x.file())
    trial.check_result(run, before, "out.npy")
    trial.check_counts(run)


def through_pipes(trial):
    before = trial.files()
    run = trial.clip("-", "-", stdin=trial.case.x.file())
    trial.check_done(run)
    trial.check_bytes(run.out, trial.expected.result, "standard output")
    trial.check_only(before)


def in_place(trial, *more):
    before = trial.files()
    run = trial.clip("--in-place", "--json", *more, "in.npy")
    trial.check_result(run, before, "in.npy")
    trial.check_counts(run)


def in_archive(trial):
    """A member with the case's tensor, stored or deflated."""
    with zipfile.ZipFile(trial.path("a.npz"), "w", trial.rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        archive.writestr("x.npy", trial.case.x.file())
    before = trial.files()
    run = trial.clip("--json", "--only", "all", "a.npz", "out.npz")
    trial.check_done(run)
    trial.check_counts(run)
    trial.check_only(before, ("out.npz",))
    if not run.code:
        with zipfile.ZipFile(trial.path("out.npz")) as archive:
            trial.check_bytes(archive.read("x.npy"), trial.expected.result, "out.npz:x.npy")


AGAIN = "clips every element again"  # the reason why --direct refuses


def in_place_direct(trial):
    """What would change elements a second time is refused. Whether a replacement would, clipper alone decides."""
    parameters, before = trial.case.parameters, trial.files()
    refused = {"--scale", "--bias", "--round", "--to"} & set(parameters)
    if refused or ({"--nan", "--replace-below", "--replace-above"} & set(parameters) and trial.clip("--in-place", "--direct", "--dry-run", "in.npy").code):
        return trial.check_refused(trial.clip("--in-place", "--direct", "in.npy"), before, (2,), [{AGAIN}] if not refused else ())
    return in_place(trial, "--direct")


def batch(trial):
    """Three files of different shapes."""
    tensors = {"in.npy": trial.case.x}
    for name in ("b.npy", "c.npy"):
        shape = trial.draw.other_shape(trial.case)
        tensors[name] = trial.draw.tensor(trial.case.x.dtype, trial.draw.elements(trial.case.x.dtype, shape, nan=True))
        trial.path(name).write_bytes(tensors[name].file())
    before = trial.files()
    names = trial.rng.sample(list(tensors), 3)
    run = trial.clip("--json", "--output-dir", "made", *names)
    trial.check_done(run)
    now = trial.files()
    said = {each["input"]: line for line in run.out.splitlines() if "input" in (each := json.loads(line))}  # not the summary
    for name, tensor in tensors.items():
        expected = trial.oracle(trial.case.with_x(tensor))
        trial.check_bytes(now.get(f"made/{name}"), expected.result, f"made/{name}")
        trial.check_counts(Run(run.code, said.get(name, b""), ""), expected)
    trial.check_only(before, [f"made/{name}" for name in tensors])


def shards(trial):
    before = trial.files()
    operation = trial.operation()
    runs = []
    for shard in trial.rng.sample(range(SHARDS), SHARDS):
        words = [*operation, *trial.settings(), "--json", "--shard", f"{shard}/{SHARDS}", "in.npy", "out.npy"]
        runs.append(trial.run(*words))
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
    if "out.json" not in now:
        trial.wrong.append("out.json is missing")
        return None
    slabs = json.loads(now["out.json"])["slabs"]
    for slab in slabs:
        part = trial.expected.result.like(trial.expected.result.elements[slab["begin"]:slab["end"]])
        trial.check_bytes(now.get(slab["file"]), part, slab["file"])
    ends = [0, *(slab["end"] for slab in slabs)]
    trial.check(ends[-1] == trial.case.x.shape[0] and ends[:-1] == [slab["begin"] for slab in slabs], f"slabs {slabs}")
    return trial.check_only(before, ["out.json", *(slab["file"] for slab in slabs)])


def verify(trial):
    trial.path("golden.npy").write_bytes(trial.expected.result.file())
    before = trial.files()
    run = trial.clip("in.npy", "--verify", "golden.npy")
    trial.check(run.code == 0, f"--verify: exit {run.code}: {run.out.decode()} {run.err}")
    trial.check_only(before)


def verify_another(trial):
    """A golden with one element changed."""
    right = trial.expected.result.elements
    if not right.size:
        return verify(trial)
    other = right.copy().ravel()
    at = trial.rng.randrange(right.size)
    dtype = trial.expected.result.dtype
    if dtype in array_cases.FLOATS:
        one = {"bfloat16": 0x3F80}.get(dtype, 1)
        two = {"bfloat16": 0x4000}.get(dtype, 2)
        other[at] = two if other[at] == one else one
    else:
        other[at] = other[at] ^ np.array(1, dtype)
    trial.path("golden.npy").write_bytes(trial.expected.result.like(other.reshape(right.shape)).file())
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
    before = trial.files()
    count = trial.case.x.elements.size
    if trial.expected.raised is None:
        return to_file(trial)
    clipped = trial.expected.raised + trial.expected.lowered + trial.expected.infinite
    limit = trial.rng.choice([0, 1, 25, 50, 99, 100])
    run = trial.clip("--fail-if-clipped", f"{limit}%", "in.npy", "out.npy")
    if clipped * 100 > limit * count:
        trial.check(run.code == 1, f"{clipped} of {count} clipped, limit {limit} %: exit {run.code}: {run.err}")
        trial.check_only(before)
    else:
        trial.check_result(run, before, "out.npy")


def info(trial):
    bounds = {option: array_cases.bound(trial.case, option) for option in ("--min", "--max")}
    if all(each is None for each in bounds.values()):
        return to_file(trial)
    before = trial.files()
    words = []
    for option in bounds:
        given = trial.case.parameters.get(option)
        if given is not None:
            words += [option, given if isinstance(given, str) else f"@{option[2:]}.npy"]
    run = trial.run("info", "--json", *words, "in.npy")
    trial.check_done(run)
    trial.check_only(before)
    if run.code:
        return None
    dtype = trial.case.x.dtype
    x, lo, hi = (None if each is None else array_cases.wide(each, dtype)
                 for each in (trial.case.x.elements, *bounds.values()))
    right = [0 if lo is None else int((x < lo).sum()), 0 if hi is None else int((x > hi).sum())]
    said = json.loads(run.out)["statistics"]["bounds"]
    trial.check([said["below"], said["above"]] == right, f"below and above are {said}, not {right}")
    return None


WAYS = {to_file: 6, through_pipes: 2, from_pipe: 2, in_archive: 2, in_place: 2, in_place_direct: 3, batch: 2, shards: 2, split_output: 2, verify: 1,
        verify_another: 1, dry_run: 1, fail_if_clipped: 2, info: 2}


# Cases that clipper must refuse --------------------------------------------------------------------------


def some_array(trial, options):
    """A random option that has an array, or None."""
    found = [option for option in trial.case.arrays() if option in options]
    return trial.rng.choice(found) if found else None


def changed_element(trial, option, value):
    """Changes one element of an array and returns where."""
    array = trial.case.parameters[option]
    elements = array.elements.copy()
    index = tuple(trial.rng.randrange(size) for size in elements.shape)
    elements[index] = value
    trial.case.parameters[option] = array.like(elements)
    return np.array([each == index for each in np.ndindex(elements.shape)]).reshape(elements.shape)


def refused(trial, codes, *words):
    trial.prepare()
    before = trial.files()
    kind = trial.rng.randrange(4)
    if kind == 0:
        takes_direct = not {"--scale", "--bias"} & set(trial.case.parameters)
        run = trial.clip("--in-place", *trial.rng.choice([[], ["--direct"] * takes_direct]), "in.npy")
    elif kind == 1:
        run = trial.clip("-", "-", stdin=trial.case.x.file())
        trial.check(not run.out, "something on standard output")
    elif kind == 2:
        run = trial.clip("--dry-run", "in.npy", "out.npy")
    else:
        run = trial.clip("in.npy", "out.npy")
    trial.check_refused(run, before, codes, words)


def nan_bound(trial):
    option = some_array(trial, ("--min", "--max"))
    if not option or not trial.case.x.elements.size or trial.case.x.dtype in array_cases.INTEGERS:
        return False
    nan = trial.draw.nans(trial.case.x.dtype, 1)[0]
    where = changed_element(trial, option, nan)
    index = trial.case.parameters[option].index_texts(where)
    in_x = trial.case.x.index_texts(np.broadcast_to(where, trial.case.x.shape))
    one = {f"@{option[2:]}.npy: NaN"} if where.size == 1 else set()
    refused(trial, (2,), {f"{option} @{option[2:]}.npy"}, {"NaN"}, index | in_x | one)
    return True


def min_above_max(trial):
    case, dtype = trial.case, trial.case.x.dtype
    if "--min" not in case.parameters or "--max" not in case.parameters or not case.x.elements.size:
        return False
    option = some_array(trial, ("--min", "--max"))
    if not option:
        return False
    top = np.array([np.inf], np.float32 if dtype == "bfloat16" else dtype) if dtype in array_cases.FLOATS else None
    if top is None:
        value = getattr(np.iinfo(dtype), "max" if option == "--min" else "min")
    else:
        value = array_cases.narrowed(top if option == "--min" else -top, dtype)[0] if dtype == "bfloat16" \
            else (top if option == "--min" else -top)[0]
    changed_element(trial, option, value)
    where = array_cases.crossed(array_cases.bound(case, "--min"), array_cases.bound(case, "--max"), dtype)
    if not where.any():
        return False
    if trial.rng.random() < 0.5:
        case.above = trial.rng.choice(["min", "max"])
        trial.prepare()
        trial.expected = array_cases.expected(case)
        before = trial.files()
        trial.check_result(trial.clip("in.npy", "out.npy"), before, "out.npy")
        return True
    given = [case.parameters[each] for each in ("--min", "--max")]
    numbers = {"exceeds"} if all(isinstance(each, str) or each.elements.size == 1 for each in given) else set()
    refused(trial, (2,), {"--min"}, {"--max"}, case.x.index_texts(where) | numbers)
    return True


def wrong_shape(trial):
    """An array that would enlarge the tensor, or does not fit it."""
    option = some_array(trial, array_cases.OPTIONS)
    if not option:
        return False
    array, shape = trial.case.parameters[option], trial.case.x.shape
    kind = trial.rng.randrange(3)
    if kind == 0:  # more axes
        other = (1,) * (len(shape) - len(array.shape) + trial.rng.randint(1, 2)) + array.shape
    elif kind == 1 and shape:  # another size of one axis
        sizes = list(shape[trial.rng.randrange(len(shape)):])
        sizes[0] += trial.rng.choice([1, 2]) if sizes[0] else 2
        other = tuple(sizes)
    else:
        other = (trial.rng.choice([2, 3]),) + shape
    if 0 in other or np.prod(other, dtype=float) > 50_000:
        return False
    elements = np.broadcast_to(array.elements.ravel()[:1], other).copy() if array.elements.size else np.zeros(other, array.elements.dtype)
    trial.case.parameters[option] = array.like(elements)
    refused(trial, (3,), {f"{option} @{option[2:]}.npy"}, {str(other)}, {str(shape)})
    return True


def wrong_dtype(trial):
    option = some_array(trial, array_cases.OPTIONS)
    if not option or trial.case.parameters[option].elements.size < 2:
        return False
    bound = option in ("--min", "--max")
    dtype = trial.case.x.dtype
    allowed = {dtype} if bound else {dtype, "float32", "float64"} | ({"int64", "uint64"} if dtype in ("int64", "uint64") else set())
    other = trial.rng.choice([each for each in array_cases.DTYPES if each not in allowed])
    number = 1
    if bound and dtype in array_cases.FLOATS:  # a float tensor takes bounds of other dtypes whose numbers it has
        other, number = ("int64", 2**53 + 1) if dtype == "float64" else ("float64", 1 / 3)
    elements = np.full(trial.case.parameters[option].shape, number, array_cases.stored_type(other))
    trial.case.parameters[option] = trial.draw.tensor(other, elements)
    refused(trial, (2,), {f"{option} @{option[2:]}.npy"}, {other}, {dtype} if bound else {"float32", "float64", dtype})
    return True


def infinite_factor(trial):
    option = some_array(trial, ("--scale", "--bias"))
    if not option or not trial.case.x.elements.size or trial.case.parameters[option].dtype not in array_cases.FLOATS:
        return False
    array = trial.case.parameters[option]
    values = [np.inf, -np.inf, np.nan]
    if array.dtype == "float64" and array_cases.in_float32(trial.case.x.dtype):
        values += [1e39, -3.5e38, 1e300]
    where = changed_element(trial, option, trial.rng.choice(values))
    index = array.index_texts(where) | trial.case.x.index_texts(np.broadcast_to(where, trial.case.x.shape))
    refused(trial, (2,), {f"{option} @{option[2:]}.npy"}, {"finite"}, index | ({"finite"} if where.size == 1 else set()))
    return True


def nan_refused(trial):
    case = trial.case
    case.nan = "error"
    if not trial.expected.nans.any():
        return False
    index = case.x.index_texts(trial.expected.nans)
    refused_at_run(trial, index)
    return True


def refused_at_run(trial, index):
    trial.prepare()
    before = trial.files()
    trial.check_refused(trial.clip("in.npy", "out.npy"), before, (3,), [{"NaN"}, index])


REFUSALS = [nan_bound, min_above_max, wrong_shape, wrong_dtype, infinite_factor, nan_refused]


# Running -------------------------------------------------------------------------------------------------


def size_for(rng, way):
    """The most elements of a case. Shards share a tensor only if it is larger than 1 MiB."""
    if way in (shards, split_output) and rng.random() < 0.2:
        return HUGE
    return LARGE if rng.random() < 0.05 else SMALL


def described(tensor):
    return f"{tensor.dtype} {tensor.shape} {'CF'[tensor.fortran]}{'<>'[tensor.big]}"


def try_one(trial):
    rng = random.Random(f"way {trial.seed}")
    way = rng.choices(list(WAYS), WAYS.values())[0]
    refusal = rng.choice(REFUSALS) if rng.random() < 0.15 else None
    trial.draw_case(None if refusal else way)
    if refusal and refusal(trial):
        way = refusal
    else:
        if refusal:  # does not apply to this case
            trial.draw_case(way)
        trial.prepare()
        way(trial)
    given = (f"{option} {each if isinstance(each, str) else described(each)}" for option, each in trial.case.parameters.items())
    trial.way, trial.about = way.__name__, f"{way.__name__}: {described(trial.case.x)}; {'; '.join(given)}"


@functools.cache
def simd_levels(clipper):
    line = next(line for line in subprocess.check_output([clipper, "--version"], text=True).splitlines() if "SIMD" in line)
    return line.split("has ")[1].rstrip(")").split(", ")


def try_edges(clipper):
    """Prints the violations of the cases of array_edges.py. Returns the numbers of cases and violations."""
    cases, violations, most = 0, 0, []
    with tempfile.TemporaryDirectory() as directory:
        for name, trial, memory in array_edges.edges(clipper, Path(directory), Trial, WAYS):
            cases += 1
            most += memory
            if trial.wrong:
                violations += 1
                print(f"edge: {name}", *trial.wrong, *trial.lines, sep="\n  ", flush=True)
    print(f"  {cases} edges; at most {max(most)} MiB of memory")
    return cases, violations


if __name__ == "__main__":
    trials.main("array parameters against numpy and Python's integers", try_one, trial_type=Trial, afterwards=try_edges)
