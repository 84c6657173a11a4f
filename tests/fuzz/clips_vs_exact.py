#!/usr/bin/env python3
# torture: 400 1 | 16000 | 400000
# torture clipper: 2200 1001 | 130000 | 1200000
"""Clips, scales, rounds and casts random tensors in every way to run clipper (ways.py), and checks elements, counts and refusals, also
what becomes infinite and 0, against scripts/exact.py. Each topic has tensors of every shape, memory order and byte order:
arrays: arrays or numbers as --min, --max, --scale and --bias, bounds of any dtype; arrays that cannot be used are refused, and nothing is written;
casts: all pairs of dtypes, float8 too, with elements at ties and limits and next to them, and all options of casts together, and --nodata;
dates: bool with all 256 bytes, datetime64 and timedelta64 with NaT, of every unit, with bounds as text and --nan;
percentiles: --min P% --max Q% by the rules of clipper, openvino, onnx-6 and onnx-13;
figures: percentiles, mean, std, min and max, also --per-axis and --pooled;
lists: a number for each index along an axis, against the clip of each index alone with its number typed.
A commit tries the same cases each time, a night others. `--table` prints how many casts each pair of dtypes had. Then the edges of
array_edges.py, with the peak of memory if clipper is not instrumented."""

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import trials

import array_edges
import draws
import exact
import figures
import ways
from array_cases import Draw
from contract import USAGE, Refused
from draws import ALL, PAIRS
from ways import ONE_INPUT, WAYS

SMALL, LARGE, HUGE = 5_000, 40_000, 800_000  # elements


def size_for(rng, way):
    """The most elements of a case. Shards share a tensor only if it is larger than 1 MiB."""
    if way in (ways.shards, ways.split_output) and rng.random() < 0.2:
        return HUGE
    return LARGE if rng.random() < 0.05 else SMALL


def arrays(trial, way):
    """Arrays or numbers as bounds, scale and bias, some of which cannot be used."""
    trial.draw = draw = Draw(trial.rng, trial.generator)
    case = draw.case(size_for(trial.rng, way))
    if draw.chance(0.15):
        trial.rng.choice(draws.REFUSALS)(draw, case)
    elif draw.chance(0.3) and all(array.elements.size for array in case.arrays().values()):
        case = draw.as_numbers(case)
    elif draw.chance(0.2):
        draws.in_another_dtype(draw, case)
    if way is ways.batch and not case.x.elements.size:  # the elements of another file may be refused
        way = ways.to_file
    return case, way


def casts(trial, way):
    """Case K casts the pair of dtypes K modulo their number."""
    trial.draw = draw = draws.Casts(trial.rng, trial.generator)
    count = trial.rng.choice([20, 300, 300, 3000]) if trial.rng.random() > 0.01 else LARGE
    if way in (ways.shards, ways.split_output) and trial.rng.random() < 0.1:
        count = 300_000
    case = draw.cast(*PAIRS[trial.seed % len(PAIRS)], count)
    if draw.chance(0.3):
        draw.nodata(case)
    refuses_nan = case.nan == "error" or case.nan == "kept" and case.to in draws.INTS
    may_be_refused = refuses_nan and (draw.has_nan or "--scale" in case.parameters) or not case.x.elements.size or case.to in draws.FLOAT8 and case.x.elements.size < 1000
    if way is ways.batch and may_be_refused:  # another file of the batch may have elements that the first one does not have, also inf * 0
        way = ways.to_file
    return case, way


def dates(trial, way):
    trial.draw = draw = draws.Dates(trial.rng, trial.generator)
    case = draw.case(way in ONE_INPUT)
    if trial.rng.random() < 0.15:
        bad = draw.bad_text(case.x.dtype)
        case.parameters[trial.rng.choice(draws.BOUNDS)] = bad
        case.parameters.pop("--nan", None)
        trial.refusal = Refused(f"bad bound of {case.x.dtype[:4]}", USAGE, *[bad] * (bad[:4].isdecimal() and "-" in bad))
    if way is ways.batch and case.nan == "error":
        way = ways.to_file
    return case, way


def percentiles(trial, way):
    trial.draw = Draw(trial.rng, trial.generator)
    case = draws.percentiles(trial.draw)
    if case.profile is exact.OWN and trial.draw.chance(0.5):
        draws.Casts(trial.rng, trial.generator).nodata(case)
    return case, way


def figures_of_elements(trial, way):
    trial.draw = draw = draws.Casts(trial.rng, trial.generator)
    case = draw.figures(*PAIRS[trial.seed % len(PAIRS)], trial.rng.choice([20, 300, 3000]))
    if draw.chance(0.3):
        draw.nodata(case)
    return case, way


def lists(trial, way):
    trial.draw = draw = draws.Casts(trial.rng, trial.generator)
    case = draw.lists(*PAIRS[trial.seed % len(PAIRS)], trial.rng.choice([20, 300, 3000]))
    if draw.chance(0.3):
        draw.nodata(case)
    return case, way if way is not ways.batch else ways.to_file  # another file may have elements that are refused


TOPICS = {arrays: 8, casts: 8, dates: 2, percentiles: 1, figures_of_elements: 6, lists: 2}


def try_one(trial):
    rng = random.Random(f"way {trial.seed}")
    topic, way = (rng.choices(list(rows), rows.values())[0] for rows in (TOPICS, WAYS))
    case, way = topic(trial, way)
    if figures.has_figures(case):
        if ways.can_be_pooled(case) and rng.random() < 0.3:
            way = rng.choice([ways.pooled, ways.pooled_members])
        elif way not in ONE_INPUT:
            way = ways.to_file
    trial.way = way.__name__
    try:
        trial.take(case)
    except Refused as refusal:
        trial.way, trial.about = f"refused: {refusal.rule}", f"{trial.about}; the oracle refuses: {refusal.rule}"
        ways.refused(trial, refusal)
    else:
        way(trial)
    nodata = ", nodata" * ("--nodata" in case.parameters)
    pair = f" {case.x.dtype} {case.to}" if topic is casts else ""
    trial.way = f"{topic.__name__}: {trial.way}{nodata}|{pair}"


def summary(found):
    """The topics and ways, and the table of pairs."""
    ways_of = Counter()
    for key, count in found.items():
        ways_of[key.partition("|")[0]] += count
    lines = [", ".join(f"{way} {count}" for way, count in sorted(ways_of.items()))]
    if TABLE:
        lines += [" ".join(f"{name:>8.8}" for name in ("", *ALL))] + [
            " ".join([f"{source:>8.8}", *(f"{sum(count for key, count in found.items() if key.endswith(f' {source} {target}')):8}" for target in ALL)])
            for source in ALL]
    return "\n".join(lines)


def try_edges(clipper):
    """Prints the violations of the cases of array_edges.py. Returns the numbers of cases and violations."""
    cases, violations, most = 0, 0, [0]
    with tempfile.TemporaryDirectory() as directory:
        for name, trial, memory in array_edges.edges(clipper, Path(directory)):
            cases += 1
            most += memory
            if trial.wrong:
                violations += 1
                print(f"edge: {name}", *trial.wrong, *trial.lines, sep="\n  ", flush=True)
    print(f"  {cases} edges; at most {max(most)} MiB of memory")
    return cases, violations


if __name__ == "__main__":
    TABLE, sys.argv = "--table" in sys.argv, [word for word in sys.argv if word != "--table"]
    trials.main("clips, scales and casts against exact numbers", try_one, trial_type=ways.Trial, afterwards=try_edges, summary=summary)
