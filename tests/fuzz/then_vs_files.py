#!/usr/bin/env python3
# torture clipper: 300 1 | 4000 | 22000
"""Clips random tensors in two or three stages by --then, and compares bytes, counts, plans, warnings and refusals with as many runs through
files. The result also comes from pipes, in place, from an archive, from shards, from --verify and by --fit and --apply, and that of several
inputs with --pooled."""

import json
import zipfile
from dataclasses import replace

import trials
from trials import np

import draws
import figures
import ways
from contract import FLOAT8
from draws import ALL
from exact import Tensor

SAVED = {"--min", "--max", "--scale", "--bias", "--subtract", "--divide", "--divide-zero", "--stretch-from"}  # what --apply need not be told again
GROUPS = {"--per-axis", "--mask", "--pooled"}
OF_FILE = {"object", "version", "input", "output", "status", "error", "written", "dry_run", "resumed", "request", "seconds", "notes", "changed", "then"}


def draw_stage(trial, source, shape):
    """A case of what the stage before gives: its dtype and shape."""
    draw = draws.Casts(trial.rng, trial.generator)
    if shape is not None:
        draw.shape = lambda *_: shape
    may_list = shape is None or all(shape) and any(2 <= size <= 30 for size in shape)
    make = trial.rng.choices([draw.cast, draw.figures, draw.lists], [6, 2, may_list])[0]
    case = make(source, trial.rng.choice([source, *ALL]), trial.rng.choice([20, 300, 3000]))
    if draw.chance(0.2):
        draw.nodata(case)
    for option in ("--replace-below", "--replace-above", "--nan", "--nodata-to"):
        if make == draw.figures and isinstance(case.parameters.get(option), str) and draw.chance(0.4):
            case.parameters[option] = draws.expression(trial.rng)
    return case


def words_of(trial, case, number):
    """Its options; the files that they name have names of their own."""
    for option, given in case.parameters.items():
        if isinstance(given, Tensor):
            case.parameters[option] = replace(given, name=f"{number}-{option[2:]}.npy")
            trial.path(f"{number}-{option[2:]}.npy").write_bytes(given.file())
    trial.case = replace(case, x=replace(case.x, dtype="float32")) if case.x.dtype in FLOAT8 else case  # --dtype is of the run
    limit = ["--fail-if-clipped", trial.rng.choice(["0", "10%", "60%"])] if trial.rng.random() < 0.1 else []
    return trial.operation() + limit


def pairs_of(words):
    """Options with their values."""
    words = iter(words)
    for word in words:
        yield [word] if "=" in word or word == "--saturate" else [word, next(words)]


def chained(stages):
    return [word for number, words in enumerate(stages) for word in ["--then"] * (number > 0) + words]


def without(stages, names):
    return [[word for pair in pairs_of(words) if pair[0].partition("=")[0] not in names for word in pair] for words in stages]


def try_fit(trial, stages, dtype, result):
    """--apply takes what --fit saves."""
    first = trial.run(*chained(stages), *dtype, "--fit", "fit.npz", "in.npy", "fitted.npy")
    if first.code:
        return trial.check(first.code in (2, 3) and "fit.npz: " in first.err, f"--fit: exit {first.code}: {first.err}")
    left = []
    for words in stages:
        named = {pair[0].partition("=")[0] for pair in pairs_of(words)}
        [kept] = without([words], SAVED | ({"--stretch"} if "--stretch-from" in named else set()))
        left += without([kept], set() if "--max-norm" in named or has_figures(kept) else GROUPS)
    run = trial.run(*chained(left), *dtype, "--apply", "fit.npz", "in.npy", "applied.npy")
    trial.check(run.code == 0 and trial.path("fitted.npy").read_bytes() == trial.path("applied.npy").read_bytes() == result, f"--apply: exit {run.code}: {run.err}")


def try_pooled(trial, stages, sources, first):
    """Figures of two inputs together, of some stages, as in one run after the other."""
    stages = [words + ["--pooled"] if trial.rng.random() < 0.6 and has_figures(words) else words for words in without(stages, {"--fail-if-clipped"})]
    twice = first.like(first.elements[::-1] if first.shape else first.elements)
    trial.path("d0").mkdir()
    trial.path("d0/a.npy").write_bytes(first.file())
    trial.path("d0/b.npy").write_bytes(twice.file())
    codes = []
    for number, words in enumerate(stages):
        codes.append(trial.run(*words, *sources[number], "-o", f"d{number + 1}/{{name}}", f"d{number}/a.npy", f"d{number}/b.npy").code)
        if codes[-1]:
            break
    run = trial.run(*chained(stages), *sources[0], "-o", "all/{name}", "d0/a.npy", "d0/b.npy")
    if not trial.check(bool(run.code) == bool(codes[-1]), f"--pooled: exit {run.code}, not {codes[-1]}: {run.err}") or run.code:
        return
    for name in ("a.npy", "b.npy"):
        trial.check(trial.path(f"all/{name}").read_bytes() == trial.path(f"d{len(stages)}/{name}").read_bytes(), f"--pooled: {name} differs")


def has_figures(words):
    return any(word.endswith("%") or any(figure in word for figure in figures.STATISTICS if word not in ("min", "max")) for pair in pairs_of(words)
               for word in [pair[-1].partition("=")[2] or pair[-1]] if pair[0].partition("=")[0] not in ("--fail-if-clipped", "--min-above-max"))


