"""Measures clipper with arrays and percentiles as parameters, beside clipper with numbers and beside numpy."""

import math
import shlex
import sys

import numpy as np

from files import write_tensor
from processes import SCRIPT, Command, peak_memory, scratch_directory, take_turns

CHANNELS, SIDE = 64, 56  # of a layer of ResNet-50: 3136 elements of a channel follow each other
WIDTH = 1000
TENSORS = {"(N,C,H,W)": (CHANNELS, SIDE, SIDE), "(H,W)": (WIDTH,), "(H,W,3)": (WIDTH, 3)}  # without the first axis
NUMBERS, SCALED_NUMBERS = "--min 0 --max 6", "--scale 2 --bias 1"

# The shape of the arrays, the tensor's shape, and the shape in figures, where it does not depend on the size of the tensor.
ARRAYS = (
    ("(C,1,1)", "(N,C,H,W)", (CHANNELS, 1, 1)),
    ("(1,C,1,1)", "(N,C,H,W)", (1, CHANNELS, 1, 1)),
    ("(W,)", "(H,W)", (WIDTH,)),
    ("(1,W)", "(H,W)", (1, WIDTH)),
    ("(3,)", "(H,W,3)", (3,)),
    ("(H,W)", "(H,W)", None),
)
SCALED = (ARRAYS[0], ARRAYS[4])


def write_inputs(size):
    shapes = {}
    for tensor, rest in TENSORS.items():
        shapes[tensor] = (size // 4 // math.prod(rest), *rest)
        write_tensor(f"{tensor}.npy", np.float32, shapes[tensor], -10, 10)
    for shape, tensor, figures in ARRAYS:
        for kind, (low, high) in {"min": (-1, 1), "max": (5, 7)}.items():
            write_tensor(f"{kind} {shape}.npy", np.float32, figures or shapes[tensor], low, high)
    for shape, _, figures in SCALED:
        for kind, (low, high) in {"scale": (1, 3), "bias": (0, 2)}.items():
            write_tensor(f"{kind} {shape}.npy", np.float32, figures, low, high)


def commands(clipper):
    def clip(what, tensor, options):
        return Command(f"clipper, {what} on {tensor}", f"{clipper} {options} '{tensor}.npy' out.npy")
    return [
        *(clip("numbers", tensor, NUMBERS) for tensor in TENSORS),
        *(clip(shape, tensor, f"--min '@min {shape}.npy' --max '@max {shape}.npy'") for shape, tensor, _ in ARRAYS),
        *(clip("scale and bias numbers", tensor, SCALED_NUMBERS) for _, tensor, _ in SCALED),
        *(clip(f"scale and bias {shape}", tensor, f"--scale '@scale {shape}.npy' --bias '@bias {shape}.npy'")
          for shape, tensor, _ in SCALED),
        clip("1% and 99%", "(H,W)", "--min 1% --max 99%"),
        Command("numpy script, 1% and 99%", f"{SCRIPT} outliers '(H,W).npy' out.npy"),
        Command("clipper info --percentile", f"{clipper} info --percentile 1,50,99 '(H,W).npy'"),
        Command("np.percentile", f"{SCRIPT} percentiles '(H,W).npy'"),
    ]


def measure(clipper, directory, size, rounds, samples):
    """Measures with tensors of `size` bytes in a temporary directory below `directory`."""
    with scratch_directory(directory, 6 * size):
        write_inputs(size)
        row = commands(shlex.quote(str(clipper)))
        inputs = [f"{tensor}.npy" for tensor in TENSORS] + ["min (H,W).npy", "max (H,W).npy"]
        for i in range(rounds):
            print(f"bench: arrays and percentiles, round {i + 1} of {rounds}", file=sys.stderr)
            take_turns(row, i, inputs, samples)
        for command in row:
            samples[f"MiB {command.name}"].append(peak_memory(command.line))
