"""Cases of array parameters that random cases do not reach: large arrays, many channels, one file as tensor and array."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import ways
from array_cases import OPTIONS, Draw
from contract import INTS, PROFILES, Refused
from exact import Case, Tensor

MEMORY = 32  # MiB, the most that clipper may use
LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, flush=True)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def ramp(shape, dtype="float32", seed=1):
    """Elements from -128 to 127 in steps of 1/4."""
    generator = np.random.default_rng(seed)
    count = int(np.prod(shape, dtype=np.int64))
    quarters = generator.integers(-512, 509, count, dtype=np.int32)
    return (quarters / np.float32(4)).astype(dtype).reshape(shape)


def floats(shape, fortran=False, big=False, seed=1):
    return Tensor("float32", ramp(shape, seed=seed), fortran, big)


def raised(tensor, by):
    """A max that is `by` above a min, so that they never cross."""
    return tensor.like(tensor.elements + np.float32(by))


def small_cases():
    x = floats((4, 5))
    numbers = {"--min": Tensor("float32", np.float32(-3)), "--max": Tensor("float32", np.float32(9))}
    for shape in ((), (1,), (7,), (4, 5), (0,), (0, 5), (4, 0), (2, 0, 3)):
        yield f"rank 0 arrays, tensor {shape}", Case(floats(shape), numbers)
    for shape, lo, hi in (((0,), (0,), (1,)), ((3, 0), (3, 1), (0,)), ((3, 0), (1, 1), (3, 0)), ((0, 4), (4,), (0, 1))):
        arrays = {"--min": floats(lo), "--max": raised(floats(hi), 300), "--scale": floats(lo), "--bias": floats(hi)}
        yield f"tensor {shape}, arrays {lo} and {hi}", Case(floats(shape), arrays)
    yield "one element", Case(floats((1,)), {"--bias": floats((1,), seed=2)})
    yield "20 axes", Case(floats((1, 2) * 9 + (3, 4)), {"--min": floats((1, 2) * 4 + (1, 4), seed=2)})
    yield "only scale", Case(x, {"--scale": floats((4, 1), seed=2)})
    for dtype in INTS:
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.max], dtype)
        yield f"{dtype} extremes", Case(Tensor(dtype, np.array([[info.min, info.max, 0]] * 2, dtype)), {"--min": Tensor(dtype, ends[:, None])})
    top = 2**64 - 1
    for dtype, x_ends in (("int64", [-2**63, 2**63 - 1]), ("uint64", [0, top])):
        for scale in ([top, 0], [1, top]):
            arrays = {"--scale": Tensor("uint64", np.array(scale, np.uint64)[:, None]), "--bias": Tensor("int64", np.array([-2**63, 2**63 - 1]))}
            yield f"{dtype} exact extremes {scale}", Case(Tensor(dtype, np.array([x_ends, x_ends], dtype)), arrays)
    infinities = np.array([-np.inf, np.inf, -np.inf], np.float32)
    integers = Tensor("int64", np.arange(-9, 9))
    yield "a fraction is cut off the bound", Case(integers, {"--bias": "-3", "--max": "-0.6", "--round": "trunc", "--to": "uint64"})
    both = {side: Tensor("float32", np.array(numbers, np.float32)) for side, numbers in (("--min", [0, 1]), ("--max", [5, 6]))}
    yield "one valid element beside arrays", Case(Tensor("float32", np.array([-9, 3], np.float32)), {**both, "--nan": "-1", "--stretch": "0:1", "--nodata": "-9"})
    yield "infinite bounds", Case(floats((6, 3)), {"--min": Tensor("float32", np.array([-np.inf, np.inf, 0], np.float32)),
                                                  "--max": Tensor("float32", -infinities * np.float32([1, -1, -1]) * np.float32([1, 1, -1]))})


def channel_cases():
    million = 1_000_000
    for shape, one in (((million, 2), (million, 1)), ((2, million), (million,)), ((million, 2), (1, 2))):
        lo = floats(one, seed=2)
        yield f"{shape}, arrays {one}", Case(floats(shape), {"--min": lo, "--max": raised(lo, 20)})
    for above in ("min", "max"):  # the number must stay what it is for the elements after those where min is above it
        yield f"array above number, {above}", Case(floats((2, 400_000)), {"--min": floats((400_000,), seed=2), "--max": "2", "--min-above-max": above})
    yield "scaled channels", Case(floats((million, 2)), {"--scale": floats((million, 1), seed=3), "--bias": floats((1, 2), seed=4), "--max": "50"})


def large_cases():
    """Tensor and arrays of 40 MiB and more, in all pairs of orders."""
    shape = (1000, 35, 300)
    for fortran, big, x_fortran in ((False, False, False), (False, True, False), (True, False, False), (True, True, False),
                                    (False, False, True), (True, False, True)):
        lo = floats(shape, fortran, big, seed=2)
        yield (f"large, {'CF'[x_fortran]} with arrays in {'CF'[fortran]}{'<>'[big]}",
               Case(floats(shape, x_fortran), {"--min": lo, "--max": raised(lo, 20)}))
    lo = floats((3, 1000, 1000), True, seed=2)
    yield "large, C with arrays in F of short columns", Case(floats((3, 1000, 1000)), {"--min": lo})
    yield "four large arrays", Case(floats(shape), {"--min": floats(shape, seed=2), "--max": raised(floats(shape, seed=2), 9),
                                                   "--scale": floats(shape, True, seed=3), "--bias": floats(shape, big=True, seed=4)})
    yield "large channels", Case(floats((4, 3_000_000)), {"--min": floats((3_000_000,), seed=2)})
    yield "large rows", Case(floats((3_000_000, 4)), {"--min": floats((3_000_000, 1), seed=2)})
    yield "large rows, other order", Case(floats((3000, 1000, 4)), {"--min": floats((3000, 1000, 1), True, seed=2)})
    yield "large float64 scale", Case(floats((5000, 1000)), {"--scale": Tensor("float64", ramp((5000, 1000), "float64", 2), True, True)})


@functools.cache
def is_instrumented(clipper):
    return b"__asan_init" in Path(clipper).read_bytes()


def memory_of(trial, *words):
    """Runs clipper and returns its exit code and its peak of memory, in MiB. A process that starts from a large one would
    count that one's memory."""
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, trial.clipper, *words], cwd=trial.directory, capture_output=True, text=True)
    trial.check(done.returncode == 0 and not done.stderr, f"exit {done.returncode}: {done.stderr.strip()}")
    return int(done.stdout.splitlines()[-1]) / 1024