def lines_of(run, number):
    """What a run has printed, as a stage says it."""
    lines = set()
    for line in run.err.splitlines():
        head, place = ("clipper: warning: ", "in.npy") if line.startswith("clipper: warning: ") else ("clipper: ", "in.npy")
        text = line[len(head):]
        if number and f"{number}.npy" in text:
            text = text.replace(f"{number}.npy", f"{place}: stage {number + 1}", 1)
        elif number and head == "clipper: ":
            text = f"stage {number + 1}: {text}"
        lines.add(head + text.replace("0.npy", place) if not number else head + text)
    return lines


def try_ways(trial, words, result, first):
    """The same bytes by another way."""
    has_figures = any(word.endswith("%") or word in figures.STATISTICS for word in words)
    way = trial.rng.choice(["in place", "archive", "verify", "pipes", "shards"])
    trial.way = f"{trial.way}, {way}"
    if way in ("verify", "shards") and "--fail-if-clipped" in words:
        return
    if way == "in place":
        trial.path("again.npy").write_bytes(first)
        run = trial.run(*words, "--in-place", "again.npy")
        found = trial.path("again.npy").read_bytes()
    elif way == "archive":
        with zipfile.ZipFile(trial.path("in.npz"), "w", trial.rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            archive.writestr("x.npy", first)
        run = trial.run(*words, "--member", "x", "in.npz", "out.npz")
        found = run.code == 0 and zipfile.ZipFile(trial.path("out.npz")).read("x.npy")
    elif way == "verify":
        run, found = trial.run(*words, "in.npy", "--verify", "out.npy"), result
    elif way == "pipes" and not has_figures:
        run = trial.run(*words, "-", "-", stdin=first)
        found = run.out
        if "must be a file" in run.err:
            return
    else:
        runs = [trial.run(*words, "--shard", f"{k}/2", "in.npy", "parts.npy") for k in range(2)]
        run = runs[-1] if runs[-1].code else trial.run("--finalize", "parts.npy")
        if "shard" in run.err or "percentile" in run.err or "figure" in run.err or run.code == 2:
            return
        found = run.code == 0 and trial.path("parts.npy").read_bytes()
    trial.check(run.code == 0 and found == result, f"{way}: exit {run.code}: {run.err}")


def try_one(trial):
    count = 3 if trial.rng.random() < 0.1 else 2
    case = draw_stage(trial, trial.rng.choice(ALL), None)
    first, source = case.x, case.x.dtype
    trial.path("in.npy").write_bytes(first.file())
    trial.path("0.npy").write_bytes(first.file())
    stages, sources = [], []
    for number in range(count):
        if number:
            case = draw_stage(trial, source, first.shape)
        stages.append(words_of(trial, case, number))
        sources.append(["--dtype", source] * (source in FLOAT8))
        source = case.to
    chain = sources[0] + chained(stages)
    trial.about = f"{ways.described(first)} in {count} stages"
    runs = []
    for number, words in enumerate(stages):
        runs.append(trial.run(*words, *sources[number], "--json", f"{number}.npy", f"{number + 1}.npy"))
        if runs[-1].code:
            break
    run = trial.run(*chain, *ways.Trial.settings(trial), "--json", "in.npy", "out.npy")
    failed = len(runs) if runs[-1].code else 0
    trial.way = f"stage {failed} refuses" if failed else f"{count} stages"
    wanted = set().union(*(lines_of(each, number) for number, each in enumerate(runs)))
    lines = set(run.err.splitlines())
    if failed and run.code in (2, 3) and any(f"stage {later}" in run.err for later in range(failed + 1, count + 1)):
        # A later stage that cannot be planned is known before the first one begins.
        trial.path("ones.npy").write_bytes(first.like(np.ones_like(first.elements)).file())
        again = trial.run(*chain, "ones.npy", "out.npy")
        trial.check(again.err.replace("ones", "in") == run.err, f"exit {run.code}, not {runs[-1].code}: {run.err}")
        return
    trial.check(run.code == runs[-1].code, f"exit {run.code}, not {runs[-1].code}: {run.err}")
    trial.check({line for line in lines if "warning" not in line} == {line for line in wanted if "warning" not in line}
                and (failed or lines == wanted), f"says {sorted(lines)}, not {sorted(wanted)}")
    if failed:
        trial.check(not trial.path("out.npy").exists(), "there is an output")
        return
    result = trial.path(f"{count}.npy").read_bytes()
    if not trial.check(trial.path("out.npy").read_bytes() == result, "the bytes differ"):
        return
    told = json.loads(run.out)
    for number, each in enumerate(runs):
        own, part = json.loads(each.out), told if number == 0 else told["then"][number - 1]
        wrong = {key: (part.get(key), own[key]) for key in own.keys() - OF_FILE if part.get(key) != own[key]}
        trial.check(not wrong, f"stage {number + 1} tells {wrong}")
    way = trial.rng.choice(["fit", "pooled", "", "", ""])
    if way == "fit":
        try_fit(trial, stages, sources[0], result)
    elif way == "pooled":
        try_pooled(trial, stages, sources, first)
    else:
        return try_ways(trial, chain, result, first.file())
    trial.way = f"{trial.way}, {way}"


if __name__ == "__main__":
    trials.main("stages against runs through files", try_one, trial_type=ways.Trial)