def try_large(trial):
    """Every way, and the peak of memory if clipper is not instrumented."""
    before = trial.files()
    figures = []
    instrumented = is_instrumented(trial.clipper)
    for settings in ((), ("--threads", "1"), ("--threads", "8", "--chunk-size", "65536")):
        peak = memory_of(trial, *trial.operation(), *settings, "in.npy", "out.npy")
        figures.append(round(peak, 1))
        trial.check(instrumented or peak <= MEMORY, f"{settings}: {peak:.1f} MiB of memory")
        trial.check_bytes(trial.path("out.npy").read_bytes(), trial.expected.result, f"out.npy {settings}")
        trial.path("out.npy").unlink()
    trial.check_only(before)
    if {"--scale", "--bias"} & set(trial.case.parameters):
        return figures
    peak = memory_of(trial, *trial.operation(), "--in-place", "--direct", "in.npy")
    figures.append(round(peak, 1))
    trial.check(instrumented or peak <= 2 * MEMORY, f"--direct: {peak:.1f} MiB of memory")
    trial.check_bytes(trial.path("in.npy").read_bytes(), trial.expected.result, "--direct")
    return figures


def found_figures(new_trial):
    """Millions of figures that --json prints."""
    for options in ({"--max": "100%"}, {"--min": "0%", "--max": "100%", "--stretch": "0:1"}):
        case = Case(floats((1_000_000, 2)), options)
        trial = new_trial(None)
        trial.path("in.npy").write_bytes(case.x.file())
        words = [word for option in options.items() for word in option]
        peak = memory_of(trial, *words, "--per-axis", "0", "--json", "in.npy", "out.npy")
        trial.check(peak <= 2 * MEMORY, f"{peak:.1f} MiB of memory")
        yield f"{options} per index", trial, [round(peak, 1)]


# One file with two roles ---------------------------------------------------------------------------------


def same_file(trial, option, *words):
    """The array is IN's own file. Returns whether clipper has accepted it."""
    before = trial.files()
    run = trial.run(option, "@in.npy", *words)
    if run.code:
        trial.check_refused(run, before, 2, [{"in.npy"}])
    else:
        trial.check_result(run, before, words[-1])
    return not run.code


def two_roles(new_trial):
    """Trials in which one file is tensor and array, or array and output."""
    x = floats((30, 40), big=True)
    for option in OPTIONS:
        for words in (["in.npy", "out.npy"], ["--in-place", "in.npy"], ["--in-place", "--direct", "in.npy"]):
            trial = new_trial(Case(x, {option: x}))
            accepted = same_file(trial, option, *words)
            trial.check(accepted if "out.npy" in words else not accepted or "--direct" not in words, f"exit status {accepted}")
            yield f"IN is the array of {option}, {words}", trial
    for name in ("min.npy", "link.npy", "hard.npy"):
        trial = new_trial(Case(x, {"--min": floats((40,), seed=2)}))
        if name == "link.npy":
            os.symlink("min.npy", trial.path(name))
        elif name == "hard.npy":
            os.link(trial.path("min.npy"), trial.path(name))
        before = trial.files()
        run = trial.run("--min", "@min.npy", "in.npy", name)
        if run.code:
            trial.check_refused(run, before, 2, [{name}])
        else:
            trial.check_bytes(trial.files()[name], trial.expected.result, name)
        yield f"OUT is the array, as {name}", trial


def refusals(new_trial):
    """Arrays with too many axes; and profiles other than clipper, which name their operator."""
    shapes = (((1, 1, 1), (6,)), ((1,), ()), ((1, 6), (6,)), ((2, 6), (6,)), ((3,), (6,)), ((6,), (6, 1)), ((3,), (1, 3, 1)))
    cases = [(f"{option} {shape} for {x_shape}", Case(floats(x_shape), {option: floats(shape, seed=2)}), ()) for option in OPTIONS for shape, x_shape in shapes]
    rows = {row.name: row for row in PROFILES}
    arrays = {"--min": floats((3,), seed=2), "--max": raised(floats((3,), seed=2), 5)}
    cases += [(profile, Case(floats((1, 1, 2, 3)), arrays, rows[profile]), [{name}, {"--min", "--max"}])
              for profile, name in (("onnx-13", "ONNX"), ("onnx-6", "ONNX"), ("directml-5.0", "DirectML"), ("openvino", "OpenVINO"))]
    stretch = {"--min": "1%", "--max": "99%", "--stretch": "0.5:0", "--to": "uint8", "--nodata": "9"}
    cases += [("an end of --stretch without valid elements", Case(Tensor("float32", np.full(2, 9, np.float32)), stretch), ())]
    for name, case, words in cases:
        trial = new_trial(None)
        try:
            trial.take(case)
            trial.wrong.append("the oracle accepts it")
        except Refused as refusal:
            trial.check_refused(trial.clip("in.npy", "out.npy"), trial.files(), refusal.code, words or refusal.words)
        yield name, trial


def most_axes(new_trial):
    """64 axes. numpy broadcasts only 32."""
    trial = new_trial(Case(floats((3, 4)), {"--min": floats((1, 4), seed=2)}))
    trial.expected.result.elements = trial.expected.result.elements.reshape((1,) * 62 + (3, 4))
    trial.path("in.npy").write_bytes(floats((1,) * 62 + (3, 4)).file())
    trial.path("min.npy").write_bytes(floats((1,) * 63 + (4,), seed=2).file())
    trial.check_result(trial.run("--min", "@min.npy", "in.npy", "out.npy"), trial.files(), "out.npy")
    yield "64 axes", trial


def edges(clipper, directory):
    """Tries all cases, or, because sanitizers look for other faults and are slow, each small one in one way and no large one. Yields the
    name of each, the trial, and figures of its memory."""
    def new_trial(case):
        for path in sorted(directory.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        trial = ways.Trial(clipper, 0, directory)
        trial.draw = Draw(trial.rng, trial.generator)
        if case:
            trial.take(case)
        return trial

    for number, (name, case) in enumerate(small_cases()):
        all_ways = list(ways.WAYS)
        one = all_ways[number % len(all_ways)]
        for way in [one] if is_instrumented(clipper) else all_ways:
            trial = new_trial(case)
            way(trial)
            yield f"{name}, {way.__name__}", trial, []
    for group in (two_roles, refusals, most_axes):
        for name, trial in group(new_trial):
            yield name, trial, []
    is_plain = not is_instrumented(clipper)
    for name, case in (*channel_cases(), *(large_cases() if is_plain else ())):
        trial = new_trial(case)
        yield name, trial, try_large(trial)
    if is_plain:
        yield from found_figures(new_trial)
